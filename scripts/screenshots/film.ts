import type { Page } from 'playwright-core';
import { editorAddress } from '../../src/console/text/addresses.ts';
import { translateDemoLine } from '../../demo/game/translate-line.ts';
import { CONSOLE_FILES } from '../../test/support/console-release.ts';
import type { ConsoleUnit, ConsoleWorld } from '../../test/support/console-world.ts';
import { until } from '../../test/support/until.ts';
import type { Picture } from './pictures.ts';

/** One line from a question to its publication, with a translator, a reviewer and a lead. In this order. */
export const FILM: Readonly<Record<string, Picture>> = {
  'film-1': { person: 'translate', hash: editorOfLine, prepare: ask },
  'film-2': { person: 'review', hash: () => '#/translate', prepare: seeQuestion },
  'film-3': { person: 'translate', hash: editorOfLine, prepare: translate },
  'film-4': { person: 'review', hash: reviewOfLine, prepare: readLine },
  'film-5': { person: 'publish', hash: () => '#/publish', prepare: tryPublication },
  'film-6': { person: 'publish', hash: () => '#/publish', prepare: publish },
};

/** A line with a term of the Glossary, in a file that nobody has translated. */
async function lineOf({ units }: ConsoleWorld): Promise<ConsoleUnit> {
  const lines = await units(CONSOLE_FILES.pending);
  const line = lines.slice(2).find(({ source_text: text }) => /ロボット|司令部/.test(text)) ?? lines[2];
  if (line === undefined) throw new Error(`${CONSOLE_FILES.pending} has no lines`);
  return line;
}

async function editorOfLine(world: ConsoleWorld): Promise<string> {
  return editorAddress(await world.task(CONSOLE_FILES.pending), { unit: (await lineOf(world)).unit_id });
}

async function reviewOfLine(world: ConsoleWorld): Promise<string> {
  const task = await world.task(CONSOLE_FILES.pending);
  return `#/review?${new URLSearchParams({ status: 'in_progress', task, scope: 'drafts' }).toString()}`;
}

async function ask(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Ask …' }).click();
  await page.keyboard.type('is 先輩 a girl or a boy? The word depends on it.');
  await page.getByRole('button', { name: 'Ask', exact: true }).click();
  await page.getByText(/Remark: kana:/).waitFor();
}

async function seeQuestion(page: Page, world: ConsoleWorld): Promise<void> {
  await page
    .getByRole('main')
    .getByText(/^kana: .*it\.$/)
    .first()
    .waitFor();
  // The reviewer answers in the same place before the next picture.
  const answer = 'rin: a girl, so 学姐.';
  await world.act('review', 'translation-task-update', {
    task_id: await world.task(CONSOLE_FILES.pending),
    translation_results: [],
    reason: answer,
  });
}

async function translate(page: Page, world: ConsoleWorld): Promise<void> {
  await page.getByText('Remark: rin:').waitFor();
  const target = translateDemoLine((await lineOf(world)).source_text) ?? '';
  await page.getByRole('textbox', { name: 'Target' }).fill(target);
  await page.keyboard.press('Control+s');
  await page
    .getByText(/Stored .* as a draft/)
    .first()
    .waitFor();
}

async function readLine(page: Page): Promise<void> {
  const waiting = page.getByRole('region', { name: 'Units that wait' });
  await waiting.getByRole('button', { name: /^More/ }).first().click();
  await waiting.getByText('It had no other target before.').waitFor();
  await waiting
    .getByRole('checkbox', { name: /^Select/ })
    .first()
    .check();
}

async function accept(world: ConsoleWorld): Promise<void> {
  const { unit_id, source_text, translation } = await lineOf(world);
  const task_id = await world.task(CONSOLE_FILES.pending);
  // The translator has left the editor: the claim ends now and not after two minutes.
  await world.act('translate', 'translation-task-update', {
    task_id,
    translation_results: [],
    args: [`expect=${unit_id}:${translation?.revision ?? 0}`],
    worker_id: 'kana',
    lease_seconds: 1,
  });
  const decision = {
    task_id,
    status: 'proofread',
    reviewer: 'rin',
    translation_results: [{ unit_id, source_text, translated_text: translateDemoLine(source_text) }],
  };
  await until(async () => await world.act('review', 'translation-proofread', decision).catch(() => null));
}

async function tryPublication(page: Page, world: ConsoleWorld): Promise<void> {
  // The picture before this one shows the line that is accepted here.
  await accept(world);
  await tryRelease(page);
}

async function tryRelease(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Start a dry run' }).click();
  await page.getByText('What changes for readers').first().waitFor();
  // The bar at the top stays, so the panel begins below it.
  await page.evaluate(`{
    const panel = [...document.querySelectorAll('.panel')].find((each) => each.textContent.includes('Lowest state'));
    scrollTo(0, panel.getBoundingClientRect().top + scrollY - 56);
  }`);
}

async function publish(page: Page): Promise<void> {
  await tryRelease(page);
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await page.locator('.note.ok').getByText('Published.').waitFor();
  await page.mouse.wheel(0, 200);
}
