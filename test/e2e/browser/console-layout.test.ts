import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { DESKTOP, PHONE } from '../../support/browser.ts';
import { openConsole } from '../../support/console-page.ts';
import { consoleAddresses, showPage } from '../../support/console-pages.ts';
import { CONSOLE_FILES } from '../../support/console-release.ts';
import { startConsoleWorld, type ConsoleWorld } from '../../support/console-world.ts';
import { layoutFaults } from '../../support/layout-faults.ts';
import { reusedFixture } from '../../support/shared-fixture.ts';
import { hasTool } from '../../support/tools.ts';

const LOOKS = [
  { viewport: DESKTOP, colorScheme: 'light' },
  { viewport: DESKTOP, colorScheme: 'dark' },
  { viewport: PHONE, colorScheme: 'light' },
  { viewport: PHONE, colorScheme: 'dark' },
] as const;

/** States of pages that an address alone does not show. */
const STATES: Readonly<Record<string, (page: Page, world: ConsoleWorld) => Promise<void>>> = {
  'the palette': async (page, world) => {
    await showPage(page, world, '#/overview');
    await page.getByRole('button', { name: /^Search/ }).click();
    await page.getByRole('combobox', { name: /^Search/ }).waitFor();
  },
  'a form': async (page, world) => {
    await showPage(page, world, '#/schedules');
    await page.getByRole('button', { name: 'Add a schedule' }).click();
    await page.getByRole('dialog').waitFor();
  },
  'two selected releases': async (page, world) => {
    await showPage(page, world, '#/releases');
    const boxes = page.locator('main').getByRole('checkbox');
    await boxes.nth(0).check();
    await boxes.nth(1).check();
    await page
      .getByRole('link', { name: /^Compare / })
      .or(page.getByRole('button', { name: /^Compare / }))
      .waitFor();
  },
  'a unit of the editor': async (page, world) => {
    await showPage(page, world, `#/translate-task/${await world.task(CONSOLE_FILES.stale)}`);
    await page.locator('.unit-row').first().click();
    await page.getByRole('region', { name: 'Unit', exact: true }).waitFor();
  },
  'a task before it is handed in': async (page, world) => {
    await showPage(page, world, `#/translate-task/${await world.task(CONSOLE_FILES.blocked)}`);
    await page.getByRole('button', { name: 'Hand in for review' }).click();
    await page.getByRole('region', { name: 'Hand in', exact: true }).waitFor();
  },
};

describe.skipIf(!hasTool('chromium'))('every page of the console', () => {
  const reused = reusedFixture(async (atEnd) => await startConsoleWorld({ atEnd }));

  it.each(LOOKS)('cuts nothing ($colorScheme, $viewport.width px)', async (look) => {
    const world = await reused();
    const { page, screenshot } = await openConsole(world, '', look);
    const faults: Record<string, readonly string[]> = {};
    const examine = async (name: string): Promise<void> => {
      const found = await layoutFaults(page);
      if (found.length > 0) faults[name] = found;
      const file = name.replaceAll(/[^\w]+/g, '-');
      await screenshot(`layout${file}-${look.viewport.width}-${look.colorScheme}`);
    };
    for (const hash of await consoleAddresses(page, world)) {
      await showPage(page, world, hash);
      await examine(hash);
    }
    for (const [name, reach] of Object.entries(STATES)) {
      await reach(page, world);
      await examine(name);
      await page.keyboard.press('Escape');
    }
    expect(faults).toEqual({});
  });

  it('has controls and documents for which the search finds faults', async () => {
    const world = await reused();
    const { page } = await openConsole(world, '#/translate', { viewport: PHONE });
    await showPage(page, world, '#/translate');
    await page.evaluate(`document.querySelector('.tabs').style.width = '100px'`);
    await page.evaluate(`document.querySelector('h1').style.cssText = 'width: 20px; white-space: nowrap'`);
    await page.evaluate(`document.querySelector('main select').style.width = '40px'`);
    const found = (await layoutFaults(page)).join('\n');
    expect(found).toContain('cut by .tabs: a "Publish"');
    expect(found).toContain('does not hold its text: h1 "Queue"');
    expect(found).toMatch(/does not hold its text: select/);
  });
});
