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
/** Begin the names of those that count targets, for an undo and for the impact of a term. */
const COUNTING = /^(?:undo|term)_/;

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

  it('begins with what waits for a person, and shows how far each folder is', async () => {
    const { page, troubles, violations, screenshot } = await open('#/translate');
    const needs = page.getByRole('region', { name: 'Needs you' });
    // A reviewer has returned two lines and holds them, four are blocked, and one task was given up with a reason.
    await needs.getByText('2 units came back from review').waitFor();
    await needs.getByText('rin: the tone is too formal').first().waitFor();
    await needs.getByText('4 units are blocked').waitFor();
    await needs.getByText('2 units are on hold').waitFor();
    await needs.getByText(/ a changed source$/).waitFor();
    await needs.getByText('the names of the items wait for the publisher').waitFor();

    const table = page.getByRole('table', { name: /^Coverage by folder/ });
    const event = table.getByRole('row', { name: /^Scenario\/ / });
    await event.getByRole('cell', { name: /^[\d,]+ of [\d,]+$/ }).waitFor();
    await event.getByRole('link').focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => new URL(page.url()).hash).toBe('#/translate?folder=Scenario');
    await page.getByRole('link', { name: 'One folder up' }).click();
    await event.waitFor();
    expect(await violations()).toEqual([]);
    await screenshot('queue', { fullPage: true });
    await page.goto(`${shared().url}#/translate?folder=Scenario%2FMain`);
    await table.getByRole('link', { name: 'Chapter02.json' }).click();
    await expect.poll(() => new URL(page.url()).hash).toMatch(/^#\/translate-task\/tt_/);

    // The unit that was open last is one press away.
    await page.getByRole('region', { name: 'Unit' }).waitFor();
    await page.getByRole('link', { name: 'Queue' }).first().click();
    await page.getByRole('link', { name: 'Continue where you were' }).click();
    await expect.poll(() => new URL(page.url()).hash).toMatch(/^#\/translate-task\/tt_[^?]+\?unit=tu1_/);
    expect(troubles).toEqual([]);
  });

  it('takes the translations of a person back, file by file', async () => {
    const world = await startConsoleWorld({ work: false });
    const destination = 'Tables/Mail.csv';
    const task = await world.task(destination);
    const units = (await world.units(destination)).slice(0, 2);
    const write = async (person: 'translate' | 'review', text: string): Promise<void> => {
      const translation_results = units.map(({ unit_id, source_text }) => ({
        unit_id,
        source_text,
        translated_text: text,
      }));
      await world.act(person, 'translation-task-update', {
        task_id: task,
        status: 'in_progress',
        translation_results,
      });
    };
    await write('translate', '甲');
    await write('review', '乙');
    const opened = await openPage();
    const { page, violations, screenshot } = opened;
    await page.goto(`${world.url}#/translate?undo_author=rin`);
    await logIn(opened, consoleToken('translate'));
    await page.getByText('2 translations fit, in 1 file:').waitFor();
    expect(await violations()).toEqual([]);
    await screenshot('undo', { fullPage: true });
    await page.getByRole('button', { name: 'Take 2 translations back …' }).click();
    await page.getByRole('button', { name: 'Take 2 translations back now' }).waitFor();
    // Another choice is another number to confirm.
    await page.getByLabel('Folder or file').fill('no/such/file');
    await page.getByText('No translation fits.').waitFor();
    await page.getByLabel('Folder or file').fill('');
    await page.getByRole('button', { name: 'Take 2 translations back …' }).click();
    await page.getByRole('button', { name: 'Take 2 translations back now' }).click();
    await page.getByText('2 translations were taken back.').waitFor();
    await page.getByText('No other translation fits.').waitFor();
    const after = (await world.units(destination)).slice(0, 2);
    expect(after.map(({ translation }) => translation?.target_text)).toEqual(['甲', '甲']);
  });

  it('names one unit that waits for a person as one', async () => {
    const { page } = await open('#/publish');
    await page.route('**/admin/translation/status*', async (route) => {
      const response = await route.fetch();
      const status = (await response.json()) as { readonly coverage: { readonly by_state: object } };
      const byState = { ...status.coverage.by_state, stale: 1 };
      const json = { ...status, coverage: { ...status.coverage, by_state: byState } };
      await route.fulfill({ response, json });
    });
    await page.goto(`${shared().url}#/translate`);
    const row = page.getByRole('listitem').filter({ hasText: '1 unit has a changed source' });
    await row.getByRole('link', { name: 'Show it', exact: true }).waitFor();
  });

  it('leads from each blocker to a list that has its units', async () => {
    const world = shared();
    const { publish_blockers: blockers } = await world.read('translation.status');
    const states = new Map(blockers.map(({ code, unit_state: state }) => [code, state]));
    expect(states.get('stale')).toBe('stale');
    expect(states.get('untranslated')).toBe('untranslated');
    for (const address of ['#/publish']) {
      const { page } = await open(address);
      const links = page
        .getByRole('region', { name: 'Blockers' })
        .getByRole('link', { name: /^Show (?:it|them)$/ });
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
    expect(Object.keys(values).toSorted()).toEqual(
      parameters.filter((name) => !PAGES.has(name) && !COUNTING.test(name)).toSorted(),
    );
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
