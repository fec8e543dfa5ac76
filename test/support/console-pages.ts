import type { Page } from 'playwright-core';
import { CONSOLE_FILES } from './console-release.ts';
import type { ConsoleWorld } from './console-world.ts';

/**
 * The addresses of all pages of the console: those of the rail and of the tabs, and those of single objects.
 *
 * @param page with the console open; it shows other pages afterwards
 */
export async function consoleAddresses(page: Page, world: ConsoleWorld): Promise<readonly string[]> {
  const found = new Set(await roomAddresses(page, world));
  if (found.size < 10) throw new Error(`the rail and the tabs lead to ${found.size} pages only`);
  const [task] = (await world.read('task.list')).items;
  found.add(`#/tasks/${task?.task_id}`);
  const [last, previous] = (await world.read('release.list')).releases;
  found.add(`#/releases/${last?.release_id}`);
  found.add('#/compare');
  found.add(`#/compare?left=${previous?.release_id}&right=${last?.release_id}`);
  found.add(`#/translate-task/${await world.task(CONSOLE_FILES.blocked)}`);
  found.add('#/glossary/radio-club');
  found.add(`#/glossary?check=${encodeURIComponent('先生と温泉郷へ')}`);
  found.add(`#/memory?text=${encodeURIComponent('先生')}`);
  return [...found];
}

/** The addresses that the rail and the tabs lead to. */
export async function roomAddresses(
  page: Page,
  world: Pick<ConsoleWorld, 'url'>,
): Promise<readonly string[]> {
  const hashes = async (selector: string): Promise<string[]> =>
    (await page
      .locator(selector)
      .evaluateAll((links) => links.map((link) => link.getAttribute('href')))) as string[];
  const found = new Set<string>();
  for (const room of await hashes('.rail a')) {
    found.add(room);
    await page.goto(`${world.url}${room}`);
    await page.locator(`.rail a[aria-current][href="${room}"]`).waitFor();
    for (const tab of await hashes('.tabs a')) found.add(tab);
  }
  return [...found];
}

/** Opens a page and waits until it has what it shows. */
export async function showPage(page: Page, { url }: Pick<ConsoleWorld, 'url'>, hash: string): Promise<void> {
  await openHash(page, { url }, hash);
  await page.locator('main [aria-busy=true]').first().waitFor({ state: 'detached' });
}

/** Opens a page, whether or not the answers that it needs have come. */
export async function openHash(page: Page, { url }: Pick<ConsoleWorld, 'url'>, hash: string): Promise<void> {
  await page.goto(`${url}${hash}`);
  // A change of the address alone loads no document, so the page before is there for a moment.
  await page.evaluate(
    'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve))))',
  );
  await page.locator('main .view').waitFor();
}
