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
    const [, changed] = units;
    if (changed === undefined) throw new Error('the file has no units');
    await send(world, 'translate', [changed], {}, (unit) => `${targetOf(unit)}～`);
    await page.getByRole('button', { name: 'Accept 3', exact: true }).click();
    await page.getByText('Nothing was changed').waitFor();
    await page.locator('.waiting-units').getByText('～').first().waitFor();
    await page.getByRole('button', { name: 'Accept 2', exact: true }).waitFor();
    const boxes = '[...document.querySelectorAll(".waiting-units input")].map(({ checked }) => checked)';
    await expect.poll(async () => await page.evaluate(boxes)).toEqual([true, false, true]);
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
    await page.getByLabel(`All ${units.length}`).check();
    await page.getByRole('button', { name: `Accept ${units.length}`, exact: true }).click();
    await page.getByText('No task to review here').waitFor();
    expect(opened.troubles).toEqual([]);
  });
});
