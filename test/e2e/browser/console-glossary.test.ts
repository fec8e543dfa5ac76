import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { openPage, type TestPage } from '../../support/browser.ts';
import { CONSOLE_FILES } from '../../support/console-release.ts';
import {
  consoleToken,
  startConsoleWorld,
  type ConsolePerson,
  type ConsoleUnit,
  type ConsoleWorld,
} from '../../support/console-world.ts';
import { logIn } from '../../support/console-system.ts';
import { pressOn, typeInto } from '../../support/keyboard.ts';
import { reusedFixture } from '../../support/shared-fixture.ts';
import { hasTool } from '../../support/tools.ts';
import { until } from '../../support/until.ts';

/** Opens a page of the console with the token of a person. */
async function openAs(world: ConsoleWorld, person: ConsolePerson, hash: string): Promise<TestPage> {
  const opened = await openPage();
  await opened.page.goto(`${world.url}${hash}`);
  await logIn(opened, consoleToken(person));
  return opened;
}

/** Answers the question of the form that is open, and waits for the toast. */
async function confirm(page: Page, yes: RegExp, done: RegExp): Promise<void> {
  const dialog = page.getByRole('dialog');
  await pressOn(page, dialog.getByRole('button', { name: yes }));
  await page.getByText(done).first().waitFor();
}

describe.skipIf(!hasTool('chromium'))('the Glossary and the Translation Memory', () => {
  const reused = reusedFixture(async (atEnd) => await startConsoleWorld({ atEnd }));

  it('keep every filter in the address, and show the same list to another person', async () => {
    const world = await reused();
    const { page } = await openAs(world, 'translate', '#/glossary');
    await page.getByRole('combobox', { name: 'State' }).selectOption('draft');
    await page.getByRole('rowheader', { name: /温泉郷/ }).waitFor();
    await page.getByRole('rowheader', { name: /先生/ }).waitFor({ state: 'detached' });
    await expect.poll(() => page.url()).toContain('state=draft');
    // Kana may translate; only a reviewer approves.
    expect(await page.getByRole('button', { name: /^Approve / }).count()).toBe(0);
    const second = await openAs(world, 'review', new URL(page.url()).hash);
    await second.page.getByRole('button', { name: 'Approve 温泉郷' }).waitFor();
    expect(await second.page.getByRole('rowheader', { name: /先生/ }).count()).toBe(0);
    // Before a reviewer decides, the form says how many translations the decision is about.
    await second.page.getByRole('button', { name: 'Approve 約束' }).click();
    const dialog = second.page.getByRole('dialog');
    await dialog.getByText(/stored translations? of (?:lines|a line) with this term/).waitFor();
    expect(await dialog.getByText('promise', { exact: true }).count()).toBe(0);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await second.page.goto(`${world.url}#/glossary/sensei?source=先生`);
    await second.page.getByRole('button', { name: 'Edit 先生' }).click();
    await dialog.locator('[id$=recommended_translation]').fill('导师');
    await dialog.locator('[id$=allowed_translations]').fill('');
    await dialog
      .getByText(/^\d+ stored translations of lines with this term, in \d+ files, lack its translation/)
      .waitFor();
    expect(await second.violations()).toEqual([]);
    await second.screenshot('term-impact');
  });

  it('begin a term in the languages of the Glossary, also on the page of all actions', async () => {
    const world = await reused();
    const { page } = await openAs(world, 'translate', '#/actions?text=translation-glossary-add');
    await page.getByRole('button', { name: 'Run … translation-glossary-add', exact: true }).click();
    const dialog = page.getByRole('dialog');
    const from = dialog.getByRole('combobox', { name: /^From language/ });
    await expect.poll(async () => await from.inputValue()).toBe('ja');
    await expect
      .poll(async () => await dialog.getByRole('combobox', { name: /^To language/ }).inputValue())
      .toBe('zh-Hans');
    const impact = dialog.locator('.impact');
    expect(await impact.count()).toBe(0);
    await dialog.locator('[id$=source_term]').fill('先生');
    expect(await impact.count()).toBe(0);
    await dialog.locator('[id$=recommended_translation]').fill('导师');
    await impact.getByText(/stored translation/).waitFor();
  });

  it('approve, deprecate and delete a term with the keyboard alone, and tell its history', async () => {
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
    await pressOn(page, page.getByRole('button', { name: 'Approve 校舎' }));
    await confirm(page, /^Approve term$/, /Approve term 校舎: done/);
    await pressOn(page, page.getByRole('button', { name: 'Deprecate 校舎' }));
    await typeInto(page, dialog.getByLabel(/^Reason/), 'the game says 教学楼');
    await dialog.getByText('No stored translation has this wording.').waitFor();
    await pressOn(page, dialog.getByRole('button', { name: 'Continue …' }));
    await confirm(page, /^Yes, deprecate term 校舎$/, /Deprecate term 校舎: done/);
    await page.getByRole('cell', { name: 'the game says 教学楼' }).waitFor();
    await pressOn(page, page.getByRole('button', { name: 'Delete 校舎' }));
    await pressOn(page, dialog.getByRole('button', { name: 'Continue …' }));
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
    await page.getByRole('button', { name: 'Take its translations 天台' }).click();
    await confirm(page, /^Merge “天台” into “屋顶”$/, /Merge “天台” into “屋顶”: done/);
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

  it('settle a conflict with the translation that the reviewer keeps, with the keyboard alone', async () => {
    const world = await reused();
    const { groups } = await world.read('translation.memory.conflicts');
    const [group] = groups;
    const opened = await openAs(world, 'review', '#/memory');
    const { page } = opened;
    const conflict = page.locator('.memory-conflict').first();
    const dialog = page.getByRole('dialog');
    await pressOn(page, conflict.getByRole('button', { name: /^Keep this/ }).first());
    await typeInto(page, dialog.getByLabel(/^Reason/), 'the usual word');
    await pressOn(page, dialog.getByRole('button', { name: 'Continue …' }));
    await dialog.getByText('Supersedes').first().waitFor();
    await dialog.getByText('Keeps', { exact: true }).waitFor();
    await confirm(page, /^Yes, resolve a memory conflict/, /Resolve a memory conflict .*done/);
    const after = await world.read('translation.memory.conflicts');
    expect(after.groups.some(({ identity }) => identity === group?.identity)).toBe(false);
    expect(opened.troubles).toEqual([]);
  });

  it('find similar texts and those that contain a word, and confirm a candidate', async () => {
    const world = await reused();
    const candidate = await until(async () => {
      for (const unit of (await world.units(CONSOLE_FILES.drafts)).slice(5, 60)) {
        // The field of the search has one line.
        if (unit.source_text.includes('\n')) continue;
        const { matches } = await world.read('translation.memory.query', { source_text: unit.source_text });
        const targets = matches.map(({ record }) => record.target_text);
        const found = matches.find(
          ({ record }) =>
            record.state === 'candidate' &&
            record.source_text === unit.source_text &&
            // One row of the table has its translation.
            targets.filter((target) => target === record.target_text).length === 1,
        );
        if (found !== undefined) return { unit, ...found };
      }
      return null;
    });
    const { source_text: source } = candidate.unit;
    const opened = await openAs(world, 'review', '#/memory');
    const { page } = opened;
    const search = page.getByRole('search', { name: 'Search the Translation Memory' });
    await search.getByLabel('Text').fill(source);
    const row = (text: string): ReturnType<Page['locator']> =>
      page.getByRole('table', { name: 'Matches, the best first' }).getByRole('row').filter({ hasText: text });
    const exact = row(candidate.record.target_text).filter({ hasText: source }).first();
    await exact.getByText(`${Math.min(100, candidate.score)} % · same`).waitFor();
    await search.getByText(/^[1-9]\d* match(?:es)?$/).waitFor();
    await exact.getByRole('button', { name: `Confirm ${candidate.record.target_text}` }).click();
    const dialog = page.getByRole('dialog');
    await dialog
      .getByRole('button', { name: /^Confirm/ })
      .last()
      .click();
    await page
      .getByText(/^Confirm .*: done\.$/)
      .first()
      .waitFor();
    await page.keyboard.press('Escape');
    await exact.getByText('Trusted').waitFor();
    await exact.getByText(/accepted by rin/).waitFor();

    // A trusted record is corrected, and the corrected one rejected.
    const { target_text: before } = candidate.record;
    const after = `${before}～`;
    await exact.getByRole('button', { name: `Edit … ${before}` }).click();
    await expect.poll(async () => await dialog.getByLabel('Another target').inputValue()).toBe(before);
    await dialog.getByLabel('Another target').fill(after);
    await dialog.getByRole('button', { name: 'Edit a memory record' }).click();
    await page
      .getByText(/^Edit a memory record: done\.$/)
      .first()
      .waitFor();
    const edited = row(after).filter({ hasText: 'Trusted' }).first();
    await edited.getByText('person, accepted by rin').waitFor();
    await edited.getByRole('button', { name: `Reject … ${after}` }).click();
    await dialog.getByLabel(/^Reason/).fill('the wording is old');
    expect(await opened.violations()).toEqual([]);
    await opened.screenshot('memory-reject');
    await dialog.getByRole('button', { name: 'Reject a memory record' }).click();
    await page
      .getByText(/^Reject a memory record: done\.$/)
      .first()
      .waitFor();
    await edited.waitFor({ state: 'detached' });

    // A word out of the middle is like no text, and several contain it.
    await search.getByLabel('Text').fill('先生');
    await row('contains it').filter({ hasText: '先生' }).first().waitFor();
    await expect.poll(() => page.url()).toContain(`text=${encodeURIComponent('先生')}`);
    await search.getByLabel('Text').fill('qqqqqqqq');
    await page.getByText('No similar text is known').waitFor();
    expect(opened.troubles).toEqual([]);
  });

  it('help beside a unit: its place, its earlier source, matches with their differences, and terms', async () => {
    const world = await reused();
    const units = await world.units(CONSOLE_FILES.stale);
    const at = units.findIndex(({ translation }) => (translation?.previous_source ?? null) !== null);
    const [before, stale, after] = [units[at - 1], units[at], units[at + 1]];
    if (before === undefined || stale === undefined || after === undefined) throw new Error('no stale unit');
    const opened = await openAs(world, 'review', '#/overview');
    const { page } = opened;
    const editor = async ({ destination, unit_id: id }: ConsoleUnit): Promise<void> => {
      await page.goto(`${world.url}#/translate-task/${await world.task(destination)}?unit=${id}`);
      await page.locator('#target').waitFor();
    };
    await editor(stale);
    const pane = page.getByRole('region', { name: 'Unit', exact: true });
    await pane.getByRole('heading', { name: 'The source has changed' }).waitFor();
    await pane.locator('.previous').locator('del, ins').first().waitFor();
    await pane.locator('.previous').getByText('Target then: ').waitFor();
    await pane
      .getByRole('list', { name: 'Lines before' })
      .getByText(longestWords(before.source_text))
      .waitFor();
    await pane
      .getByRole('list', { name: 'Lines after' })
      .getByText(longestWords(after.source_text))
      .waitFor();
    await pane.locator('.unit-head').getByText(`Speaker ${stale.speaker}`).waitFor();
    // The text before is like the text now, so that the memory has its translation.
    const match = page
      .locator('.matches li')
      .filter({ has: page.locator('.match-source del, .match-source ins') });
    expect(await match.first().locator('.badge').textContent()).toMatch(/^[5-9]\d %$/);

    // The world has left a target in which a term of the Glossary is missing.
    const wrong = await until(async () => {
      for (const file of Object.values(CONSOLE_FILES)) {
        const found = (await world.units(file)).find(({ translation }) =>
          (translation?.findings ?? []).some(
            ({ origin, severity }) => origin === 'glossary' && severity === 'error',
          ),
        );
        if (found !== undefined) return found;
      }
      return null;
    });
    await editor(wrong);
    const term = page
      .locator('.terms li')
      .filter({ has: page.locator('.bad') })
      .first();
    const found = (await term.getByRole('link').textContent()) ?? '';
    expect(wrong.source_text).toContain(found);
    await pane.locator('.source-text mark').filter({ hasText: found }).first().waitFor();
    const decide = page.getByRole('button', { name: 'Allow it despite the Glossary …' });
    await pressOn(page, decide);
    await typeInto(page, page.getByLabel(/^Reason, as rin/), 'the speaker has another name for it');
    await page.keyboard.press('Control+Enter');
    await page
      .locator('.decisions')
      .getByText('allowed it despite the Glossary: the speaker has another name')
      .waitFor();
    await page.locator('.findings li.idle').getByText('glossary, allowed').first().waitFor();
    await page.locator('.findings li.bad').first().waitFor({ state: 'detached' });
    await decide.waitFor({ state: 'detached' });
    expect(await opened.violations()).toEqual([]);
    expect(opened.troubles).toEqual([]);
  });

  it('import a file of the computer term by term, with a preview and a report', async () => {
    const world = await reused();
    const opened = await openAs(world, 'translate', '#/glossary');
    const { page } = opened;
    await page.getByText('Import and export files').click();
    const head = 'term,translation,priority,category\n';
    // A file of rows that cannot be read does not fill the page.
    const bad = Buffer.from(head + '灯台,灯塔,high,\n'.repeat(150));
    await page.getByLabel('CSV file').setInputFiles({ name: 'bad.csv', mimeType: 'text/csv', buffer: bad });
    await page.getByText('and 50 more').waitFor();
    const issues = page.getByRole('list', { name: 'Terms that are not imported' });
    await expect.poll(async () => await issues.getByRole('listitem').count()).toBe(100);
    const text = `${head}港,港口,0,\n先生,教师,0,person\n灯台,灯塔,high,\n`;
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
    const sent = page.waitForRequest((request) => request.url().endsWith('/admin/control/schedule-add'));
    await dialog.getByRole('button', { name: 'Export the Glossary to a file' }).click();
    expect((await sent).postDataJSON()).not.toHaveProperty('every_seconds');
    await page.getByText('Export the Glossary to a file: done.').first().waitFor();
    await page.goto(`${world.url}#/tasks`);
    await page.getByRole('row').filter({ hasText: 'Export the Glossary' }).getByText('Succeeded').waitFor();
  });
});

/** The longest part of a text between its tags and placeholders, which are drawn as chips. */
function longestWords(text: string): string {
  const parts = text.split(/<[^>]*>|\{[^}]*\}|\[[^\]]*\]|\n/u);
  return parts.reduce((longest, part) => (part.length > longest.length ? part : longest)).trim();
}
