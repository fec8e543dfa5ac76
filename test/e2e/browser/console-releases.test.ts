import type { Locator, Page, Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { openPage, PHONE, type TestPage } from '../../support/browser.ts';
import { openConsole } from '../../support/console-page.ts';
import { showPage } from '../../support/console-pages.ts';
import { CONSOLE_RELEASES } from '../../support/console-release.ts';
import { consoleToken, startConsoleWorld, type ConsolePerson } from '../../support/console-world.ts';
import { logIn } from '../../support/console-system.ts';
import { measureTasks, pageMemory } from '../../support/page-figures.ts';
import { sharedFixture } from '../../support/shared-fixture.ts';
import { hasTool } from '../../support/tools.ts';

const MIB = 1024 * 1024;
const [FIRST, SECOND] = CONSOLE_RELEASES;
const LARGE = 200_000;

/** Makes ids of the world as long as those of real releases. */
const longIds = (text: string): string => text.replaceAll(/(1\.67\.41\d)(-r\d+)/g, '$1528$2_demo');

/** Each element of the page that does not hold its content in its width. Runs in the page. */
const FIND_CUTS = `[...document.querySelectorAll('main *')]
  .filter((element) => element.closest('.unseen') === null && element.clientWidth > 0)
  .filter((element) => getComputedStyle(element).display !== 'inline' && element.scrollWidth > element.clientWidth)
  .map((element) => element.className + ' "' + element.textContent + '"')`;

/** How many pixels of the last row that is drawn are below the list. */
const BELOW = `(() => {
  const stay = document.querySelector('.tree .virtual-stay');
  const ends = [stay, stay.firstElementChild.lastElementChild].map((each) => each.getBoundingClientRect().bottom);
  return Math.round(ends[1] - ends[0]);
})()`;

describe.skipIf(!hasTool('chromium'))('the releases in the console', () => {
  const shared = sharedFixture(async (atEnd) => await startConsoleWorld({ atEnd }));

  async function open(hash: string, person: ConsolePerson = 'admin'): Promise<TestPage> {
    const { url } = shared();
    const opened = await openPage();
    await opened.page.goto(`${url}${hash}`);
    await logIn(opened, consoleToken(person));
    return opened;
  }

  it('say where each one is served, and compare two that are selected', async () => {
    const { page, troubles } = await open('#/releases');
    const grid = page.getByRole('grid', { name: 'Releases' });
    const row = (id: string): Locator =>
      grid.getByRole('row', { name: new RegExp(`^Select official/${id} `) });
    await row(SECOND).getByText('As current').waitFor();
    await row(FIRST).getByText('Retained').waitFor();
    await row(FIRST).getByRole('checkbox').click();
    const selection = page.getByRole('group', { name: 'Selected releases' });
    await selection.getByRole('button', { name: `Verify ${FIRST}` }).waitFor();
    // A retained release is protected, and an official one cannot be rolled back to.
    await expect.poll(async () => await selection.getByRole('button').count()).toBe(2);
    await row(SECOND).getByRole('checkbox').click();
    await selection.getByRole('link', { name: `Compare ${FIRST} with ${SECOND}` }).click();
    await page.getByRole('heading', { level: 1, name: 'Compare releases' }).waitFor();
    await expect.poll(() => new URL(page.url()).hash).toBe(`#/compare?left=${FIRST}&right=${SECOND}`);
    await page.getByRole('treeitem', { name: /^Scenario\// }).waitFor();
    await page.getByRole('button', { name: 'Swap' }).click();
    await expect.poll(() => new URL(page.url()).hash).toBe(`#/compare?left=${SECOND}&right=${FIRST}`);
    expect(troubles).toEqual([]);
  });

  it('fit on a phone with whole ids, sizes and names of files', async () => {
    const world = shared();
    const { page, troubles } = await openConsole(world, '#/settings', { viewport: PHONE });
    await nameLong(page);
    const cuts: Record<string, unknown> = {};
    const examine = async (place: string): Promise<void> => {
      const found = (await page.evaluate(FIND_CUTS)) as readonly string[];
      if (found.length > 0) cuts[place] = found;
    };
    await showPage(page, world, '#/releases');
    const grid = page.getByRole('grid', { name: 'Releases' });
    const row = grid.getByRole('row', { name: new RegExp(`^Select official/${longIds(SECOND)} `) });
    await row.getByText('As current').waitFor();
    await row.getByText('Intact').waitFor();
    await row.getByText(/^\d+ % localized$/).waitFor();
    await examine('list');
    const pair = `left=${longIds(FIRST)}&right=${longIds(SECOND)}`;
    for (const hash of [`#/releases/${longIds(SECOND)}`, `#/compare?${pair}`]) {
      await showPage(page, world, hash);
      const folder = (name: RegExp): Locator => page.getByRole('treeitem', { name });
      await folder(/^MediaResources\/.*\+\d{3}\.\d MiB$/).waitFor();
      await examine(`${hash}, closed`);
      const low = (await folder(/^MediaResources\//).boundingBox())!.height;
      await folder(/^MediaResources\//).click();
      await folder(/^Movie\//).click();
      const film = folder(/^Opening-x+\.\w+ changed/);
      await film.getByText(/\d MiB → \d+\.\d MiB$/).waitFor();
      await examine(`${hash}, open`);
      // The name takes several lines, and the rows become higher with it; also lower again.
      await expect.poll(async () => (await film.boundingBox())!.height).toBeGreaterThan(low);
      await folder(/^MediaResources\//).click();
      await expect.poll(async () => (await folder(/^Scenario\//).boundingBox())!.height).toBe(low);
    }
    expect(cuts).toEqual({});
    expect(troubles).toEqual([]);
  });

  it('keep the last changed file whole when a narrower page makes the rows higher', async () => {
    const hash = `#/compare?left=${FIRST}&right=${SECOND}`;
    const { page } = await openConsole(shared(), hash, { viewport: { width: 360, height: 300 } });
    for (const name of [/^MediaResources\//, /^Scenario\//]) {
      await page.getByRole('treeitem', { name }).click();
    }
    await page.getByRole('treeitem', { name: /^Main\// }).waitFor();
    const tree = page.getByRole('tree', { name: 'Changed files' });
    await tree.evaluate((box) => box.scrollTo(0, box.scrollHeight));
    await expect.poll(async () => await page.evaluate(BELOW)).toBe(0);
    const low = (await page.getByRole('treeitem').last().boundingBox())!.height;
    await page.setViewportSize({ width: 300, height: 300 });
    await expect
      .poll(async () => (await page.getByRole('treeitem').last().boundingBox())!.height)
      .toBeGreaterThan(low);
    await expect.poll(async () => await page.evaluate(BELOW)).toBe(0);
  });

  it('are selected by taps, also where the list continues below the screen', async () => {
    const { page } = await openConsole(shared(), '#/releases', { viewport: { ...PHONE, height: 400 } });
    const boxes = page.getByRole('grid', { name: 'Releases' }).getByRole('checkbox');
    await boxes.nth(0).check();
    await boxes.nth(1).check();
    await page
      .getByRole('group', { name: 'Selected releases' })
      .getByRole('link', { name: /^Compare / })
      .waitFor();
  });

  it('filter and sort by the address', async () => {
    const { page } = await open('#/releases?channel=localized&sort=release&order=up');
    const grid = page.getByRole('grid', { name: 'Releases' });
    await grid.getByRole('link').nth(1).waitFor();
    const ids = await grid.getByRole('link').allInnerTexts();
    expect(ids).toEqual([...ids].sort());
    expect(ids.every((id) => /-l\d+$/.test(id))).toBe(true);
    await grid.getByRole('button', { name: 'Size' }).click();
    await expect.poll(() => new URL(page.url()).hash).toBe('#/releases?channel=localized&sort=size');
    await page.getByRole('combobox', { name: 'Channel' }).selectOption('');
    await page
      .getByRole('search')
      .getByText(/^(\d+) of \1$/)
      .waitFor();
  });

  it('have a page each, with the files that differ from the previous one, by keyboard alone', async () => {
    const { page, troubles } = await open('#/releases');
    const grid = page.getByRole('grid', { name: 'Releases' });
    await grid.getByRole('link', { name: SECOND, exact: true }).waitFor();
    await grid.focus();
    const at = (await grid.getByRole('link').allInnerTexts()).indexOf(SECOND);
    for (let step = 0; step <= at; step += 1) await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: `Changes since ${FIRST}` }).waitFor();
    const tree = page.getByRole('tree', { name: 'Changed files' });
    await tree.getByRole('treeitem', { name: /^Scenario\// }).waitFor();
    await tree.focus();
    await page.keyboard.press('s');
    await page.keyboard.press('ArrowRight');
    await tree.getByRole('treeitem', { name: /^Main\/.* changed/ }).waitFor();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('m');
    await page.keyboard.press('ArrowRight');
    await tree
      .getByRole('treeitem', { name: /^Chapter02\.json changed\s*[\d.]+ KiB → [\d.]+ KiB$/ })
      .waitFor();
    // A file that is new, and one that is gone, each with its size; folders have the sums.
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowUp');
    const event = tree.getByRole('treeitem', { name: /^Event\// });
    expect(await event.textContent()).toMatch(/1 added, 0 changed, 1 removed.*[+−][\d.]+ KiB$/);
    await event.click();
    await tree.getByRole('treeitem', { name: /^Summer\.json added\s*[\d.]+ KiB$/ }).waitFor();
    await tree.getByRole('treeitem', { name: /^Spring\.json removed\s*[\d.]+ KiB$/ }).waitFor();
    await page.getByText(/of new content, [+−][\d.]+ \w+ in all$/).waitFor();
    await page.getByText(/^[1-9][\d,]* of [\d,]+ units can be published$/).waitFor();
    await page.getByText('Valid until').waitFor();
    await page.getByText(/^serves it/).waitFor();
    expect(troubles).toEqual([]);
  });

  it('offer what the token may do', async () => {
    const { page } = await open(`#/releases/${SECOND}`, 'translate');
    await page.getByRole('heading', { name: `Changes since ${FIRST}` }).waitFor();
    expect(await page.getByRole('button', { name: /Verify|Repair|Clean up|Roll back/ }).count()).toBe(0);
    const operator = await open(`#/releases/${SECOND}`, 'operate');
    await operator.page.getByRole('button', { name: `Verify ${SECOND}` }).waitFor();
    const publisher = await open(`#/releases/${SECOND}-l1`, 'publish');
    await publisher.page.getByRole('link', { name: `Roll back to this … ${SECOND}-l1` }).waitFor();
  });

  it('say plainly which release cannot be compared', async () => {
    const { page } = await open('#/overview');
    // As long after the release as the daemon no longer retains it.
    await page.route('**/admin/releases/status', async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { attestation: { authorizes: { retained: string[] } } };
      body.attestation.authorizes.retained = [];
      await route.fulfill({ response, json: body });
    });
    await page.goto(`${shared().url}#/compare?left=${FIRST}&right=${SECOND}`);
    await page
      .getByText(`${FIRST} cannot be compared: servers list the files of releases that they serve`)
      .waitFor();
    await page.goto(`${shared().url}#/compare?left=nothing&right=${SECOND}`);
    await page.getByText('No release has the id that the address names.').waitFor();
  });

  it('compare 200,000 entries with progress, in bounded memory, and stop when told to', async () => {
    const { page, troubles } = await open('#/releases');
    await serveLarge(page);
    const { url } = shared();
    const stop = page.getByRole('button', { name: 'Stop' });
    const { longestTaskMs } = await measureTasks(page, async () => {
      await page.goto(`${url}#/compare?left=${FIRST}&right=${SECOND}`);
      await page.getByText(/of 400,000 entries/).waitFor();
      await page.getByText('2,000 changed').first().waitFor({ state: 'attached' });
      await stop.waitFor({ state: 'detached' });
    });
    const memory = await pageMemory(page);
    console.log(`longest task ${longestTaskMs.toFixed(1)} ms, memory ${(memory / MIB).toFixed(0)} MiB`);
    expect(longestTaskMs).toBeLessThan(100);
    expect(memory).toBeLessThan(150 * MIB);
    await page.getByRole('treeitem', { name: /^dir003/ }).click();
    await page.getByRole('treeitem', { name: /^entry-006000\.bin changed/ }).waitFor();
    await page.getByRole('button', { name: 'Swap' }).click();
    await stop.click();
    await page.getByText(/^Stopped after/).waitFor();
    await page.getByRole('button', { name: 'Compare again' }).waitFor();
    expect(troubles).toEqual([]);
  });
});

/** Gives releases longer ids, films longer names, and files of the second release sizes of many MiB. */
async function nameLong(page: Page): Promise<void> {
  await page.route(/\/admin\/(?:releases|releases\/status|translation\/status)$/, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: longIds(await response.text()) });
  });
  await page.route('**/v1/distribution?*', async (route: Route) => {
    const url = new URL(route.request().url());
    const id = CONSOLE_RELEASES.find((each) => longIds(each) === url.searchParams.get('release_id')) ?? '';
    url.searchParams.set('release_id', id);
    const response = await route.fetch({ url: url.href });
    const body = (await response.json()) as { items: { destination: string; size: number }[] };
    for (const item of body.items) {
      item.size = Math.round(item.size / 1024) + (id === SECOND ? 170 : 70) * MIB;
      item.destination = item.destination.replace(/Opening/, `Opening-${'x'.repeat(80)}`);
    }
    await route.fulfill({ response, json: body });
  });
}

/** Answers pages of two releases of 200,000 entries, of which every hundredth differs. */
async function serveLarge(page: Page): Promise<void> {
  await page.route('**/v1/distribution?*', async (route: Route) => {
    const query = new URL(route.request().url()).searchParams;
    const offset = Number(query.get('offset'));
    const length = Math.max(0, Math.min(Number(query.get('limit')), LARGE - offset));
    const side = query.get('release_id');
    const items = Array.from({ length }, (_, index) => {
      const at = offset + index;
      const folder = String(Math.floor(at / 2000)).padStart(3, '0');
      return {
        destination: `dir${folder}/entry-${String(at).padStart(6, '0')}.bin`,
        size: at % 5000,
        blake3: at % 100 === 0 ? `${side}-${at}` : String(at),
        crc64: '11051210869376104954',
        source: 'official',
        media_type: 'application/octet-stream',
      };
    });
    await route.fulfill({ json: { snapshot_id: side, total: LARGE, offset, items } });
  });
}
