import { describe, expect, it } from 'vitest';
import { translateDemoLine } from '../../../demo/game/translate-line.ts';
import { cspReports, openPage, PHONE } from '../../support/browser.ts';
import { CONSOLE_FILES } from '../../support/console-release.ts';
import {
  consoleToken,
  startConsoleWorld,
  type ConsoleUnit,
  type ConsoleWorld,
} from '../../support/console-world.ts';
import { logIn } from '../../support/console-system.ts';
import { pressOn, typeInto } from '../../support/keyboard.ts';
import { sharedFixture } from '../../support/shared-fixture.ts';
import { hasTool } from '../../support/tools.ts';
import { until } from '../../support/until.ts';

/** A target that nothing blocks. */
function targetOf({ source_text: source }: ConsoleUnit): string {
  const line = translateDemoLine(source);
  if (line === null) throw new Error(`no translation of "${source}"`);
  return line;
}

async function send(
  world: ConsoleWorld,
  person: 'translate' | 'review',
  units: readonly ConsoleUnit[],
  fields: object = {},
  text: (unit: ConsoleUnit) => string = targetOf,
): Promise<void> {
  await world.act(person, 'translation-task-update', {
    task_id: await world.task(units[0]?.destination ?? ''),
    translation_results: units.map((unit) => ({
      unit_id: unit.unit_id,
      source_text: unit.source_text,
      translated_text: text(unit),
    })),
    ...fields,
  });
}

describe.skipIf(!hasTool('chromium'))('the page of reviews', () => {
  const shared = sharedFixture(
    async (atEnd) =>
      await startConsoleWorld({
        atEnd,
        work: false,
        daemon: { translation: { review: { fourEyes: true } } },
      }),
  );

  it('accepts and returns units together with the keyboard alone, and says at each unit why it was refused', async () => {
    const world = shared();
    const destination = CONSOLE_FILES.proofread;
    const units = await world.units(destination);
    const [first, own, ...others] = units;
    if (first === undefined || own === undefined) throw new Error('the file has no units');
    await send(world, 'translate', [first], {}, (unit) => `旧${targetOf(unit)}`);
    await send(world, 'review', [own]);
    await send(world, 'translate', [first, ...others], { status: 'translated' });
    const held = (await world.units(CONSOLE_FILES.held)).slice(0, 1);
    await send(world, 'translate', held);
    await world.act('review', 'translation-proofread', {
      task_id: await world.task(CONSOLE_FILES.held),
      status: 'pending',
      reviewer: 'rin',
      reason: 'the tone is too formal',
      translation_results: held.map((unit) => ({
        unit_id: unit.unit_id,
        source_text: unit.source_text,
        translated_text: targetOf(unit),
      })),
      args: held.map(({ unit_id: id }) => `hold=${id}`),
    });

    const opened = await openPage();
    const { page } = opened;
    await page.goto(world.url);
    await logIn(opened, consoleToken('review'));
    await page.goto(`${world.url}#/review`);
    await page.getByText('the tone is too formal').first().waitFor();
    await pressOn(page, page.getByRole('button', { name: new RegExp(destination) }));
    const rows = page.locator('.waiting-units > li');
    await rows.nth(units.length - 1).waitFor();
    await page.keyboard.press('j');
    await rows.first().getByText('Before and now:').waitFor();
    expect(await rows.first().locator('.diff-text del').textContent()).toContain('旧');
    expect(await opened.violations()).toEqual([]);
    await opened.screenshot('review');

    await pressOn(page, page.getByLabel(`All ${units.length}`), 'Space');
    await pressOn(page, page.getByRole('button', { name: `Accept ${units.length}`, exact: true }));
    const refusal = page.locator('.decision-bar + .note').getByText('Nothing was changed');
    await refusal.waitFor();
    await rows.nth(1).locator('.waiting-refusal').waitFor();
    await expect.poll(async () => await page.locator('.waiting-refusal').count()).toBe(1);
    await pressOn(page, page.getByRole('button', { name: 'Leave out 1' }));
    await page.keyboard.press('Control+Enter');
    await rows.nth(1).waitFor({ state: 'detached' });
    await expect.poll(async () => await rows.count()).toBe(1);

    await pressOn(page, rows.first().getByRole('checkbox'), 'Space');
    await pressOn(page, page.getByRole('button', { name: 'Return 1 …' }));
    await typeInto(page, page.getByLabel(/^Reason, as rin/), 'somebody else must accept it');
    // The keys of a form send the form: nothing is accepted.
    await page.keyboard.press('Control+Enter');
    await page.getByText('No unit of this task waits').waitFor();
    await until(async () => {
      const states = (await world.units(destination)).map(({ translation }) => translation?.state);
      return (
        states.filter((state) => state === 'proofread').length === units.length - 1 && states[1] === 'draft'
      );
    });
    expect([...opened.troubles, ...(await cspReports(page))]).toEqual([]);
  });

  it('takes the ticks away from targets that changed after they were read', async () => {
    const world = shared();
    const destination = CONSOLE_FILES.glossary;
    const units = (await world.units(destination)).slice(0, 3);
    await send(world, 'translate', units);
    const opened = await openPage();
    const { page } = opened;
    await page.goto(world.url);
    await logIn(opened, consoleToken('review'));
    await page.goto(`${world.url}#/review?task=${await world.task(destination)}&scope=drafts`);
    await page.getByLabel('All 3').check();
    await page.getByRole('button', { name: /^More/ }).nth(1).click();
    const correction = page.getByLabel('Target, with your corrections');
    await correction.fill('my own words');
    const [, changed] = units;
    if (changed === undefined) throw new Error('the file has no units');
    await send(world, 'translate', [changed], {}, (unit) => `${targetOf(unit)}～`);
    await page.getByRole('button', { name: 'Accept 3', exact: true }).click();
    await page.getByText('Nothing was changed').waitFor();
    await page.locator('.waiting-units').getByText('～').first().waitFor();
    // What the reviewer has typed is not lost with the old target.
    await page.getByText('Somebody has changed the target since you began').waitFor();
    expect(await correction.inputValue()).toBe('my own words');
    await page.getByRole('button', { name: 'Accept 2', exact: true }).waitFor();
    const boxes = '[...document.querySelectorAll(".waiting-units input")].map(({ checked }) => checked)';
    await expect.poll(async () => await page.evaluate(boxes)).toEqual([true, false, true]);
  });

  it('accepts units of several files together, those on hold, and keeps the files that refuse', async () => {
    const world = shared();
    const files = [CONSOLE_FILES.leased, CONSOLE_FILES.stale];
    for (const destination of files) {
      const units = (await world.units(destination)).slice(-3);
      await send(world, 'translate', units);
      await world.act('review', 'translation-task-update', {
        task_id: await world.task(destination),
        translation_results: [],
        args: units.map(({ unit_id: id }) => `hold=${id}`),
      });
    }
    const opened = await openPage();
    const { page } = opened;
    await page.goto(world.url);
    await logIn(opened, consoleToken('review'));
    await page.goto(`${world.url}#/review`);
    await page.getByRole('button', { name: /^Review all \d+ units on hold$/ }).click();
    const rows = page.locator('.waiting-units > li');
    const ours = rows.filter({ hasText: new RegExp(files.join('|')) });
    await expect.poll(async () => await ours.count()).toBe(6);
    // Somebody changes a text of one file meanwhile: only that file refuses.
    for (const row of await ours.all()) await row.getByRole('checkbox').check();
    const [, stale = ''] = files;
    const changed = (await world.units(stale)).slice(-1);
    await send(world, 'translate', changed, {}, (unit) => `${targetOf(unit)}～`);
    await page.getByRole('button', { name: 'Accept 6', exact: true }).click();
    await page.getByText('3 units were reviewed, 3 units were not').waitFor();
    await expect.poll(async () => await ours.count()).toBe(3);
    expect(await opened.violations()).toEqual([]);
    await opened.screenshot('review-held');
    const heldOf = async (destination: string): Promise<number> =>
      (await world.units(destination)).filter(({ translation }) => (translation?.hold ?? null) !== null)
        .length;
    expect([await heldOf(files[0] ?? ''), await heldOf(stale)]).toEqual([0, 3]);
    await page.setViewportSize(PHONE);
    await page.getByRole('button', { name: '‹ All tasks' }).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    expect(await opened.violations()).toEqual([]);
  });

  it('accepts repetitions in a file that the acceptance of another file has written again', async () => {
    const world = shared();
    const lines = await world.units(CONSOLE_FILES.published);
    const others = await world.units(CONSOLE_FILES.drafts);
    const isSame = (one: ConsoleUnit, other: ConsoleUnit): boolean =>
      one.source_text === other.source_text && one.speaker === other.speaker;
    const line = lines.find((each) => others.some((other) => isSame(each, other)));
    if (line === undefined) throw new Error('the files have no text in common');
    await send(world, 'translate', [line]);
    const repetitions = async (): Promise<readonly ConsoleUnit[]> =>
      [...(await world.units(CONSOLE_FILES.published)), ...(await world.units(CONSOLE_FILES.drafts))].filter(
        (each) => isSame(each, line),
      );
    await until(async () => (await repetitions()).every(({ translation }) => translation?.state === 'draft'));
    const opened = await openPage();
    const { page } = opened;
    await page.goto(world.url);
    await logIn(opened, consoleToken('review'));
    await page.goto(`${world.url}#/review?task=all&status=in_progress`);
    const files = `${CONSOLE_FILES.published}|${CONSOLE_FILES.drafts}`;
    const ours = page.locator('.waiting-units > li').filter({ hasText: new RegExp(files) });
    const all = (await repetitions()).length;
    await expect.poll(async () => await ours.count()).toBe(all);
    for (const row of await ours.all()) await row.getByRole('checkbox').check();
    await page.getByRole('button', { name: `Accept ${all}`, exact: true }).click();
    await page.getByText(`${all} units were accepted.`).first().waitFor();
    const states = (await repetitions()).map(({ translation }) => translation?.state);
    expect(new Set(states)).toEqual(new Set(['proofread']));
    expect(opened.troubles).toEqual([]);
  });

  it('brings a question of a translator to those who open the file, until it is settled', async () => {
    const world = shared();
    const withReason = async (): Promise<number> =>
      (await world.read('translation.tasks', { has_reason: 'true' })).total;
    // Other tests of this file return texts, with their reasons.
    const before = await withReason();
    const asking = await openPage();
    await asking.page.goto(world.url);
    await logIn(asking, consoleToken('translate'));
    await asking.page.goto(`${world.url}#/translate-task/${await world.task(CONSOLE_FILES.blocked)}`);
    await asking.page.getByRole('button', { name: 'Ask …' }).click();
    await asking.page.getByLabel('Your question about this file, as kana').fill('is it a stone or a gem?');
    await asking.page.keyboard.press('Control+Enter');
    await asking.page.getByText('Remark: kana: is it a stone or a gem?').waitFor();
    expect(await asking.violations()).toEqual([]);

    const { page, troubles } = await openPage();
    await page.goto(world.url);
    await logIn({ page }, consoleToken('review'));
    await page.goto(`${world.url}#/translate`);
    expect(await withReason()).toBe(before + 1);
    await page.getByText(/^[0-9]+ tasks? ha(?:s|ve) a remark$/).waitFor();
    await page.locator('.needs-you').getByRole('link', { name: CONSOLE_FILES.blocked }).click();
    // An answer continues the question.
    await page.getByRole('button', { name: 'Ask …' }).click();
    const answer = page.getByLabel('Your question about this file, as rin');
    await expect
      .poll(async () => await answer.inputValue())
      .toMatch(/^kana: is it a stone or a gem\?\nrin: /);
    await answer.press('Control+End');
    await answer.pressSequentially('a gem');
    await page.keyboard.press('Control+Enter');
    await page.getByText(/Remark: kana: is it a stone or a gem\?\s+rin: .*a gem/).waitFor();
    await page.getByRole('button', { name: 'Settled' }).click();
    await page.getByText('Remark: kana').waitFor({ state: 'detached' });
    expect(await withReason()).toBe(before);
    // Why a task is skipped is no remark.
    const skipped = await world.task(CONSOLE_FILES.skipped);
    await world.act('translate', 'translation-task-update', {
      task_id: skipped,
      status: 'skipped',
      reason: 'nobody reads it',
    });
    await page.goto(`${world.url}#/translate-task/${skipped}`);
    await page.getByText('Reason: nobody reads it').waitFor();
    const buttons = page.locator('.editor-head').getByRole('button', { name: /^(?:Ask …|Settled)$/ });
    expect(await buttons.count()).toBe(0);
    expect([...asking.troubles, ...troubles]).toEqual([]);
  });

  it('shows who may not review that, and fits a phone', async () => {
    const world = shared();
    const destination = CONSOLE_FILES.leased;
    await send(world, 'translate', (await world.units(destination)).slice(0, 5));
    const opened = await openPage({ viewport: PHONE, colorScheme: 'dark' });
    const { page } = opened;
    await page.goto(world.url);
    await logIn(opened, consoleToken('translate'));
    await page.goto(`${world.url}#/review?task=${await world.task(destination)}&scope=drafts`);
    await page.getByText('Your token may read this, and may not review.').waitFor();
    await page.locator('.waiting-units > li').first().waitFor();
    expect(await page.getByRole('button', { name: /^Accept/ }).count()).toBe(0);
    expect(await page.locator('main').getByRole('checkbox').count()).toBe(0);
    expect(await opened.violations()).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
  });
});

describe.skipIf(!hasTool('chromium'))('text that was published before a review', () => {
  it('waits in Review under the status Published until somebody has accepted it', async () => {
    const world = await startConsoleWorld({
      work: false,
      daemon: { localized: { minState: 'translated', auto: false } },
    });
    const destination = CONSOLE_FILES.proofread;
    const units = await world.units(destination);
    await send(world, 'translate', units, { status: 'translated' });
    const body = { from_worker: true, force: true, reviewer: 'lead', reason: 'first texts' };
    const { status } = await world.ended(await world.act('publish', 'localized-publish', body));
    expect(status).toBe('succeeded');
    await until(async () => {
      const [task] = (await world.read('translation.tasks', { destination })).items;
      return task?.status === 'published';
    });

    const opened = await openPage();
    const { page } = opened;
    await page.goto(world.url);
    await logIn(opened, consoleToken('review'));
    await page.goto(`${world.url}#/review`);
    await page.getByRole('link', { name: '1 published task', exact: true }).click();
    await expect.poll(() => new URL(page.url()).hash).toBe('#/review?status=published');
    await page.getByRole('button', { name: new RegExp(destination) }).waitFor();
    // A sample of them is read, and then all are accepted.
    const rows = page.locator('.waiting-units > li');
    await page.getByLabel('Sample of 10 %').check();
    await expect.poll(async () => await rows.count()).toBe(2);
    await page.getByRole('button', { name: `Select all ${units.length}`, exact: true }).click();
    await page.getByRole('button', { name: `Accept ${units.length}`, exact: true }).click();
    await page.getByText('No task to review here').waitFor();

    // A target is corrected where it is read.
    const [other] = await world.units(CONSOLE_FILES.glossary);
    if (other === undefined) throw new Error('the file has no units');
    await send(world, 'translate', [other]);
    await page.goto(`${world.url}#/review?task=${await world.task(other.destination)}&scope=drafts`);
    await rows.first().getByRole('button', { name: /^More/ }).click();
    const field = page.getByLabel('Target, with your corrections');
    const corrected = `${await field.inputValue()}～`;
    await field.fill(corrected);
    expect(await opened.violations()).toEqual([]);
    await opened.screenshot('review-correct');
    await page.keyboard.press('Control+Enter');
    await page.getByText('No unit of this task waits').waitFor();
    const [accepted] = await world.units(other.destination);
    expect(accepted?.translation).toMatchObject({ target_text: corrected, state: 'proofread' });
    expect(opened.troubles).toEqual([]);
  });
});
