import { rm } from 'node:fs/promises';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { CONSOLE_FILES, CONSOLE_RELEASES } from '../../test/support/console-release.ts';
import type { ConsolePerson, ConsoleWorld } from '../../test/support/console-world.ts';
import { FILM } from './film.ts';
import { editorAddress, taskAddress } from '../../src/console/text/addresses.ts';

/** A picture: the address of its page, and how it looks. */
export interface Picture {
  readonly hash: (world: ConsoleWorld) => string | Promise<string>;
  readonly isDark?: boolean;
  readonly isPhone?: boolean;
  /** Whose token it is; the one that may do everything by default. */
  readonly person?: ConsolePerson;
  /** Brings the page into the state of the picture. */
  readonly prepare?: (page: Page, world: ConsoleWorld) => Promise<void>;
}

/** Pictures by the name of their files, in the order in which they are taken: the last one damages the release. */
export const PICTURES: Readonly<Record<string, Picture>> = {
  overview: { hash: () => '#/overview' },
  'overview-dark': { hash: () => '#/overview', isDark: true },
  tasks: { hash: () => '#/tasks' },
  task: { hash: lastSync },
  schedules: { hash: () => '#/schedules' },
  diagnostics: { hash: () => '#/diagnostics' },
  releases: { hash: () => '#/releases' },
  difference: { hash: () => compareAddress(), prepare: showDifference },
  form: { hash: () => '#/releases', prepare: tryCleanup },
  palette: { hash: () => '#/overview', prepare: async (page) => await search(page, 'ロボット') },
  queue: { hash: () => '#/translate' },
  editor: { hash: changedUnit },
  'editor-dark': { hash: faultyUnit, isDark: true },
  review: { hash: () => '#/review' },
  glossary: { hash: () => '#/glossary' },
  memory: { hash: () => `#/memory?text=${encodeURIComponent('先生、おはようございます。')}` },
  publish: { hash: () => '#/publish', prepare: previewRollback },
  actions: { hash: () => '#/actions' },
  'overview-phone': { hash: () => '#/overview', isPhone: true },
  'tasks-phone': { hash: () => '#/tasks', isDark: true, isPhone: true },
  ...FILM,
  incident: { hash: () => '#/overview', prepare: damage },
};

async function lastSync({ read }: ConsoleWorld): Promise<string> {
  const task = (await read('task.list')).items.find(({ kind }) => kind === 'sync');
  if (task === undefined) throw new Error('there is no sync');
  return taskAddress(task.task_id);
}

function compareAddress(): string {
  const [left, right] = CONSOLE_RELEASES;
  return `#/compare?${new URLSearchParams({ left, right }).toString()}`;
}

async function showDifference(page: Page): Promise<void> {
  const tree = page.getByRole('tree', { name: 'Changed files' });
  for (const folder of ['Scenario', 'Main', 'Event', 'MediaResources']) {
    await tree
      .getByRole('treeitem', { name: new RegExp(`^${folder}`) })
      .first()
      .click();
  }
}

async function tryCleanup(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Clean up …' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Continue …' }).click();
  await dialog.locator('[data-safe]').waitFor();
}

async function search(page: Page, text: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: /^Search/ }).fill(text);
  await page.getByRole('option').nth(3).waitFor();
}

/** A unit whose source was changed a little, with a tag. */
async function changedUnit({ units, task }: ConsoleWorld): Promise<string> {
  const destination = CONSOLE_FILES.stale;
  const stale = (await units(destination)).filter(({ translation }) => translation?.state === 'stale');
  const unit = stale.find(({ source_text: source }) => /<|\[|\{/.test(source)) ?? stale[0];
  return editorAddress(await task(destination), unit === undefined ? {} : { unit: unit.unit_id });
}

/** A unit whose target is too long, or else one with any finding. */
async function faultyUnit({ units, task }: ConsoleWorld): Promise<string> {
  const destination = CONSOLE_FILES.blocked;
  const faulty = (await units(destination)).filter(({ translation }) => translation?.state === 'blocked');
  const unit = faulty.find(({ source_text: source }) => /<|\[|\{/.test(source)) ?? faulty[0];
  return editorAddress(await task(destination), unit === undefined ? {} : { unit: unit.unit_id });
}

async function previewRollback(page: Page): Promise<void> {
  await page
    .getByRole('button', { name: /^Roll back to this/ })
    .first()
    .click();
  await page.getByRole('list', { name: 'Lines that readers will see change' }).waitFor();
  // The bar at the top stays, so the panel begins below it.
  await page.evaluate(`{
    const panel = [...document.querySelectorAll('.panel')].find((each) => each.textContent.startsWith('Published releases'));
    scrollTo(0, panel.getBoundingClientRect().top + scrollY - 56);
  }`);
}

/** Removes one file, and has the daemon find it. */
async function damage(page: Page, { system }: ConsoleWorld): Promise<void> {
  const objects = globSync('objects/*/*', { cwd: system.snapshotRoot });
  const object = objects.find((name) => !name.endsWith('.blocks')) ?? '';
  await rm(join(system.snapshotRoot, object));
  await system.run('verify');
  await page.getByRole('button', { name: /^Repair \d+ file/ }).waitFor();
}
