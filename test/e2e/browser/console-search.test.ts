import { describe, expect, it } from 'vitest';
import { openPage, PHONE, type Look, type TestPage } from '../../support/browser.ts';
import { CONSOLE_FILES } from '../../support/console-release.ts';
import { logIn } from '../../support/console-system.ts';
import { consoleToken, startConsoleWorld, type ConsolePerson } from '../../support/console-world.ts';
import { sharedFixture } from '../../support/shared-fixture.ts';
import { hasTool } from '../../support/tools.ts';

describe.skipIf(!hasTool('chromium'))('the search for texts', () => {
  const shared = sharedFixture(async (atEnd) => await startConsoleWorld({ atEnd }));

  async function open(hash: string, person: ConsolePerson = 'translate', look: Look = {}): Promise<TestPage> {
    const opened = await openPage(look);
    await opened.page.goto(`${shared().url}${hash}`);
    await logIn(opened, consoleToken(person));
    return opened;
  }

  /** The translations of a file, by unit. */
  async function targets(file: string): Promise<ReadonlyMap<string, string>> {
    const units = await shared().units(file);
    return new Map(units.map(({ unit_id: id, translation }) => [id, translation?.target_text ?? '']));
  }

  it('finds sources and translations, translated or not, and its filters are links', async () => {
    const { page, troubles, violations } = await open('#/search');
    const [open1] = await shared().units(CONSOLE_FILES.pending);
    const text = open1?.source_text ?? '';
    await page.getByRole('searchbox', { name: 'Text' }).fill(text);
    const table = page.getByRole('table', { name: 'Units that were found' });
    await table.getByRole('row').filter({ hasText: 'untranslated' }).first().waitFor();
    await page.getByText('that is all.').waitFor();
    await expect.poll(() => new URL(page.url()).hash).toContain(new URLSearchParams({ text }).toString());
    await table.getByRole('button', { name: CONSOLE_FILES.pending }).first().click();
    await expect
      .poll(() => page.getByRole('searchbox', { name: 'File' }).inputValue())
      .toBe(CONSOLE_FILES.pending);
    await page.getByRole('combobox', { name: 'State' }).selectOption('proofread');
    await page.getByText('Nothing fits').waitFor();
    expect(await violations()).toEqual([]);
    expect(troubles).toEqual([]);
  });

  it('replaces in the translations that are left ticked, and takes that back', async () => {
    const file = CONSOLE_FILES.drafts;
    const before = await targets(file);
    const texts = [...before.values()].filter((target) => target !== '');
    const find = (texts[0] ?? '').slice(0, 2);
    const having = texts.filter((target) => target.includes(find));
    const search = new URLSearchParams({ text: find, text_in: 'target', path_pattern: file }).toString();
    const { page, troubles, screenshot, violations } = await open(`#/search?${search}`);
    await page.getByText('that is all.').waitFor();
    await page.getByRole('button', { name: 'Replace …' }).click();
    await page.getByRole('textbox', { name: 'Replace with' }).fill('替换');
    await page.getByRole('button', { name: `Replace in ${having.length} translations` }).waitFor();
    await page
      .getByRole('checkbox', { name: /^Replace in/ })
      .first()
      .uncheck();
    expect(await violations()).toEqual([]);
    await screenshot('search-replace', { fullPage: true });
    await page.getByRole('button', { name: `Replace in ${having.length - 1} translation` }).click();
    await page.getByText(/slipway ctl translations undo --run replace-/).waitFor();
    const after = await targets(file);
    const changed = [...after].filter(([id, target]) => target !== before.get(id));
    expect(changed.length).toBeGreaterThanOrEqual(having.length - 1);
    for (const [id, target] of changed) expect(target).toBe(before.get(id)?.replaceAll(find, '替换'));
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.locator('.toast').filter({ hasText: 'as before, as drafts' }).waitFor();
    expect(await targets(file)).toEqual(before);
    expect(troubles).toEqual([]);
  });

  it('keeps what was typed into a filter on its own page', async () => {
    const { page, troubles } = await open('#/memory');
    await page.getByRole('search').getByRole('searchbox').first().fill('abc');
    await expect.poll(() => new URL(page.url()).hash).toContain('=abc');
    await page.evaluate("location.hash = '#/glossary'");
    await page.getByRole('heading', { level: 1, name: 'Glossary' }).waitFor();
    await page.getByRole('search').getByRole('searchbox').first().waitFor();
    expect(new URL(page.url()).hash).toBe('#/glossary');
    expect(troubles).toEqual([]);
  });

  it('shows what is inconsistent, and what the palette finds says where it is', async () => {
    const { page, troubles, screenshot } = await open('#/search?same=target&text=x', 'proofread');
    const end = page.getByText('that is all.').or(page.getByText('Nothing fits'));
    await end.waitFor();
    // The text of a link does not narrow what is inconsistent, so nobody can type one.
    expect(await page.getByRole('searchbox').count()).toBe(1);
    await page.getByRole('combobox', { name: 'Consistency' }).selectOption('source');
    await end.waitFor();
    await screenshot('search-consistency', { fullPage: true });
    const [unit] = await shared().units(CONSOLE_FILES.stale);
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: /^Search pages/ }).fill(unit?.unit_id ?? '');
    const found = page
      .getByRole('option')
      .filter({ hasText: `${unit?.speaker ?? ''} · ${CONSOLE_FILES.stale}` });
    await found.first().waitFor();
    await screenshot('search-palette');
    await page.getByRole('option', { name: /All texts with/ }).click();
    await expect.poll(() => new URL(page.url()).hash).toContain('#/search?text=');
    expect(troubles).toEqual([]);
  });

  it('fits a phone, in the dark', async () => {
    const { page, screenshot, violations } = await open('#/search?unit_state=draft', 'translate', {
      viewport: PHONE,
      colorScheme: 'dark',
    });
    await page.getByText(/so far|that is all/).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width);
    expect(await violations('colours')).toEqual([]);
    await screenshot('search-phone');
  });
});
