import { describe, expect, it } from 'vitest';
import { DESKTOP, openPage, PHONE, type Look, type TestPage } from '../../support/browser.ts';
import { CONSOLE_FILES } from '../../support/console-release.ts';
import { consoleToken, startConsoleWorld } from '../../support/console-world.ts';
import { logIn } from '../../support/console-system.ts';
import { sharedFixture } from '../../support/shared-fixture.ts';
import { hasTool } from '../../support/tools.ts';

const LOOKS: ReadonlyArray<readonly [string, Look]> = [
  ['light-desktop', { viewport: DESKTOP, colorScheme: 'light' }],
  ['dark-desktop', { viewport: DESKTOP, colorScheme: 'dark' }],
  ['light-phone', { viewport: PHONE, colorScheme: 'light' }],
  ['dark-phone', { viewport: PHONE, colorScheme: 'dark' }],
];

describe.skipIf(!hasTool('chromium'))('the queue of translation tasks', () => {
  const shared = sharedFixture(async (atEnd) => await startConsoleWorld({ atEnd }));

  async function open(hash: string, look: Look = {}): Promise<TestPage> {
    const opened = await openPage(look);
    await opened.page.goto(`${shared().url}${hash}`);
    await logIn(opened, consoleToken('translate'));
    return opened;
  }

  it('counts tasks by state, filters them by the address, and opens one by keyboard', async () => {
    const { page, troubles } = await open('#/translate');
    const grid = page.getByRole('grid', { name: 'Translation tasks' });
    await grid.getByRole('link', { name: CONSOLE_FILES.pending }).first().waitFor();
    const status = page.getByRole('combobox', { name: 'Status' });
    await status.selectOption({ label: 'Failed (1)' });
    await grid.getByRole('link', { name: CONSOLE_FILES.failed }).waitFor();
    expect(new URL(page.url()).hash).toBe('#/translate?status=failed');
    await page.getByText('1 task', { exact: true }).waitFor();
    // The other states keep their counts.
    await status.getByRole('option', { name: 'Skipped (1)' }).waitFor({ state: 'attached' });
    await grid.focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await expect.poll(() => new URL(page.url()).hash).toMatch(/^#\/translate-task\/tt_/);
    await page.goBack();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByRole('searchbox', { name: 'File' }).fill(CONSOLE_FILES.leased);
    await grid.getByText(/ left, /).waitFor();
    await page.getByRole('searchbox', { name: 'File' }).fill('no/such/file');
    await page.getByText('No task matches').waitFor();
    expect(troubles).toEqual([]);
  });

  it('draws how far each folder is, and opens a folder and then a file of it', async () => {
    const { page, troubles } = await open('#/translate');
    const map = page.getByRole('group', { name: /^Coverage by folder/ });
    // Two folders are few, so the larger one is shown by its parts.
    await map
      .getByRole('link', { name: /^Scenario\/Main\/Chapter02\.json: \d+ % proofread, 166 units$/ })
      .waitFor();
    await map.getByRole('link', { name: /^Scenario\/Event: \d+ % proofread, [\d,]+ units$/ }).focus();
    await page.keyboard.press('Enter');
    expect(new URL(page.url()).hash).toBe('#/translate?folder=Scenario%2FEvent');
    await map.getByRole('link', { name: /^Summer\.json: / }).waitFor();
    await page.getByRole('link', { name: 'One folder up' }).click();
    await map.getByRole('link', { name: /^Main\/Chapter02\.json: / }).waitFor();
    await page.goto(`${shared().url}#/translate?folder=Scenario%2FMain`);
    await map.getByRole('link', { name: /^Chapter02\.json: / }).click();
    await expect.poll(() => new URL(page.url()).hash).toMatch(/^#\/translate-task\/tt_/);
    expect(troubles).toEqual([]);
  });

  it('says which units are blocked or on hold, and what a publication would leave out', async () => {
    const { page } = await open('#/translate');
    await page.getByText('units have findings that block them.').waitFor();
    await page.getByText('wait for a review.').waitFor();
    const unit = page.getByRole('region', { name: 'Blocked units' }).getByRole('link').first();
    expect(await unit.getAttribute('href')).toMatch(/^#\/translate-task\/tt_[^?]+\?unit=tu1_/);
  });

  it.each(LOOKS)('violates no rule, and does not scroll sideways: %s', async (name, look) => {
    const { page, violations, troubles, screenshot } = await open('#/translate', look);
    await page.getByRole('link', { name: CONSOLE_FILES.pending }).first().waitFor();
    await page.getByText('units have findings that block them.').waitFor();
    await screenshot(`${name}-queue`, { fullPage: true });
    const sideways = await page.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    expect([sideways, await violations(), troubles]).toEqual([0, [], []]);
  });
});
