import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { REPORTS } from '../../../src/contract/reports/reports.ts';
import { DESKTOP, openPage, PHONE, type TestPage } from '../../support/browser.ts';
import { logIn, openConsoleSystem, startConsoleSystem } from '../../support/console-system.ts';
import { reusedFixture } from '../../support/shared-fixture.ts';
import { hasTool } from '../../support/tools.ts';

const HOSTILE = '<img src=x onerror=alert(1)> \u202eevil "><script>alert(2)</script>';

/** Opens the form of an action on the page of all actions. */
async function openForm({ page }: TestPage, url: string, action: string): Promise<Locator> {
  await page.goto(`${url}#/actions?text=${action}`);
  await page.getByRole('button', { name: `Run … ${action}`, exact: true }).click();
  return page.getByRole('dialog');
}

/** The bodies that were posted to an action. */
function posted({ requests }: TestPage, action: string): readonly unknown[] {
  return requests
    .filter((request) => request.method() === 'POST' && request.url().endsWith(`/admin/control/${action}`))
    .map((request) => request.postDataJSON() as unknown);
}

async function focused(page: Page): Promise<string> {
  return String(await page.evaluate('document.activeElement.id'));
}

describe.skipIf(!hasTool('chromium'))('a form of the console', () => {
  const reused = reusedFixture(async (atEnd) => {
    const system = await startConsoleSystem({ atEnd });
    await system.untilReady(true);
    return system;
  });

  it('picks an id with the keyboard alone, and leaves the dialog open when the list closes', async () => {
    const { consoleUrl } = await reused();
    const opened = await openConsoleSystem(consoleUrl);
    const { page } = opened;
    const dialog = await openForm(opened, consoleUrl, 'verify');
    await dialog.getByLabel('Channel').selectOption({ label: 'Official' });
    const picker = dialog.getByRole('combobox', { name: 'Release', exact: true });
    await picker.focus();
    await page.keyboard.press('ArrowDown');
    await dialog.getByRole('option', { name: /r90_one/ }).waitFor();
    await expect.poll(async () => await picker.getAttribute('aria-expanded')).toBe('true');
    await page.keyboard.press('Escape');
    await expect.poll(async () => await picker.getAttribute('aria-expanded')).toBe('false');
    await page.keyboard.press('ArrowDown');
    await dialog.getByRole('option', { name: /r90_one/, selected: true }).waitFor();
    expect(await opened.violations()).toEqual([]);
    await page.keyboard.press('Enter');
    await expect.poll(async () => await picker.inputValue()).toBe('r90_one');
    await page.keyboard.press('Enter');
    await dialog.getByText('The task has ended.').waitFor();
    expect(posted(opened, 'verify')).toEqual([{ args: ['channel=official', 'release_id=r90_one'] }]);
    expect(opened.troubles).toEqual([]);
  });

  it('shows what a cleanup would delete before it asks, and sends it once', async () => {
    const { consoleUrl } = await reused();
    const opened = await openConsoleSystem(consoleUrl);
    const dialog = await openForm(opened, consoleUrl, 'release-cleanup');
    await dialog.getByLabel('Releases to keep', { exact: true }).first().check();
    await dialog.getByRole('textbox', { name: 'Releases to keep' }).fill('1');
    await dialog.getByRole('button', { name: 'Continue …' }).click();
    const trial = dialog.getByRole('region', { name: 'Dry run' });
    await trial
      .getByText(/r90_one/)
      .first()
      .waitFor();
    expect(await opened.violations()).toEqual([]);
    expect(posted(opened, 'release-cleanup')).toEqual([{ count: 1, args: ['dry_run=true'] }]);
    await dialog.getByRole('button', { name: 'Yes, delete old releases' }).click();
    await dialog.getByText('The task has ended.').waitFor();
    expect(posted(opened, 'release-cleanup').slice(1)).toEqual([{ count: 1 }]);
  });

  it('keeps fields and JSON in step, and says what the fields cannot show', async () => {
    const { consoleUrl } = await reused();
    const opened = await openConsoleSystem(consoleUrl);
    const dialog = await openForm(opened, consoleUrl, 'schedule-add');
    await dialog.getByLabel(/^Job/).selectOption('verify');
    await dialog.getByLabel(/^Repeat/).selectOption('3600');
    const change = dialog.getByRole('button', { name: '</> JSON' });
    await change.click();
    const body = dialog.getByLabel('Body');
    expect(JSON.parse(await body.inputValue())).toEqual({
      group: 'res',
      action: 'verify',
      every_seconds: 3600,
    });
    await body.fill('{"group":"res","action":"verify","every_seconds":7200,"args":["channel=official"]}');
    await change.click();
    await expect.poll(async () => await dialog.getByLabel('Repeat: every').inputValue()).toBe('2');
    await expect.poll(async () => await dialog.getByLabel('Channel').inputValue()).toBe('official');
    await change.click();
    await body.fill('{"group":"res","elsewhere":1}');
    await change.click();
    await dialog.getByRole('alert').getByText('The form cannot show elsewhere.').waitFor();
    await body.fill('{');
    await dialog.getByRole('button', { name: 'Add a schedule' }).click();
    await dialog.getByRole('alert').getByText('The body must be a JSON object.').waitFor();
    expect(posted(opened, 'schedule-add')).toEqual([]);
  });

  it('takes a date on the clock of the reader, and shows refusals at their fields', async () => {
    const { consoleUrl } = await reused();
    const opened = await openConsoleSystem(consoleUrl);
    const { page } = opened;
    const dialog = await openForm(opened, consoleUrl, 'schedule-add');
    await dialog.getByLabel(/^Job/).selectOption('verify');
    // The form begins with a daily run; one that runs once needs a time.
    await dialog.getByLabel(/^Repeat/).selectOption({ label: 'Once' });
    await dialog.getByRole('button', { name: 'Add a schedule' }).click();
    await dialog.getByRole('alert').getByText('“Next run at”').first().waitFor();
    await dialog.getByLabel(/^Name/).fill(HOSTILE);
    await dialog.getByLabel('Next run at', { exact: true }).first().check();
    await dialog.locator('input[type="datetime-local"]').fill('2090-01-02T03:04:05');
    await dialog.getByText('2090-01-02T03:04:05Z').waitFor();
    await dialog.getByRole('button', { name: 'Add a schedule' }).click();
    await dialog.getByText('must be 1 to 160 letters').waitFor();
    await expect.poll(async () => await focused(page)).toBe('action-id');
    await dialog.getByLabel(/^Name/).fill('once');
    await dialog.getByRole('combobox', { name: 'Release', exact: true }).fill('../etc');
    await dialog.getByRole('button', { name: 'Add a schedule' }).click();
    await dialog.locator('[id="action-args.release_id"][aria-invalid="true"]').waitFor();
    await dialog.getByRole('combobox', { name: 'Release', exact: true }).fill('r90_one');
    await dialog.getByRole('button', { name: 'Add a schedule' }).click();
    await page.getByText('Add a schedule once: done.').first().waitFor();
    expect(posted(opened, 'schedule-add').at(-1)).toEqual({
      group: 'res',
      action: 'verify',
      args: ['release_id=r90_one'],
      next_run_unix_seconds: Date.UTC(2090, 0, 2, 3, 4, 5) / 1000,
      id: 'once',
    });
    // The switch of the list turns it off in place, and its runs are below the list.
    await page.goto(`${consoleUrl}#/schedules`);
    const toggle = page.getByRole('switch', { name: /^once/ });
    await toggle.focus();
    await page.keyboard.press('Space');
    await page.getByText('once no longer runs automatically.').first().waitFor();
    await page.locator('button[role=switch][aria-checked=false]').getByText('once').waitFor();
    await page.getByRole('button', { name: 'Run now once' }).click();
    await page.getByRole('button', { name: 'Run schedule now', exact: true }).click();
    await page.getByText('Run schedule now once: done.').first().waitFor();
    await page.getByRole('link', { name: 'History of once' }).click();
    await page.getByRole('region', { name: 'Runs of once' }).getByText('Succeeded').waitFor();
    expect(opened.troubles).toEqual([]);
  });

  it.each([DESKTOP, PHONE])(
    'of every action violates no rule and fits the screen, in light and dark ($width px)',
    async (viewport) => {
      const { consoleUrl } = await reused();
      const opened = await openPage({ viewport });
      const { page } = opened;
      await page.goto(consoleUrl);
      await logIn(opened);
      for (const action of [
        'schedule-add',
        'translation-worker-run',
        'translation-glossary-add',
        'localized-publish',
      ]) {
        const dialog = await openForm(opened, consoleUrl, action);
        await dialog.getByText('More options').click();
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          await opened.screenshot(`form-${action}-${colorScheme}-${viewport.width}`);
          const found = await opened.violations(colorScheme === 'light' ? 'all' : 'colours');
          expect([action, colorScheme, found]).toEqual([action, colorScheme, []]);
        }
        const sideways = await page.evaluate(
          '((box) => box.scrollWidth - box.clientWidth)(document.querySelector("dialog"))',
        );
        expect([action, sideways]).toEqual([action, 0]);
        await page.keyboard.press('Escape');
      }
    },
  );

  it('adds a term whose hostile texts stay text', async () => {
    const system = await reused();
    const opened = await openConsoleSystem(system.consoleUrl);
    const { page } = opened;
    const dialog = await openForm(opened, system.consoleUrl, 'translation-glossary-add');
    await dialog.getByLabel(/^Source term/).fill(HOSTILE);
    await dialog.getByLabel(/^Translation required/).fill('x'.repeat(10_000));
    await dialog.getByRole('combobox', { name: /^From language/ }).fill('ja');
    await dialog.getByRole('combobox', { name: /^To language/ }).fill('zh-Hans');
    await dialog.getByRole('button', { name: 'Add a term' }).click();
    await page
      .getByText(/^Add a term.*done\.$/)
      .first()
      .waitFor();
    const answer = await system.askDaemon('/v1/reports/translation.glossary.query?source_text=onerror');
    const { items } = REPORTS['translation.glossary.query'].answer.schema.parse(await answer.json());
    expect(items.map(({ source_term: term, source }) => [term, source.source_kind])).toEqual([
      [HOSTILE, 'manual'],
    ]);
    expect(opened.troubles).toEqual([]);
  });
});
