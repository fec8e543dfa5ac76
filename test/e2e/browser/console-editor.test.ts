import { readFile, writeFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { cspReports, openPage, PHONE, type Look, type TestPage } from '../../support/browser.ts';
import { CONSOLE_FILES, CONSOLE_RELEASES, consoleRelease } from '../../support/console-release.ts';
import {
  consoleToken,
  startConsoleWorld,
  type ConsolePerson,
  type ConsoleUnit,
  type ConsoleWorld,
} from '../../support/console-world.ts';
import { logIn } from '../../support/console-system.ts';
import { pressOn, tabTo, typeInto } from '../../support/keyboard.ts';
import { sharedFixture } from '../../support/shared-fixture.ts';
import { hasTool } from '../../support/tools.ts';
import { measureTasks } from '../../support/page-figures.ts';
import { libreTranslate, startTranslationServer } from '../../support/translation-server.ts';
import { until } from '../../support/until.ts';

/** A text as long as the longest ones of games: 10,800 characters with 1,650 marks. */
const LONG_TEXT = 'え'.repeat(5300) + '<b>{0}</b>'.repeat(550);

const STORED = /Stored \d\d:/;

/** A person in the editor of one file. */
interface Editor extends TestPage {
  readonly target: ReturnType<Page['locator']>;
  /** The text of the state of the save. */
  readonly saved: ReturnType<Page['locator']>;
}

async function openEditor(
  world: ConsoleWorld,
  person: ConsolePerson,
  { destination, unit, look = {} }: { destination: string; unit?: ConsoleUnit | undefined; look?: Look },
): Promise<Editor> {
  const opened = await openPage(look);
  await opened.page.goto(world.url);
  await logIn(opened, consoleToken(person));
  const address = unit === undefined ? '' : `?unit=${unit.unit_id}`;
  await opened.page.goto(`${world.url}#/translate-task/${await world.task(destination)}${address}`);
  const target = opened.page.locator('#target');
  if (look.viewport === undefined || unit !== undefined) await target.waitFor();
  return { ...opened, target, saved: opened.page.locator('.save-state') };
}

/** The unit of a file at a position, as the server has it now. */
async function unitAt(world: ConsoleWorld, destination: string, at: number): Promise<ConsoleUnit> {
  const unit = (await world.units(destination))[at];
  if (unit === undefined) throw new Error(`${destination} has no unit ${at}`);
  return unit;
}

/** Waits until the server has a target. */
async function untilStored(world: ConsoleWorld, unit: ConsoleUnit, text: string): Promise<ConsoleUnit> {
  return await until(async () => {
    const found = (await world.units(unit.destination)).find(({ unit_id: id }) => id === unit.unit_id);
    return found?.translation?.target_text === text ? found : null;
  });
}

/** Stores a target as someone else. */
async function store(
  world: ConsoleWorld,
  person: ConsolePerson,
  unit: ConsoleUnit,
  text: string,
  fields: object = {},
): Promise<void> {
  await world.act(person, 'translation-task-update', {
    task_id: await world.task(unit.destination),
    translation_results: [{ unit_id: unit.unit_id, source_text: unit.source_text, translated_text: text }],
    ...fields,
  });
}

/** Lets somebody else store a target while the next one of the page is on its way. */
async function overtake(page: Page, act: () => Promise<void>): Promise<void> {
  await page.route(
    '**/admin/control/translation-task-update',
    async (route) => {
      await act();
      await route.continue();
    },
    { times: 1 },
  );
}

describe.skipIf(!hasTool('chromium'))('the editor of a translation task', () => {
  const shared = sharedFixture(
    async (atEnd) =>
      await startConsoleWorld({
        atEnd,
        work: false,
        daemon: {
          localized: { auto: false, boxes: [{ files: 'Scenario/Event/**', columns: 44, lines: 2 }] },
        },
      }),
  );

  it('shows the script around the open line, and what overflows the box of the game', async () => {
    const world = shared();
    const destination = CONSOLE_FILES.leased;
    const units = await world.units(destination);
    const [fifth, unit, seventh] = units.slice(4);
    if (fifth === undefined || unit === undefined || seventh === undefined) throw new Error('no units');
    await store(world, 'translate', fifth, '前一句');
    const editor = await openEditor(world, 'translate', { destination, unit });
    const { page, target } = editor;
    const before = page.getByRole('list', { name: 'Lines before' }).getByRole('listitem');
    const after = page.getByRole('list', { name: 'Lines after' }).getByRole('listitem');
    await expect.poll(async () => [await before.count(), await after.count()]).toEqual([5, 5]);
    await before
      .last()
      .getByText(fifth.speaker ?? '?', { exact: true })
      .waitFor();
    await before.last().getByText('前一句').waitFor();
    await target.fill(`${'汉'.repeat(22)}\n<b>短</b>\n第三行`);
    const box = page.locator('.game-box');
    await box.getByText('Box of the game: 44 columns, 2 lines. 1 line does not fit.').waitFor();
    expect(await box.locator('mark').allTextContents()).toEqual(['第三行']);
    await target.fill('汉'.repeat(23));
    await expect.poll(async () => await box.locator('mark').allTextContents()).toEqual(['汉']);
    expect(await editor.violations()).toEqual([]);
    await editor.screenshot('editor-script');
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize(PHONE);
    await page.getByRole('button', { name: '‹ All units' }).waitFor();
    expect(await before.filter({ visible: true }).count()).toBe(1);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    expect(await editor.violations()).toEqual([]);
    await editor.screenshot('editor-script-phone', { fullPage: true });
    await after.first().click();
    await page.locator('.source-text').getByText(seventh.source_text.slice(0, 5)).first().waitFor();
    expect(editor.troubles).toEqual([]);
  });

  it('stores what a person types by itself, and shows what the checks found in it', async () => {
    const world = shared();
    const destination = CONSOLE_FILES.drafts;
    const units = await world.units(destination);
    const at = units.findIndex(({ source_text: source }) => source.includes('%d'));
    const unit = await unitAt(world, destination, at);
    const editor = await openEditor(world, 'translate', { destination, unit });
    const { page, target, saved } = editor;
    await page.getByText('There is no target to check yet.').waitFor();
    await target.fill('译文');
    await saved.getByText(STORED).waitFor();
    const stored = await untilStored(world, unit, '译文');
    expect(stored.translation).toMatchObject({ state: 'blocked', author: { token_id: 'kana' } });
    expect(stored.translation?.claim?.owner).toBe('kana');
    await page.locator('.findings').getByText('the target lacks the placeholder').waitFor();
    await page
      .locator('.lease-notes')
      .getByText(/^Yours, [12]:\d\d left/)
      .waitFor();
    await page.getByRole('button', { name: /Insert.*Alt T/ }).waitFor();
    await page.keyboard.press('Alt+t');
    await expect.poll(async () => await target.inputValue()).toBe('译文%d');
    await untilStored(world, unit, '译文%d');
    await page.locator('.findings li.bad').waitFor({ state: 'detached' });
    await page.locator('.coloured.placeholder').getByText('%d', { exact: true }).waitFor();
    await expect.poll(() => page.url()).toContain(`unit=${unit.unit_id}`);
    expect(await editor.violations()).toEqual([]);
    expect([...editor.troubles, ...(await cspReports(page))]).toEqual([]);
  });

  it('names missing units before a task is submitted, and the outcome when none is missing', async () => {
    const world = shared();
    const destination = CONSOLE_FILES.skipped;
    const units = await world.units(destination);
    const editor = await openEditor(world, 'translate', { destination });
    const { page } = editor;
    const note = page.getByRole('region', { name: 'Submit for review', exact: true });
    const opener = page.getByRole('button', { name: 'Submit for review' });
    await opener.click();
    await note.getByText(`${units.length} units without a target.`).waitFor();
    expect(await note.getByRole('button', { name: /^Submit/ }).count()).toBe(0);
    expect(await editor.violations()).toEqual([]);
    await note.getByRole('button', { name: 'Show untranslated' }).click();
    await page.waitForURL('**state=untranslated**');
    await note.getByRole('button', { name: 'Close' }).click();
    await expect
      .poll(async () => await page.evaluate('document.activeElement?.textContent'))
      .toBe('Submit for review');

    for (const unit of units) {
      await store(world, 'translate', unit, unit.source_text);
      await untilStored(world, unit, unit.source_text);
    }
    const isFound = ({ translation }: ConsoleUnit): boolean => (translation?.findings ?? []).length > 0;
    const found = (await world.units(destination)).filter(isFound).length;
    expect(found).toBeGreaterThan(1);
    await opener.click();
    await note.getByText(`${units.length} drafts become translated and wait for a reviewer.`).waitFor();
    await note.getByText(`${found} units have findings that do not block.`).waitFor();
    await note.getByRole('button', { name: `Submit ${units.length} drafts` }).click();
    await page
      .getByRole('status')
      .getByText('The task was submitted for review.')
      .waitFor({ state: 'attached' });
    await note.waitFor({ state: 'detached' });
    const [task] = (await world.read('translation.tasks', { destination })).items;
    expect(task?.status).toBe('translated');
    expect(editor.troubles).toEqual([]);
  });

  it('can be used with the keyboard alone', async () => {
    const world = shared();
    const destination = CONSOLE_FILES.held;
    const units = await world.units(destination);
    const [first, second] = units;
    if (first === undefined || second === undefined) throw new Error('the file has no units');
    const editor = await openEditor(world, 'translate', { destination, unit: first });
    const { page, target } = editor;
    const { keyboard } = page;
    await keyboard.press('Alt+e');
    await keyboard.type('第一句');
    await keyboard.press('Control+Enter');
    await page
      .locator('.virtual-row[aria-selected="true"]')
      .getByText(second.source_text.slice(0, 8))
      .waitFor();
    await untilStored(world, first, '第一句');
    await keyboard.press('Alt+e');
    await keyboard.press('Alt+c');
    await expect.poll(async () => await target.inputValue()).toBe(second.source_text);
    await keyboard.press('Control+a');
    await keyboard.type('第二句');
    await keyboard.press('Control+s');
    await untilStored(world, second, '第二句');
    await keyboard.press('Alt+ArrowUp');
    await page.locator('.virtual-row[aria-selected="true"]').getByText('第一句').waitFor();
    await page.getByRole('listbox', { name: 'Units' }).focus();
    await keyboard.press('End');
    await page
      .getByText(units.at(-1)?.source_text.slice(0, 12) ?? '')
      .last()
      .waitFor();
    await keyboard.press('Enter');
    await expect.poll(async () => await page.evaluate('document.activeElement.id')).toBe('target');
    await page.getByRole('listbox', { name: 'Units' }).focus();
    await keyboard.press('?');
    await page.getByRole('dialog').getByText('Insert the next missing tag or placeholder').waitFor();
    await keyboard.press('Escape');
    expect(editor.troubles).toEqual([]);
  });

  it('opens the unit of a link wherever it is, and keeps it while the list scrolls', async () => {
    const world = shared();
    const destination = CONSOLE_FILES.drafts;
    const unit = await unitAt(world, destination, 280);
    const { page, target } = await openEditor(world, 'translate', { destination, unit });
    const selected = page.locator('.virtual-row[aria-selected="true"]');
    await selected.getByText('281', { exact: true }).waitFor();
    await target.fill('远处');
    await page.evaluate("document.querySelector('.unit-list').scrollTop = 0");
    await page.locator('.unit-row').getByText('1', { exact: true }).waitFor();
    await expect.poll(async () => await target.inputValue()).toBe('远处');
    await untilStored(world, unit, '远处');
  });

  it('shows the units of a state and those with a text, and moves among them', async () => {
    const world = shared();
    const destination = CONSOLE_FILES.drafts;
    const units = await world.units(destination);
    const [, , one, , , two] = units;
    if (one === undefined || two === undefined) throw new Error('the file has no units');
    await store(world, 'translate', one, '筛选一');
    await store(world, 'translate', two, '筛选二');
    const editor = await openEditor(world, 'translate', { destination });
    const { page, target } = editor;
    const rows = page.locator('.unit-row');
    await page.getByLabel('Text', { exact: true }).fill('筛选');
    await page.getByText(`2 found in all ${units.length} units.`).waitFor();
    await expect.poll(async () => await rows.locator('.unit-number').allTextContents()).toEqual(['3', '6']);
    await expect.poll(() => page.url()).toContain('q=');
    await rows.first().click();
    await until(async () => (await target.inputValue()) === '筛选一');
    await target.focus();
    await page.keyboard.press('Alt+ArrowDown');
    await until(async () => (await target.inputValue()) === '筛选二');
    await page.getByRole('combobox', { name: 'State' }).selectOption('Proofread');
    await page.getByText('No unit matches').waitFor();
    await expect.poll(async () => await target.inputValue()).toBe('筛选二');
    expect(await editor.violations()).toEqual([]);
    await editor.screenshot('editor-filter');
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await rows.nth(5).waitFor();
    expect(editor.troubles).toEqual([]);
  });

  it('suggests translations of a provider with their reasons, and stores none of them by itself', async () => {
    const answering = await startTranslationServer(libreTranslate((text) => `建议${text}`));
    const world = await startConsoleWorld({
      work: false,
      daemon: {
        translation: {
          provider: 'machine',
          providers: { machine: { kind: 'libretranslate', url: answering.url, allowHosts: ['127.0.0.1'] } },
        },
      },
    });
    const destination = CONSOLE_FILES.skipped;
    const [unit] = await world.units(destination);
    if (unit === undefined) throw new Error('the file has no units');
    const editor = await openEditor(world, 'translate', { destination, unit });
    const { page, target } = editor;
    await pressOn(page, page.getByRole('button', { name: 'Suggest a translation' }));
    const suggestion = page.locator('.suggestion');
    await suggestion.getByText('By machine. Nobody has read it.').waitFor();
    await suggestion.getByText('建议').first().waitFor();
    const untouched = async (): Promise<readonly unknown[]> =>
      (await world.units(destination)).map(({ translation }) => translation?.target_text ?? null);
    expect(new Set(await untouched())).toEqual(new Set([null]));
    await page.keyboard.press('Alt+0');
    await expect.poll(async () => await target.inputValue()).toContain('建议');
    await page.getByRole('button', { name: 'Suggest the next lines' }).click();
    await page.locator('.unit-row').getByText('suggested').first().waitFor();
    expect((await untouched()).slice(1)).toEqual((await untouched()).slice(1).map(() => null));
    expect(await editor.violations()).toEqual([]);
    await editor.screenshot('editor-suggestion');
    await page.setViewportSize(PHONE);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    expect(editor.troubles).toEqual([]);
  });

  it('says so when a search fails, and searches again', async () => {
    const world = shared();
    const destination = CONSOLE_FILES.drafts;
    const unit = await unitAt(world, destination, 270);
    const editor = await openEditor(world, 'translate', { destination });
    const { page, target } = editor;
    await page.route('**/parse/text-units?**limit=1000**', async (route) => await route.abort());
    await page.goto(`${world.url}#/translate-task/${await world.task(destination)}?unit=${unit.unit_id}`);
    await page.getByText('The search for the unit of this address failed.').waitFor();
    expect(await page.getByText('is no longer in this task').count()).toBe(0);
    await page.unroute('**/parse/text-units?**limit=1000**');
    await page.getByRole('button', { name: 'Search again' }).click();
    await page.locator('.virtual-row[aria-selected="true"]').getByText('271', { exact: true }).waitFor();
    await expect.poll(async () => await target.isEnabled()).toBe(true);
  });

  it('offers earlier translations, with a key', async () => {
    const world = shared();
    const destination = CONSOLE_FILES.leased;
    const units = await world.units(destination);
    const unit = units.find(({ source_text: source }) => !/[{%<[\n]/.test(source));
    if (unit === undefined) throw new Error('the file has no plain text');
    // What comes in a file is a candidate of the Translation Memory at once.
    await store(world, 'translate', unit, '记得的译文', { provider: 'file' });
    await store(world, 'translate', unit, '');
    const { page, target, saved } = await openEditor(world, 'translate', { destination, unit });
    await page.locator('.matches').getByText('记得的译文').waitFor();
    await page.keyboard.press('Alt+1');
    await expect.poll(async () => await target.inputValue()).toBe('记得的译文');
    // Nine matches have a key each, by their place.
    await page.route('**/admin/translation/memory/query?*', async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { matches: Array<{ record: object }> };
      const [match] = body.matches;
      const matches = Array.from({ length: 9 }, (_, place) => ({
        ...match,
        proposed_text: `译文${place + 1}`,
        record: { ...match?.record, record_id: `record-${place}`, target_text: `译文${place + 1}` },
      }));
      await route.fulfill({ response, json: { ...body, matches } });
    });
    await page.keyboard.press('Alt+ArrowDown');
    await page.keyboard.press('Alt+ArrowUp');
    await page.locator('.matches').getByText('译文9').waitFor();
    for (const place of [9, 8, 7, 6, 5, 4, 3, 2, 1]) {
      await page.keyboard.press(`Alt+${place}`);
      await expect.poll(async () => await target.inputValue()).toBe(`译文${place}`);
    }
    await saved.getByText(STORED).waitFor();
    await page.getByText('History').click();
    await page.locator('.history li').nth(2).waitFor();
  });

  it('shows both texts when someone else was faster, and stores the one that the person chooses', async () => {
    const world = shared();
    const destination = CONSOLE_FILES.stale;
    const [one, two] = [await unitAt(world, destination, 5), await unitAt(world, destination, 6)];
    const editor = await openEditor(world, 'translate', { destination, unit: one });
    const { page, target } = editor;
    await overtake(page, async () => await store(world, 'review', one, '别人的译文'));
    await target.fill('我的译文');
    const conflict = page.getByRole('alert').filter({ hasText: 'Someone else has changed this target' });
    await conflict.getByText('别人').waitFor();
    await page.locator('.unit-list').getByText('decide').waitFor();
    expect(await editor.violations()).toEqual([]);
    await editor.screenshot('editor-conflict');
    expect((await unitAt(world, destination, 5)).translation?.target_text).toBe('别人的译文');
    await conflict.getByRole('button', { name: 'Store mine' }).click();
    await untilStored(world, one, '我的译文');
    await conflict.waitFor({ state: 'detached' });

    await page.keyboard.press('Alt+ArrowDown');
    await page.locator('.source-text').getByText(two.source_text.slice(0, 6)).first().waitFor();
    await overtake(page, async () => await store(world, 'review', two, '别人的'));
    await target.fill('我的');
    await conflict.getByRole('button', { name: 'Take theirs' }).click();
    await expect.poll(async () => await target.inputValue()).toBe('别人的');
    await untilStored(world, two, '别人的');
    expect(editor.troubles).toEqual([]);
  });

  it('keeps the text while someone else holds the unit, and stores it anyway when asked to', async () => {
    const world = shared();
    const destination = CONSOLE_FILES.stale;
    const unit = await unitAt(world, destination, 9);
    await store(world, 'translate', unit, '开始', { worker_id: 'momoi', lease_seconds: 600 });
    const { page, target } = await openEditor(world, 'review', { destination, unit });
    await page
      .locator('.lease-notes')
      .getByText(/momoi works on it, \d+:\d\d left/)
      .waitFor();
    await target.fill('我的译文');
    const conflict = page.getByRole('alert').filter({ hasText: 'Someone else works on this unit' });
    await conflict.getByRole('button', { name: 'Try again' }).click();
    await conflict.getByRole('button', { name: 'Store mine anyway' }).click();
    await untilStored(world, unit, '我的译文');
  });

  it('lets a reviewer waive a finding with a reason, accept the target, and return it, with the keyboard alone', async () => {
    const world = shared();
    const destination = CONSOLE_FILES.glossary;
    const units = await world.units(destination);
    const at = units.findIndex(({ source_text: source }) => /<color=/.test(source));
    const unit = await unitAt(world, destination, at);
    await store(world, 'translate', unit, '没有标签');
    const { page, target, saved } = await openEditor(world, 'review', { destination, unit });
    // The finding marks its place in the target, behind the letters.
    await page.locator('.findings li.bad').first().waitFor();
    await tabTo(page, page.getByRole('radio', { name: 'Translate' }));
    await page.keyboard.press('ArrowRight');
    await pressOn(page, page.getByRole('button', { name: /^Accept, next/ }));
    await page.getByRole('alert').filter({ hasText: 'blocking findings' }).waitFor();
    await pressOn(page, page.getByRole('button', { name: /Waive/ }).first());
    await typeInto(page, page.getByLabel(/^Reason, as rin/), 'the line is plain on purpose');
    await pressOn(page, page.getByRole('button', { name: 'Waive the finding “tag mismatch”' }));
    await page.locator('.decisions').getByText('the line is plain on purpose').waitFor();
    // The next decision does not wait until the unit is read again.
    const readings = Promise.withResolvers<void>();
    await page.route('**/admin/parse/text-units**', async (route) => {
      await readings.promise;
      await route.continue();
    });
    await pressOn(page, page.getByRole('button', { name: /^Accept, next/ }));
    // Shown for some seconds only.
    await page.getByText('No later unit needs work.').first().waitFor();
    await until(async () => (await unitAt(world, destination, at)).translation?.state === 'proofread');
    await pressOn(page, page.getByRole('button', { name: 'Return …' }));
    await typeInto(page, page.getByLabel(/^Reason, as rin/), 'the colour matters');
    await pressOn(page, page.getByRole('button', { name: 'Return to the translator' }));
    await until(async () => (await unitAt(world, destination, at)).translation?.state !== 'proofread');
    readings.resolve();
    await target.fill('<color=#33ccff>');
    await saved.getByText(STORED).waitFor();
  });

  it('has the list and the unit as two steps on a phone', async () => {
    const world = shared();
    const destination = CONSOLE_FILES.translated;
    const unit = await unitAt(world, destination, 1);
    const editor = await openEditor(world, 'translate', { destination, look: { viewport: PHONE } });
    const { page, target, saved } = editor;
    await page.locator('.unit-row').nth(1).waitFor();
    expect(await editor.violations()).toEqual([]);
    await editor.screenshot('editor-phone-list');
    await page.locator('.unit-row').nth(1).click();
    await target.fill('手机');
    await saved.getByText(STORED).waitFor();
    expect(await editor.violations()).toEqual([]);
    await editor.screenshot('editor-phone-unit');
    const above = await page.evaluate(
      `document.querySelector('.unit-pane').getBoundingClientRect().top + scrollY`,
    );
    expect(above).toBeLessThanOrEqual(120);
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
    expect(overflow).toBeLessThanOrEqual(0);
    await page.getByRole('button', { name: '‹ All units' }).click();
    await page.locator('.unit-list').getByText('手机').waitFor();
    await untilStored(world, unit, '手机');
  });

  it('keeps a typed text over a reload while the server cannot be reached', async () => {
    const world = shared();
    const destination = CONSOLE_FILES.proofread;
    const unit = await unitAt(world, destination, 2);
    const { page, context, target, saved } = await openEditor(world, 'translate', { destination, unit });
    const glossary = page.locator('details').filter({ hasText: 'Glossary' });
    const known = glossary.getByText('No term of the Glossary').or(glossary.locator('.terms'));
    await known.waitFor();
    await context.setOffline(true);
    await target.fill('还没有保存');
    await saved.getByText('Not stored yet').waitFor();
    await glossary.getByText('The server does not answer.').waitFor();
    // The panels recover by themselves, without another key.
    await page.route('**/admin/control/**', async (route) => await route.abort());
    await context.setOffline(false);
    await known.waitFor();
    await page.reload();
    await logIn({ page }, consoleToken('translate'));
    await page.locator('.unit-list').getByText('not stored').waitFor();
    await expect.poll(async () => await target.inputValue()).toBe('还没有保存');
    await page.unroute('**/admin/control/**');
    await untilStored(world, unit, '还没有保存');
    await page.getByText('All stored').waitFor();
  });

  it('keeps a typed text when the token is refused, and stores it after the next login', async () => {
    const world = shared();
    const destination = CONSOLE_FILES.proofread;
    const unit = await unitAt(world, destination, 5);
    const { page, target } = await openEditor(world, 'translate', { destination, unit });
    const file = await tokenFile(world, 'kana');
    const token = await readFile(file, 'utf8');
    await writeFile(file, 'another-token-7b1e90\n');
    await target.fill('登录之前');
    await page.getByLabel('Access token').waitFor();
    await writeFile(file, token);
    const headers = { authorization: `Bearer ${token.trim()}` };
    await until(async () => (await fetch(`${world.system.serverUrl}/admin/`, { headers })).ok);
    await logIn({ page }, token.trim());
    await expect.poll(async () => await target.inputValue()).toBe('登录之前');
    await untilStored(world, unit, '登录之前');
  });

  it('sends open texts before the token is forgotten, and asks before another token sends the rest', async () => {
    const world = shared();
    const destination = CONSOLE_FILES.proofread;
    const [one, two] = [await unitAt(world, destination, 10), await unitAt(world, destination, 11)];
    const editor = await openEditor(world, 'translate', { destination, unit: one });
    const { page, target, saved } = editor;
    const leave = async (): Promise<void> => {
      await page.goto(`${world.url}#/settings`);
      await page.locator('main').getByRole('button', { name: 'Log out' }).click();
      await page.getByLabel('Access token').waitFor();
    };
    await target.fill('离开之前');
    await leave();
    await untilStored(world, one, '离开之前');
    expect(await page.getByText('The server rejects').count()).toBe(0);

    await logIn(editor, consoleToken('translate'));
    await page.goto(`${world.url}#/translate-task/${await world.task(destination)}?unit=${two.unit_id}`);
    await page.locator('.source-text').getByText(two.source_text.slice(0, 5)).first().waitFor();
    await page.route('**/admin/control/**', async (route) => await route.abort());
    await target.fill('香菜的译文');
    await saved.getByText('Not stored yet').waitFor();
    await leave();
    await page.getByText('One text is not on the server.').waitFor();
    await page.unroute('**/admin/control/**');
    // Another person opens any page of the console in the same browser.
    await page.goto(`${world.url}#/overview`);
    await page.reload();
    await logIn(editor, consoleToken('review'));
    await page.getByRole('link', { name: '1 to decide' }).click();
    const conflict = page.getByRole('alert').filter({ hasText: 'This text was typed with another token' });
    await conflict.getByText('typed with the token kana').waitFor();
    await expect.poll(async () => await target.isDisabled()).toBe(true);
    expect(await editor.violations()).toEqual([]);
    expect((await unitAt(world, destination, 11)).translation?.target_text ?? null).toBe(null);
    await leave();
    await logIn(editor, consoleToken('translate'));
    const stored = await untilStored(world, two, '香菜的译文');
    expect(stored.translation?.author?.token_id).toBe('kana');
    expect(editor.troubles).toEqual([]);
  });

  it('lets a token that only reviews accept and return, and one that only translates write', async () => {
    const world = shared();
    const destination = CONSOLE_FILES.translated;
    const units = await world.units(destination);
    const at = units.findIndex(({ source_text: source }) => !/[{%<[\n]/.test(source));
    const unit = await unitAt(world, destination, at);
    await store(world, 'translate', unit, '好的');
    const { page, target } = await openEditor(world, 'proofread', { destination, unit });
    await page.getByText('Your token may not change translations.').waitFor();
    await expect.poll(async () => await target.isDisabled()).toBe(true);
    await page.locator('fieldset').getByText('Review', { exact: true }).click();
    await page.getByRole('button', { name: 'Return …' }).click();
    await page.getByLabel(/^Reason, as mei/).fill('not yet');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('form', { name: 'Return to the translator' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: /^Accept, next/ }).click();
    await until(async () => (await unitAt(world, destination, at)).translation?.state === 'proofread');
    // There is nothing to accept in a unit without a target.
    const empty = (await world.units(CONSOLE_FILES.glossary)).find(
      ({ translation }) => translation?.state === 'untranslated',
    );
    const review = await openEditor(world, 'proofread', {
      destination: CONSOLE_FILES.glossary,
      unit: empty,
    });
    await review.page.locator('fieldset').getByText('Review', { exact: true }).click();
    const accept = review.page.getByRole('button', { name: /^Accept, next/ });
    await accept.waitFor();
    expect([empty?.translation?.state, await accept.isDisabled()]).toEqual(['untranslated', true]);
    const other = await openEditor(world, 'translate', { destination, unit });
    await expect.poll(async () => await other.target.isEnabled()).toBe(true);
    expect(await other.page.getByRole('radio', { name: 'Review' }).count()).toBe(0);
  });

  it('loses no text when the server is killed in the middle of the work', async () => {
    const world = shared();
    const destination = CONSOLE_FILES.proofread;
    const [one, two] = [await unitAt(world, destination, 7), await unitAt(world, destination, 8)];
    const { page, target, saved } = await openEditor(world, 'translate', { destination, unit: one });
    await target.fill('第一');
    await world.system.server.kill();
    await target.fill('第一，更多');
    await saved.getByText('Not stored yet').waitFor();
    await page.keyboard.press('Alt+ArrowDown');
    await page.locator('.source-text').getByText(two.source_text.slice(0, 5)).first().waitFor();
    await target.fill('第二');
    await page.getByText('2 not stored yet').waitFor();
    await world.system.startServer();
    await page.getByText('All stored').waitFor();
    await untilStored(world, one, '第一，更多');
    await untilStored(world, two, '第二');
  });

  it('shows hostile texts as text, also long ones and those that run from right to left', async () => {
    const world = shared();
    const hostile = [
      '<img src=x onerror=alert(1)>あ',
      '<script>alert(2)</script>い',
      '"><svg/onload=alert(3)>う {0} \u202eevil\u202c \u200b',
      LONG_TEXT,
      'שלום {name} עולם お',
    ];
    const rows = hostile.map((TextJp, at) => ({ Id: at + 1, Speaker: '<b onclick=alert(9)>か</b>', TextJp }));
    const [, second] = CONSOLE_RELEASES;
    const destination = 'Scenario/Hostile.json';
    const files = new Map([
      ...consoleRelease(second),
      [destination, Buffer.from(JSON.stringify({ DataList: rows }))] as const,
    ]);
    await world.offer(second, files);
    const units = await world.units(destination);
    expect(units.map(({ source_text: source }) => source)).toEqual(hostile);
    const editor = await openEditor(world, 'translate', { destination, unit: units[0] });
    const { page, target, saved } = editor;
    for (const unit of units) {
      await page.goto(`${world.url}#/translate-task/${await world.task(destination)}?unit=${unit.unit_id}`);
      await page.locator('.source-text').getByText(unit.source_text.slice(-1)).first().waitFor();
      await target.fill(`${unit.source_text}\u202e مرحبا <iframe srcdoc="x">`);
      await saved.getByText(STORED).waitFor();
      await page.locator('.target-facts').getByText('invisible character').first().waitFor();
    }
    const long = units.find(({ source_text: source }) => source === LONG_TEXT);
    await page.goto(`${world.url}#/translate-task/${await world.task(destination)}?unit=${long?.unit_id}`);
    await until(async () => (await target.inputValue()).startsWith(LONG_TEXT.slice(0, 100)));
    await target.fill(LONG_TEXT);
    await saved.getByText(STORED).waitFor();
    // The caret stands in the middle, so that all that follows it moves with each key.
    await page.evaluate("document.querySelector('#target').setSelectionRange(5000, 5000)");
    const typed = 'これは長い文です、とても長い文です';
    const { longestTaskMs, busyMs } = await measureTasks(page, async () => {
      for (const letter of typed) await page.keyboard.type(letter);
      await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))');
    });
    expect(longestTaskMs).toBeLessThan(100);
    expect(busyMs / typed.length).toBeLessThan(100);
    await editor.screenshot('editor-hostile');
    const made =
      'document.querySelectorAll("#app script, #app iframe, #app [onerror], #app [onload], #app [onclick]").length';
    expect(await page.evaluate(made)).toBe(0);
    expect(await editor.violations()).toEqual([]);
    expect([...editor.troubles, ...(await cspReports(page))]).toEqual([]);
  });
});

/** The file of the token of a person. */
async function tokenFile({ system }: ConsoleWorld, id: string): Promise<string> {
  const { auth } = parse(await readFile(system.serverConfiguration, 'utf8')) as {
    readonly auth: { readonly tokens: ReadonlyArray<{ readonly id: string; readonly file: string }> };
  };
  const found = auth.tokens.find((each) => each.id === id);
  if (found === undefined) throw new Error(`no token has the id ${id}`);
  return found.file;
}
