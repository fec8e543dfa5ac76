import { describe, expect, it } from 'vitest';
import { REPORTS } from '../../../src/contract/reports/reports.ts';
import { openPage, type TestPage } from '../../support/browser.ts';
import { CONSOLE_FILES, CONSOLE_RELEASES } from '../../support/console-release.ts';
import { consoleToken, startConsoleWorld } from '../../support/console-world.ts';
import { logIn } from '../../support/console-system.ts';
import { sharedFixture } from '../../support/shared-fixture.ts';
import { hasTool } from '../../support/tools.ts';

/** Parameters of the report that select rows of the page, and not tasks. */
const PAGES: ReadonlySet<string> = new Set(['offset', 'limit']);

const FILTER_LABELS: Readonly<Record<string, string>> = {
  status: 'Status',
  unit_state: 'Units',
  worker_status: 'Worker',
  destination: 'File',
  has_reason: 'Reason',
  has_failure_reason: 'Failure reason',
  parse_status: 'Parsed',
  format: 'Format',
  archive_entry: 'Entry of an archive',
  release_id: 'Release',
  task_id: 'Task',
};

describe.skipIf(!hasTool('chromium'))('the queue of translation tasks', () => {
  const shared = sharedFixture(async (atEnd) => await startConsoleWorld({ atEnd }));

  async function open(hash: string): Promise<TestPage> {
    const opened = await openPage();
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
    await expect.poll(() => new URL(page.url()).hash).toBe('#/translate?status=failed');
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
    // Each tile that has room shows its share, and the legend says what the area and the shade are.
    const shares = map.locator('text').filter({ hasText: / %$/ });
    await expect.poll(async () => await shares.count()).toBeGreaterThan(3);
    await page
      .locator('.legend')
      .getByText(/^Coverage by folder: the area is the number of units/)
      .waitFor();
    // Two folders are few, so the larger one is shown by its parts.
    await map
      .getByRole('link', { name: /^Scenario\/Main\/Chapter02\.json: \d+ % proofread, 166 units$/ })
      .waitFor();
    await map.getByRole('link', { name: /^Scenario\/Event: \d+ % proofread, [\d,]+ units$/ }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => new URL(page.url()).hash).toBe('#/translate?folder=Scenario%2FEvent');
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
    const blockers = page.getByRole('region', { name: 'Blockers' });
    await blockers.getByText(/^Blocked units \(\d+\)$/).waitFor();
    await blockers.getByText(/^Units on hold \(\d+\)$/).waitFor();
    const unit = blockers.locator('a[href^="#/translate-task/"]').first();
    expect(await unit.getAttribute('href')).toMatch(/^#\/translate-task\/tt_[^?]+\?unit=tu1_/);
  });

  it('leads from each blocker to a list that has its units', async () => {
    const world = shared();
    const { publish_blockers: blockers } = await world.read('translation.status');
    const states = new Map(blockers.map(({ code, unit_state: state }) => [code, state]));
    expect(states.get('stale')).toBe('stale');
    expect(states.get('untranslated')).toBe('untranslated');
    for (const address of ['#/translate', '#/publish']) {
      const { page } = await open(address);
      const links = page
        .getByRole('region', { name: 'Blockers' })
        .getByRole('link', { name: 'Show them', exact: true });
      await links.first().waitFor();
      const found = await Promise.all(
        (await links.all()).map(async (link) => await link.getAttribute('href')),
      );
      const wanted = blockers.flatMap(({ code, unit_state: state }) => {
        if (code === 'on_hold') return ['#/review'];
        return state === undefined ? [] : [`#/translate?unit_state=${state}`];
      });
      expect([found.length, new Set(found)]).toEqual([wanted.length, new Set(wanted)]);
    }
    const { page, troubles } = await open('#/translate');
    for (const state of [...states.values()].filter((each) => each !== undefined)) {
      await page.goto(`${world.url}#/translate?unit_state=${state}`);
      const { total, counts } = await world.read('translation.tasks', { unit_state: state });
      const shown = total - (counts['superseded'] ?? 0);
      expect([state, shown > 0]).toEqual([state, true]);
      await page.getByText(shown === 1 ? '1 task' : `${shown} tasks`, { exact: true }).waitFor();
      await expect
        .poll(async () => await page.getByRole('combobox', { name: 'Units' }).inputValue())
        .toBe(state);
    }
    expect(troubles).toEqual([]);
  });

  it('has every filter of the report, alone and in the address', async () => {
    const world = shared();
    const { page, troubles } = await open('#/translate');
    const form = page.getByRole('search', { name: 'Filter translation tasks' });
    const [first] = (await world.read('translation.tasks', { destination: CONSOLE_FILES.pending })).items;
    const values: Readonly<Record<string, string>> = {
      status: 'translated',
      unit_state: 'stale',
      worker_status: first?.worker_status ?? '',
      destination: CONSOLE_FILES.pending,
      has_reason: 'true',
      has_failure_reason: 'true',
      parse_status: first?.parse_status ?? '',
      format: 'csv',
      archive_entry: 'nowhere.bytes',
      release_id: CONSOLE_RELEASES[0],
      task_id: first?.task_id ?? '',
    };
    const parameters = Object.keys(REPORTS['translation.tasks'].query.shape);
    expect(Object.keys(values).toSorted()).toEqual(parameters.filter((name) => !PAGES.has(name)).toSorted());
    const all = (await world.read('translation.tasks')).total;
    for (const [name, value] of Object.entries(values)) {
      const named = { name: new RegExp(`^${FILTER_LABELS[name] ?? name}`) };
      const field = form.getByRole('combobox', named).or(form.getByRole('searchbox', named));
      if ((await field.count()) === 0) await form.getByText(/^More filters/).click();
      const isChoice = (await form.getByRole('combobox', named).count()) > 0;
      await (isChoice ? field.selectOption(value) : field.fill(value));
      await expect
        .poll(() => new URL(page.url()).hash)
        .toBe(`#/translate?${new URLSearchParams({ [name]: value }).toString()}`);
      const answer = await world.read('translation.tasks', { [name]: value });
      const shown = answer.total - (name === 'status' ? 0 : (answer.counts['superseded'] ?? 0));
      await form.getByText(shown === 1 ? '1 task' : `${shown} tasks`, { exact: true }).waitFor();
      // A filter that selects everything would prove nothing.
      if (name !== 'parse_status') expect([name, answer.total]).not.toEqual([name, all]);
      await form.getByRole('button', { name: 'Clear filters' }).click();
      await expect.poll(() => new URL(page.url()).hash).toBe('#/translate');
    }
    expect(troubles).toEqual([]);
  });
});
