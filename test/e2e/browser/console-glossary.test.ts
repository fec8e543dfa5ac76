import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { DESKTOP, openPage, PHONE, type Look, type TestPage } from '../../support/browser.ts';
import {
  consoleToken,
  startConsoleWorld,
  type ConsolePerson,
  type ConsoleWorld,
} from '../../support/console-world.ts';
import { logIn } from '../../support/console-system.ts';
import { reusedFixture } from '../../support/shared-fixture.ts';
import { hasTool } from '../../support/tools.ts';

/** Opens a page of the console with the token of a person. */
async function openAs(
  world: ConsoleWorld,
  person: ConsolePerson,
  hash: string,
  look: Look = {},
): Promise<TestPage> {
  const opened = await openPage(look);
  await opened.page.goto(`${world.url}${hash}`);
  await logIn(opened, consoleToken(person));
  return opened;
}

/** Answers the question of the form that is open, and waits for the toast. */
async function confirm(page: Page, yes: RegExp, done: RegExp): Promise<void> {
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: yes }).click();
  await page.getByText(done).first().waitFor();
}

describe.skipIf(!hasTool('chromium'))('the Glossary and the Translation Memory', () => {
  const reused = reusedFixture(async (atEnd) => await startConsoleWorld({ atEnd }));

  it.each([
    ['light', DESKTOP],
    ['dark', DESKTOP],
    ['light', PHONE],
    ['dark', PHONE],
  ] as const)('violate no rule and fit the screen: %s %o', async (colorScheme, viewport) => {
    const world = await reused();
    const opened = await openAs(world, 'review', '#/glossary', { colorScheme, viewport });
    const { page } = opened;
    const places = [
      ['glossary?check=先生と温泉郷へ', 'Check a text', 'mark'],
      ['glossary/radio-club', 'Duplicates', '.duplicate'],
      ['memory?text=先生', 'Conflicts', '.memory-conflict'],
    ] as const;
    for (const [place, heading, proof] of places) {
      await page.goto(`${world.url}#/${place}`);
      await page.getByRole('heading', { name: heading }).waitFor();
      await page.locator(proof).first().waitFor();
      await page.locator('[aria-busy]').first().waitFor({ state: 'detached' });
      await opened.screenshot(
        `${place.split(/\W/, 1)[0]}-${heading.split(' ')[0]}-${colorScheme}-${viewport.width}`,
        {
          fullPage: true,
        },
      );
      const sideways = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect([place, sideways, await opened.violations()]).toEqual([place, 0, []]);
    }
    expect(opened.troubles).toEqual([]);
  });

  it('keep every filter in the address, and show the same list to another person', async () => {
    const world = await reused();
    const { page } = await openAs(world, 'translate', '#/glossary');
    await page.getByRole('combobox', { name: 'State' }).selectOption('draft');
    await page.getByRole('rowheader', { name: /温泉郷/ }).waitFor();
    await page.getByRole('rowheader', { name: /先生/ }).waitFor({ state: 'detached' });
    expect(page.url()).toContain('state=draft');
    // Kana may translate; only a reviewer approves.
    expect(await page.getByRole('button', { name: /^Approve / }).count()).toBe(0);
    const second = await openAs(world, 'review', new URL(page.url()).hash);
    await second.page.getByRole('button', { name: 'Approve 温泉郷' }).waitFor();
    expect(await second.page.getByRole('rowheader', { name: /先生/ }).count()).toBe(0);
  });

  it('check a text while it is typed, with the keyboard alone', async () => {
    const world = await reused();
    const opened = await openAs(world, 'translate', '#/glossary');
    const { page } = opened;
    await page.getByLabel('Source text').focus();
    await page.keyboard.insertText('先生、<b>司令部</b>です');
    await page.locator('mark', { hasText: '先生' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.insertText('你好');
    await page.getByText('Blocked', { exact: true }).waitFor();
    await page.keyboard.insertText('，老师和指挥部');
    await page.getByText('Nothing blocks it').waitFor();
    expect(opened.troubles).toEqual([]);
  });

  it('approve, change, deprecate and delete a term, and tell its history', async () => {
    const world = await reused();
    const source = { source_kind: 'manual', observed_unix_seconds: 1_767_225_600 };
    const term = {
      source_term: '校舎',
      recommended_translation: '校舍',
      source_language: 'ja',
      target_language: 'zh-Hans',
    };
    await world.act('translate', 'translation-glossary-add', { ...term, term_id: 'school', source });
    const opened = await openAs(world, 'review', '#/glossary/school');
    const { page } = opened;
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Approve 校舎' }).click();
    await dialog.getByRole('button', { name: 'Approve term' }).click();
    await dialog.getByText('is needed').waitFor();
    await dialog.getByLabel(/^Reviewer/).fill('rin');
    await confirm(page, /^Approve term$/, /Approve term 校舎: done/);
    await page.getByRole('button', { name: 'Deprecate 校舎' }).click();
    await dialog.getByLabel(/^Reviewer/).fill('rin');
    await dialog.getByLabel(/^Reason/).fill('the game says 教学楼');
    await dialog.getByRole('button', { name: 'Continue …' }).click();
    await dialog.getByRole('region', { name: 'Effect' }).getByText('校舍').waitFor();
    await confirm(page, /^Yes, deprecate term 校舎$/, /Deprecate term 校舎: done/);
    await page.getByRole('cell', { name: 'the game says 教学楼' }).waitFor();
    await page.getByRole('button', { name: 'Delete 校舎' }).click();
    await dialog.getByRole('button', { name: 'Continue …' }).click();
    await confirm(page, /^Yes, delete term 校舎$/, /Delete term 校舎: done/);
    await page.getByText('No such term').waitFor();
    expect(opened.troubles).toEqual([]);
  });

  it('merge duplicates: one term takes the translations of the other, which then goes', async () => {
    const world = await reused();
    const source = { source_kind: 'manual', observed_unix_seconds: 1_767_225_600 };
    const pair = { source_language: 'ja', target_language: 'zh-Hans', source, source_term: '屋上' };
    await world.act('translate', 'translation-glossary-add', {
      ...pair,
      term_id: 'roof',
      recommended_translation: '屋顶',
    });
    await world.act('translate', 'translation-glossary-add', {
      ...pair,
      term_id: 'roof-2',
      category: 'place',
      recommended_translation: '天台',
    });
    const { page } = await openAs(world, 'review', '#/glossary/roof');
    await page.getByRole('button', { name: 'Take its translations roof-2' }).click();
    await confirm(page, /^Change term$/, /Merge roof-2 into 屋上: done/);
    await page
      .locator('.duplicate')
      .getByRole('button', { name: /^Delete/ })
      .click();
    await page.getByRole('dialog').getByRole('button', { name: 'Continue …' }).click();
    await confirm(page, /^Yes, delete term/, /Delete term 屋上: done/);
    await page.locator('.duplicate').waitFor({ state: 'detached' });
    const { items } = await world.read('translation.glossary.query', { source_text: '屋上' });
    expect(items.map((each) => [each.term_id, each.allowed_translations])).toEqual([['roof', ['天台']]]);
    await world.act('review', 'translation-glossary-delete', { term_id: 'roof' });
  });

  it('settle a conflict with the translation that the reviewer keeps', async () => {
    const world = await reused();
    const { groups } = await world.read('translation.memory.conflicts');
    const [group] = groups;
    const opened = await openAs(world, 'review', '#/memory');
    const { page } = opened;
    const conflict = page.locator('.memory-conflict').first();
    const dialog = page.getByRole('dialog');
    await conflict
      .getByRole('button', { name: /^Keep this/ })
      .first()
      .click();
    await dialog.getByLabel(/^Reviewer/).fill('rin');
    await dialog.getByLabel(/^Reason/).fill('the usual word');
    await dialog.getByRole('button', { name: 'Continue …' }).click();
    await dialog.getByText('Supersedes').first().waitFor();
    await dialog.getByText('Keeps', { exact: true }).waitFor();
    await confirm(page, /^Yes, resolve a memory conflict/, /Resolve a memory conflict .*done/);
    const after = await world.read('translation.memory.conflicts');
    expect(after.groups.some(({ identity }) => identity === group?.identity)).toBe(false);
    expect(opened.troubles).toEqual([]);
  });

  it('import a file of the computer term by term, with a preview and a report', async () => {
    const world = await reused();
    const opened = await openAs(world, 'translate', '#/glossary');
    const { page } = opened;
    await page.getByText('Import and export files').click();
    const text = 'term,translation,priority,category\n港,港口,0,\n先生,教师,0,person\n灯台,灯塔,high,\n';
    const file = { name: 'terms.csv', mimeType: 'text/csv', buffer: Buffer.from(text) };
    await page.getByLabel('CSV file').setInputFiles(file);
    await page.getByText('terms.csv has 2 terms, 1 row cannot be read.').waitFor();
    await page.getByText('the priority is not a whole number').waitFor();
    expect(await opened.violations()).toEqual([]);
    await page.getByRole('button', { name: 'Import 2 terms' }).click();
    await page.getByText('The import has ended: 1 added, 1 decided otherwise.').waitFor();
    await page.getByText('先生: the Glossary has it as approved').waitFor();
    const { items } = await world.read('translation.glossary.query', { source_text: '港' });
    expect(
      items.map((term) => [term.source_term, term.review_status, term.source.source_ref]),
    ).toContainEqual(['港', 'draft', 'terms.csv']);
    expect(opened.troubles).toEqual([]);
  });

  it('export the Glossary through the exchange folder by a job that runs once', async () => {
    const world = await reused();
    const { page } = await openAs(world, 'admin', '#/glossary');
    await page.getByText('Import and export files').click();
    await page.getByRole('button', { name: 'Export to a file …' }).click();
    const dialog = page.getByRole('dialog', { name: 'Export the Glossary to a file' });
    await dialog.getByLabel(/^File/).fill('out/../terms.csv');
    await dialog.getByLabel(/^File/).fill('exported.csv');
    await dialog.getByRole('button', { name: 'Add a schedule' }).click();
    await page.getByText('Export the Glossary to a file: done.').first().waitFor();
    await page.goto(`${world.url}#/tasks`);
    await page.getByRole('row').filter({ hasText: 'Export the Glossary' }).getByText('Succeeded').waitFor();
  });
});
