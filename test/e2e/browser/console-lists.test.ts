import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { DESKTOP, PHONE, type Look, type TestPage } from '../../support/browser.ts';
import { buildGallery } from '../../support/console-gallery.ts';
import { layoutFaults } from '../../support/layout-faults.ts';
import { logIn, startConsoleSystem } from '../../support/console-system.ts';
import { measureTasks, pageMemory } from '../../support/page-figures.ts';
import { scroll } from '../../support/scroll-bar.ts';
import { reusedFixture } from '../../support/shared-fixture.ts';
import { hasTool } from '../../support/tools.ts';

const MIB = 1024 * 1024;
const ROWS = 1_000_000;

describe.skipIf(!hasTool('chromium'))('the components of the console', () => {
  const reused = reusedFixture(async (atEnd) => {
    const system = await startConsoleSystem({ atEnd });
    await system.untilReady(true);
    return { url: system.consoleUrl, gallery: await buildGallery(atEnd) };
  });

  async function openSamples(look?: Look): Promise<TestPage & { grid: Locator }> {
    const { url, gallery } = await reused();
    const opened = await gallery.open(url, look);
    const grid = opened.page.getByRole('grid', { name: 'Generated units' });
    await grid.getByText('line-0.bytes').waitFor();
    return { ...opened, grid };
  }

  it('scroll through a million rows without a long task, in bounded memory', async () => {
    const { page, grid, troubles } = await openSamples();
    const { longestTaskMs, tasks } = await measureTasks(page, async () => {
      await grid.hover();
      for (let turn = 0; turn < 40; turn += 1) await page.mouse.wheel(0, 400);
      // As somebody drags the bar to and fro, and then slowly through a part of the list.
      await scroll(
        grid,
        Array.from({ length: 200 }, (_, index) => ((index * 37) % 200) / 200),
      );
      await scroll(
        grid,
        Array.from({ length: 400 }, (_, index) => 0.4 + index / 100_000),
      );
    });
    const memory = await pageMemory(page);
    console.log(
      `longest task ${longestTaskMs.toFixed(1)} ms of ${tasks}, memory ${(memory / MIB).toFixed(0)} MiB`,
    );
    expect(tasks).toBeGreaterThan(600);
    expect(longestTaskMs).toBeLessThan(100);
    expect(memory).toBeLessThan(150 * MIB);
    expect(troubles).toEqual([]);
  });

  it('reach every row, by the bar and by the keyboard', async () => {
    const { page, grid } = await openSamples();
    const rowAt = (index: number): Locator => grid.locator(`[role="row"][aria-rowindex="${index + 2}"]`);
    await grid.focus();
    await page.keyboard.press('End');
    await rowAt(ROWS - 1)
      .getByText('tu1_0999999')
      .waitFor();
    await expect.poll(async () => await activeRow(page)).toBe(String(ROWS + 1));
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('PageUp');
    await expect.poll(async () => Number(await activeRow(page))).toBeLessThan(ROWS - 5);
    await page.keyboard.press('Home');
    await rowAt(0).getByText('tu1_0000000').waitFor();
    await expect
      .poll(async () => await grid.evaluate((box) => (box as unknown as { scrollTop: number }).scrollTop))
      .toBe(0);
    await scroll(grid, [1]);
    await rowAt(ROWS - 1)
      .getByText('tu1_0999999')
      .waitFor();
    // The rows of a list that moves do not move under the pointer when their neighbours arrive.
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Space');
    await page.keyboard.press('Enter');
    await page.getByText('1 selected, opened: tu1_0000001').waitFor();
    await rowAt(3).getByRole('checkbox').click();
    await page.getByText('2 selected').waitFor();
  });

  it('change the width of a column by pointer and keyboard', async () => {
    const { page, grid } = await openSamples();
    const head = grid.getByRole('columnheader', { name: /^Unit/ });
    const edge = head.getByRole('separator');
    // The first key makes a whole number of pixels of it.
    const before = Math.round((await head.boundingBox())!.width);
    await edge.focus();
    await page.keyboard.press('ArrowRight');
    await expect.poll(async () => (await head.boundingBox())!.width).toBe(before + 16);
    await edge.hover();
    await page.mouse.down();
    await page.mouse.move((await edge.boundingBox())!.x + 104, 0);
    await page.mouse.up();
    await expect.poll(async () => (await head.boundingBox())!.width).toBeGreaterThan(before + 100);
    const cell = grid.locator('[role="row"][aria-rowindex="2"] [role="gridcell"]').nth(1);
    const widths = async (): Promise<number[]> => [
      (await cell.boundingBox())!.width,
      (await head.boundingBox())!.width,
    ];
    await expect.poll(async () => new Set(await widths()).size).toBe(1);
    await page.keyboard.press('ArrowDown');
    const next = grid.getByRole('separator', { name: 'Width of Text' });
    await expect.poll(async () => await next.evaluate(isFocused)).toBe(true);
  });

  it('write filters into the address, and take them from it', async () => {
    const { page } = await openSamples();
    const bar = page.getByRole('search', { name: 'Filter the sample' });
    await bar.getByLabel('State').selectOption('stale');
    await bar.getByLabel('Path').fill('Android/<b>');
    await expect.poll(() => new URL(page.url()).hash).toBe('#/components?state=stale&path=Android%2F%3Cb%3E');
    await page.reload();
    await logIn({ page });
    await expect.poll(async () => await bar.getByLabel('Path').inputValue()).toBe('Android/<b>');
    await expect.poll(async () => await bar.getByLabel('State').inputValue()).toBe('stale');
    await bar.getByRole('button', { name: 'Clear filters' }).click();
    await expect.poll(() => new URL(page.url()).hash).toBe('#/components');
    await expect.poll(async () => await bar.getByLabel('Path').inputValue()).toBe('');
  });

  it.each([DESKTOP, PHONE])(
    'have no finding of axe-core and fit the screen, in light and dark ($width px)',
    async (viewport) => {
      const { page, violations, screenshot, troubles } = await openSamples({ viewport });
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        expect(await violations(colorScheme === 'light' ? 'all' : 'colours')).toEqual([]);
        expect(await layoutFaults(page)).toEqual([]);
      }
      await screenshot(`components-${viewport.width}`);
      expect(troubles).toEqual([]);
    },
  );

  it('tell the result of an act, and let the person close it', async () => {
    const { page, violations } = await openSamples();
    await page.getByRole('button', { name: 'Destructive' }).click();
    const toasts = page.getByRole('region', { name: 'Results' });
    await toasts.getByText('The sample was refused.', { exact: true }).first().waitFor();
    await page.getByRole('status').getByText('The sample was refused.').waitFor({ state: 'attached' });
    expect(await violations()).toEqual([]);
    await toasts.getByRole('button', { name: 'Close' }).click();
    await toasts.getByRole('button', { name: 'Close' }).waitFor({ state: 'detached' });
  });

  it('open a tree by the keys of its pattern', async () => {
    const { page } = await openSamples();
    const tree = page.getByRole('tree', { name: 'Files' });
    await tree.focus();
    await page.keyboard.press('Home');
    const item = (name: string): Locator => tree.getByRole('treeitem', { name }).first();
    await expect.poll(async () => await item('Android').getAttribute('aria-expanded')).toBe('true');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await expect.poll(async () => await item('bundles').getAttribute('aria-expanded')).toBe('true');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    await expect.poll(async () => await item('Android').getAttribute('aria-expanded')).toBe('false');
    await page.keyboard.press('m');
    await page.keyboard.press('Enter');
    await tree.getByText('Loading …').waitFor();
    await expect.poll(async () => await item('MediaResources').getAttribute('aria-level')).toBe('1');
  });
});

/** The row that the keyboard is at, counted with the header. */
async function activeRow(page: Page): Promise<string | null> {
  return (await page.evaluate(
    `document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.getAttribute('aria-rowindex') ?? null`,
  )) as string | null;
}

function isFocused(element: unknown): boolean {
  return (element as { matches: (selector: string) => boolean }).matches(':focus');
}
