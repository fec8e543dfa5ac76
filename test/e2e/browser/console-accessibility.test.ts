import { describe, expect, it } from 'vitest';
import { DESKTOP, openPage, PHONE, type Look } from '../../support/browser.ts';
import { logIn, startConsoleSystem } from '../../support/console-system.ts';
import { reusedFixture } from '../../support/shared-fixture.ts';
import { hasTool } from '../../support/tools.ts';

const LOOKS: ReadonlyArray<readonly [string, Look]> = [
  ['light-desktop', { viewport: DESKTOP, colorScheme: 'light' }],
  ['dark-desktop', { viewport: DESKTOP, colorScheme: 'dark' }],
  ['light-phone', { viewport: PHONE, colorScheme: 'light' }],
  ['dark-phone', { viewport: PHONE, colorScheme: 'dark' }],
];
describe.skipIf(!hasTool('chromium'))('the console is accessible', () => {
  /** Every test removes the schedule that it adds. */
  const reused = reusedFixture(async (atEnd) => await startConsoleSystem({ atEnd }));

  it.each(LOOKS)(
    'violates no rule, and does not scroll sideways or below its content: %s',
    async (name, look) => {
      const system = await reused();
      await system.untilReady(true);
      await system.run('schedule-add', {
        id: 'nightly-verify',
        group: 'res',
        action: 'verify',
        args: ['channel=official'],
        every_seconds: 86_400,
        delay_seconds: 3600,
      });
      const verified = await system.run('verify');
      const opened = await openPage(look);
      const { page, violations, screenshot } = opened;
      const check = async (place: string): Promise<void> => {
        await screenshot(`${name}-${place}`);
        const sideways = await page.evaluate(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        );
        const below = await page.evaluate(
          'document.documentElement.scrollHeight - Math.max(document.body.offsetHeight, innerHeight)',
        );
        expect([place, sideways, below, await violations()]).toEqual([place, 0, 0, []]);
      };
      await page.goto(system.consoleUrl);
      await page.getByLabel('Admin token').waitFor();
      await check('login');
      await logIn(opened);
      await page.goto(`${system.consoleUrl}#/tasks`);
      await page.locator(`a[href="#/tasks/${verified.task_id}"]`).click();
      await page.getByText('verify succeeded', { exact: true }).waitFor();
      await check('task');
      await page.goto(`${system.consoleUrl}#/schedules`);
      await page.getByRole('button', { name: 'Edit nightly-verify' }).click();
      await check('form');
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Remove nightly-verify' }).click();
      await page.getByRole('button', { name: 'Continue …' }).click();
      await check('confirmation');
      await page.getByRole('button', { name: 'Yes, remove schedule nightly-verify' }).click();
      await page.getByText('Remove schedule nightly-verify: done.').first().waitFor();
      await check('answer');
      await page.goto(`${system.consoleUrl}#/actions`);
      await page.getByRole('button', { name: 'Run … translation-glossary-add', exact: true }).click();
      await page.getByRole('button', { name: 'Add a term' }).click();
      await page.getByText('is needed').first().waitFor();
      await check('refused-form');
      expect(opened.troubles).toEqual([]);
    },
  );
});
