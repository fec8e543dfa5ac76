import { exampleOf } from '../../../scripts/reference/examples.ts';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { REPORTS, type ReportName } from '../../../src/contract/reports/reports.ts';
import { ADMIN_TOKEN, startAdminServer } from '../../support/admin-client.ts';
import { openPage } from '../../support/browser.ts';
import { showPage } from '../../support/console-pages.ts';
import { logIn, openConsoleSystem, startConsoleSystem } from '../../support/console-system.ts';
import { reusedFixture } from '../../support/shared-fixture.ts';
import { hasTool } from '../../support/tools.ts';

describe.skipIf(!hasTool('chromium'))('the console reports a problem', () => {
  /** Each test repairs what it breaks. */
  const reused = reusedFixture(async (atEnd) => {
    const system = await startConsoleSystem({ atEnd });
    await system.untilReady(true);
    return system;
  });

  it('while the daemon is dead, and its return', async () => {
    const system = await reused();
    const { page, troubles, screenshot } = await openConsoleSystem(system.consoleUrl);
    const title = page.locator('#verdict-title');
    await title.getByText('Release r90_one is being served').waitFor();
    await page.getByText('Last sync').waitFor();
    await system.daemon.kill();
    await title.getByText('but something needs attention').waitFor();
    await page.getByText('Files are served until').first().waitFor();
    await page.getByText('The daemon has been unreachable since').first().waitFor();
    // The incident says it once; the panels are folded.
    await page.locator('.panel').getByText('The daemon does not answer.').first().waitFor();
    await page.locator('.panel .note').first().waitFor({ state: 'detached' });
    // Screen readers announce it too.
    await page.getByRole('status').getByText('but something needs attention').waitFor({ state: 'attached' });
    await screenshot('daemon-silent');
    await system.startDaemon();
    await title.getByText(/is being served$/).waitFor();
    await page
      .locator('.panel')
      .getByText('The daemon does not answer.')
      .first()
      .waitFor({ state: 'detached' });
    expect(troubles).toEqual([]);
  });

  it('while the server is gone, with the last known state, and recovers by itself', async () => {
    const system = await reused();
    const { page, troubles, screenshot } = await openConsoleSystem(system.consoleUrl);
    await page.getByText('No active tasks').waitFor();
    await system.server.kill();
    await page.locator('#verdict-title').getByText('The server does not answer').waitFor();
    await page.getByText('At its last answer it served the release.').waitFor();
    await page.getByText('Data from').first().waitFor();
    await page.getByText('No active tasks').waitFor();
    await screenshot('server-gone');
    await system.startServer();
    await page
      .locator('#verdict-title')
      .getByText(/is being served$/)
      .waitFor();
    expect(troubles).toEqual([]);
  });

  it('while the release is damaged: the reason, the remedy, and a repair from the page', async () => {
    const system = await reused();
    const { page, screenshot } = await openConsoleSystem(system.consoleUrl);
    const objects = globSync('objects/*/*', { cwd: system.snapshotRoot });
    const object = objects.find((name) => !name.endsWith('.blocks')) ?? '';
    await rm(join(system.snapshotRoot, object));
    await system.run('verify');
    await page.locator('#verdict-title').getByText('The official release is not being served').waitFor();
    await page.getByText('What to do:').waitFor();
    await page.getByText('1 file is damaged or missing:').waitFor();
    await screenshot('not-served');
    await page.getByRole('button', { name: 'Repair 1 file' }).click();
    await page.getByRole('button', { name: 'Repair releases' }).click();
    await page.getByText('The task has ended.').waitFor();
    await page.keyboard.press('Escape');
    await page
      .locator('#verdict-title')
      .getByText(/is being served$/)
      .waitFor();
  });

  it('where control is not exposed: no action is offered', async () => {
    const server = await startAdminServer({ exposeControl: false });
    for (const name of Object.keys(REPORTS) as ReportName[]) {
      server.daemon.setReport(name, exampleOf(REPORTS[name].answer));
    }
    const url = `${server.url}/admin/dashboard/`;
    const opened = await openPage();
    const { page } = opened;
    await page.goto(`${url}#/actions`);
    await logIn(opened, ADMIN_TOKEN);
    await page.getByText('This server does not forward control actions.').waitFor();
    for (const view of ['overview', 'releases', 'schedules', 'reports']) {
      await showPage(page, { url }, `#/${view}`);
      await page.locator('.panel').first().waitFor();
      const actions = page
        .getByRole('button', { name: /Sync|Verify|Repair|Add|Run|Clean/ })
        // Names the panel whose JSON it shows.
        .filter({ hasNotText: 'JSON of' });
      expect(await actions.allTextContents()).toEqual([]);
    }
  });

  it('where a report is missing: which backend, while everything else works', async () => {
    const system = await reused();
    const { page } = await openConsoleSystem(system.consoleUrl);
    await page.goto(`${system.consoleUrl}#/reports`);
    await page.getByLabel('Report', { exact: true }).selectOption('translation.memory.query');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByText('is required', { exact: true }).waitFor();
    await system.daemon.kill();
    await page.getByLabel(/^Source text/).fill('先生');
    await page.getByRole('button', { name: 'Show' }).click();
    const alert = page.getByRole('alert');
    await alert.getByText('Translation Memory').waitFor();
    await alert.getByTitle('backend_unavailable').waitFor();
    await page.locator('.verdict-bar').getByText('served, needs attention').waitFor();
    await system.startDaemon();
    await page.locator('.verdict-bar').getByText('served, needs attention').waitFor({ state: 'detached' });
  });
});
