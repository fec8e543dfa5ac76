import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openPage, type TestPage } from '../../support/browser.ts';
import { CONSOLE_TOKEN, openConsoleSystem, startConsoleSystem } from '../../support/console-system.ts';
import { generateRelease } from '../../support/generate-release.ts';
import { pressOn } from '../../support/keyboard.ts';
import { reusedFixture } from '../../support/shared-fixture.ts';
import { hasTool } from '../../support/tools.ts';
import { until } from '../../support/until.ts';
import { startUpstreamServer } from '../../support/upstream-server.ts';

/** The row of a table whose first cell has this text. */
function row(page: Page, name: string): ReturnType<Page['locator']> {
  return page.getByRole('row').filter({ has: page.getByRole('rowheader', { name, exact: true }) });
}

async function openView(opened: TestPage, url: string, view: string): Promise<Page> {
  await opened.page.goto(`${url}#/${view}`);
  return opened.page;
}

describe.skipIf(!hasTool('chromium'))('an action from the console', () => {
  /** Each test has schedules with names of its own. */
  const reused = reusedFixture(async (atEnd) => {
    const system = await startConsoleSystem({ atEnd });
    await system.untilReady(true);
    return system;
  });

  it('can be run, confirmed and answered with the keyboard alone', async () => {
    const system = await reused();
    await system.run('schedule-add', {
      id: 'nightly',
      group: 'res',
      action: 'verify',
      every_seconds: 86_400,
    });
    const { page, troubles } = await openPage();
    await page.goto(system.consoleUrl);
    await page.locator('#token').waitFor();
    await page.keyboard.type(CONSOLE_TOKEN);
    await page.keyboard.press('Enter');
    await page.locator('.verdict-bar .verdict').first().waitFor();
    await page.keyboard.press('Tab');
    await expect
      .poll(async () => await page.evaluate('document.activeElement.textContent'))
      .toBe('Skip to the content');
    await pressOn(page, page.getByRole('link', { name: 'Schedules', exact: true }));
    await row(page, 'nightly').waitFor();
    await expect
      .poll(async () => await page.evaluate('document.activeElement.textContent'))
      .toBe('Schedules');
    await pressOn(page, page.getByRole('button', { name: 'Remove nightly' }));
    await page.getByRole('dialog').waitFor();
    await pressOn(page, page.getByRole('button', { name: 'Continue …' }));
    await page.getByText('Remove schedule nightly?').waitFor();
    // The Enter key must not trigger a destructive button next.
    await expect.poll(async () => await page.evaluate('document.activeElement.textContent')).toBe('Back');
    await pressOn(page, page.getByRole('button', { name: 'Yes, remove schedule nightly' }));
    await page.getByText('Remove schedule nightly: done.').first().waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await row(page, 'nightly').waitFor({ state: 'detached' });
    // The configuration would bring a configured one back.
    await row(page, 'configured:sync').waitFor();
    expect(await page.getByRole('button', { name: 'Remove configured:sync' }).count()).toBe(0);
    expect(troubles).toEqual([]);
  });

  it('says that it was accepted also when the dialog was closed meanwhile', async () => {
    const system = await reused();
    const opened = await openConsoleSystem(system.consoleUrl);
    const page = await openView(opened, system.consoleUrl, 'releases');
    const { promise: isAllowed, resolve: allow } = Promise.withResolvers<void>();
    await page.route('**/admin/control/verify', async (route) => {
      await isAllowed;
      await route.continue();
    });
    await page.getByRole('link', { name: 'r90_one', exact: true }).click();
    await page.getByRole('button', { name: 'Verify r90_one' }).click();
    await page.getByRole('button', { name: 'Verify releases' }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    allow();
    await page
      .getByText(/accepted\. Its task is in the list of tasks/)
      .first()
      .waitFor();
    expect(opened.troubles).toEqual([]);
  });

  it('is not sent when its confirmation is cancelled', async () => {
    const system = await reused();
    await system.run('schedule-add', {
      id: 'weekly',
      group: 'res',
      action: 'verify',
      every_seconds: 86_400,
    });
    const opened = await openConsoleSystem(system.consoleUrl);
    const page = await openView(opened, system.consoleUrl, 'schedules');
    await page.getByRole('button', { name: 'Remove weekly' }).click();
    await page.getByRole('button', { name: 'Continue …' }).click();
    await page.getByRole('button', { name: 'Back', exact: true }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    // The focus is back at its origin.
    await expect
      .poll(async () => await page.evaluate('document.activeElement.textContent'))
      .toBe('Remove weekly');
    expect(opened.requests.filter((request) => request.method() === 'POST')).toEqual([]);
  });

  it('verify runs from its form and shows its result', async () => {
    const system = await reused();
    const opened = await openConsoleSystem(system.consoleUrl);
    const page = await openView(opened, system.consoleUrl, 'releases');
    await page.getByRole('link', { name: 'r90_one', exact: true }).click();
    await page.getByRole('button', { name: 'Verify r90_one' }).click();
    await page.getByRole('button', { name: 'Verify releases' }).click();
    await page.getByText('The task has ended.').waitFor();
    await page.getByRole('dialog').getByText('</> JSON').click();
    const result = await page.getByRole('region', { name: 'Result' }).textContent();
    expect(JSON.parse(result ?? '')).toMatchObject({ damaged: 0, releases: [{ release_id: 'r90_one' }] });
    await page.getByRole('dialog').getByRole('link').click();
    await page.getByText('the release is sound').waitFor();
    const sent = opened.requests.find((request) => request.method() === 'POST');
    expect(sent?.postData()).toBe('{"args":["channel=official","release_id=r90_one"]}');
    expect(sent?.headers()['idempotency-key']).toMatch(/^[0-9a-f]{32}$/);
  });

  it('shows the steps, the speed and the log of a long task, and cancels it', async () => {
    const release = generateRelease({ releaseId: 'slow', seed: 3, sizes: [10, 16_000_000] });
    const upstream = await startUpstreamServer({ files: release.manifestTree() });
    onTestFinished(async () => await upstream.close());
    const [, large = ''] = [...release.files.keys()];
    // Its download takes minutes, so that it still runs when a busy machine comes to cancel it.
    upstream.addFaults(large, { kind: 'drip', bytes: 8192, intervalMs: 100, times: 10 });
    const system = await startConsoleSystem({
      upstream: { kind: 'manifest', manifest: { url: `${upstream.url}/` } },
      daemon: { sync: { onStart: false } },
    });
    const { page, troubles } = await openConsoleSystem(system.consoleUrl);
    await page.getByRole('button', { name: 'Sync now' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Sync now' }).click();
    const bar = page.getByRole('dialog').getByRole('progressbar', { name: 'Progress of sync' });
    const done = async (): Promise<number> => Number(await bar.getAttribute('value'));
    const first = await until(async () => await done());
    await until(async () => (await done()) > first);
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Tasks', exact: true }).click();
    await row(page, 'Sync now')
      .getByRole('button', { name: /^Cancel/ })
      .waitFor();
    await row(page, 'Sync now').getByRole('link').click();
    // The step that runs says how much there is, how fast it is and how long it will take.
    const step = page.getByRole('list', { name: 'Steps of sync' }).locator('[aria-current=step]');
    await step.getByText(/ of .+ · .+\/s · about .+ left$/).waitFor();
    await page
      .getByRole('img', { name: /^Speed of the step .+: mean .+\/s, highest .+\/s, over / })
      .waitFor();
    const log = page.getByRole('region', { name: 'Lines of the task' });
    await log.getByRole('listitem').first().waitFor();
    await page
      .locator('main')
      .getByRole('button', { name: /^Cancel/ })
      .click();
    await page.getByLabel('Reason').fill('the wrong hour');
    await page.getByRole('button', { name: 'Continue …' }).click();
    await page.getByRole('button', { name: /^Yes, cancel task/ }).click();
    await page
      .getByText(/^Cancel task .*: done\.$/)
      .first()
      .waitFor();
    await page.locator('.task-head').getByText('Cancelled').waitFor();
    await page.getByText('the wrong hour', { exact: true }).waitFor();
    await page.getByRole('list', { name: 'Steps of sync' }).getByText('(stopped)').waitFor();
    expect(troubles).toEqual([]);
  });

  it('edits a schedule, sends only the changed fields, and runs it now', async () => {
    const system = await reused();
    const opened = await openConsoleSystem(system.consoleUrl);
    const page = await openView(opened, system.consoleUrl, 'schedules');
    await page.getByRole('button', { name: 'Add a schedule' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(/^Job/).selectOption({ label: 'Verify releases' });
    await dialog.getByLabel(/^Name/).fill('hourly');
    // The form can be sent as it opens.
    await dialog.getByRole('button', { name: 'Add a schedule' }).click();
    await page.getByText('Add a schedule hourly: done.').first().waitFor();
    await row(page, 'hourly').getByText('Every 1 d').waitFor();

    await page.getByRole('button', { name: 'Edit hourly' }).click();
    await dialog.getByLabel(/^Repeat/).selectOption({ label: 'Other …' });
    await dialog.getByLabel('Repeat: every').fill('2');
    await dialog.getByLabel('Repeat: unit').selectOption('hours');
    await dialog.getByRole('button', { name: 'Change schedule' }).click();
    await page.getByText('Change schedule hourly: done.').first().waitFor();
    await row(page, 'hourly').getByText('Every 2 h').waitFor();

    await page.getByRole('button', { name: 'Run now hourly' }).click();
    await page.getByRole('button', { name: 'Run schedule now', exact: true }).click();
    await page.getByText('Run schedule now hourly: done.').first().waitFor();
    await row(page, 'hourly').getByRole('link', { name: 'Succeeded' }).waitFor();
    const bodies = opened.requests
      .filter((request) => request.method() === 'POST')
      .map((request) => request.postData());
    expect(bodies).toEqual([
      '{"group":"res","action":"verify","every_seconds":86400,"id":"hourly"}',
      '{"id":"hourly","every_seconds":7200}',
      '{"id":"hourly"}',
    ]);
    expect(opened.troubles).toEqual([]);
  });

  it("that is refused shows the error at its field, and the daemon's message unchanged", async () => {
    const system = await reused();
    const opened = await openConsoleSystem(system.consoleUrl);
    const page = await openView(opened, system.consoleUrl, 'actions');
    await page.getByRole('button', { name: 'Run … schedule-run', exact: true }).click();
    await page.getByRole('combobox', { name: 'Schedule' }).fill('nobody');
    await page.getByText('More options').click();
    await page.getByLabel(/^Runs/).fill('9007199254740993');
    const run = page.getByRole('button', { name: 'Run schedule now', exact: true });
    await run.click();
    await page.getByText('must be at most 100').waitFor();
    await expect.poll(async () => await page.evaluate('document.activeElement.id')).toBe('action-count');
    await expect.poll(async () => await page.getByLabel(/^Runs/).getAttribute('aria-invalid')).toBe('true');
    // The form knows the bounds of its fields, and sends what is outside of them to nobody.
    expect(opened.requests.some((request) => request.method() === 'POST')).toBe(false);
    await page.getByLabel(/^Runs/).fill('1');
    await run.click();
    await page.getByRole('alert').getByTitle('unknown_schedule').waitFor();
  });

  it('says of a cancel that comes too late that the task has ended, and how', async () => {
    const system = await reused();
    const { task_id: id } = await system.run('verify', {});
    const opened = await openConsoleSystem(system.consoleUrl);
    const page = await openView(opened, system.consoleUrl, 'actions');
    await page.getByRole('button', { name: 'Run … task-cancel', exact: true }).click();
    await page.getByRole('combobox', { name: 'Task' }).fill(id);
    await page.getByRole('button', { name: 'Continue …' }).click();
    await page.getByRole('button', { name: /^Yes, cancel task/ }).click();
    const alert = page.getByRole('alert');
    await alert.getByText(`task ${id} has ended already (succeeded); there is nothing to cancel`).waitFor();
    await alert.getByText('The task has ended and cannot be cancelled.').waitFor();
    // The server's name for every refusal of the daemon reads like a fault.
    expect(await alert.textContent()).not.toMatch(/502|daemon_rejected/);
  });
});
