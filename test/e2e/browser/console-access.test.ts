import { describe, expect, it } from 'vitest';
import { cspReports, openPage } from '../../support/browser.ts';
import { CONSOLE_TOKEN, logIn, openConsoleSystem, startConsoleSystem } from '../../support/console-system.ts';
import { reusedFixture } from '../../support/shared-fixture.ts';
import { hasTool } from '../../support/tools.ts';
import { until } from '../../support/until.ts';

describe.skipIf(!hasTool('chromium'))('the token of the console', () => {
  const reused = reusedFixture(async (atEnd) => await startConsoleSystem({ atEnd }));

  it('is only in the header of requests', async () => {
    const system = await reused();
    await system.untilReady(true);
    const opened = await openPage();
    const { page, requests } = opened;
    await page.goto(`${system.consoleUrl}?svc_token=from-a-link`);
    await expect.poll(() => page.url()).toBe(system.consoleUrl);
    await logIn(opened);
    for (const view of [
      'Tasks',
      'Schedules',
      'Diagnostics',
      'Releases',
      'Settings',
      'Reports',
      'All actions',
    ]) {
      await page.getByRole('link', { name: view, exact: true }).first().click();
      await page.getByRole('heading', { level: 1, name: view }).waitFor({ state: 'attached' });
    }
    await page.getByRole('button', { name: 'Run … sync', exact: true }).click();
    await page.getByRole('button', { name: 'Sync now' }).click();
    await page.getByText('The task has ended.').waitFor();
    const holders = requests.filter((request) =>
      `${request.url()} ${request.postData() ?? ''}`.includes('canary'),
    );
    expect(holders.map((request) => request.url())).toEqual([]);
    const asked = requests.filter((request) => new URL(request.url()).pathname.startsWith('/admin/tasks'));
    expect(asked.length).toBeGreaterThan(0);
    expect(new Set(asked.map((request) => request.headers()['authorization']))).toEqual(
      new Set([`Bearer ${CONSOLE_TOKEN}`]),
    );
    expect(new Set(requests.map((request) => new URL(request.url()).origin))).toEqual(
      new Set([new URL(system.serverUrl).origin]),
    );
    const kept = await page.evaluate(
      'JSON.stringify([localStorage, sessionStorage, document.cookie, document.documentElement.outerHTML])',
    );
    expect(kept).not.toContain('canary');
    expect(JSON.stringify(system.server.lines)).not.toContain('canary');
    expect([...opened.troubles, ...(await cspReports(page))]).toEqual([]);
  });

  it('that is wrong opens nothing and gets an error; the right one works after it', async () => {
    const system = await reused();
    const { page, troubles } = await openPage();
    await page.goto(system.consoleUrl);
    const field = page.getByLabel('Access token');
    await field.fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('rejects this token').waitFor();
    expect(await page.locator('.verdict-bar .verdict').count()).toBe(0);
    await expect.poll(async () => await page.evaluate('document.activeElement.id')).toBe('token');
    await field.fill('naïve');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('visible ASCII').waitFor();
    await logIn({ page });
    expect(troubles).toEqual([]);
  });

  it('is requested until the server has answered, however long that takes', async () => {
    const system = await reused();
    const { page } = await openPage();
    await page.clock.install();
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/admin/', async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(system.consoleUrl);
    await page.getByLabel('Access token').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Checking the token' }).waitFor();
    await page.clock.runFor(5000);
    expect(await page.locator('.verdict-bar .verdict').count()).toBe(0);
    release?.();
    await page.getByRole('alert').getByText('rejects this token').waitFor();
    await page.getByRole('button', { name: 'Open the console' }).waitFor();
  });

  it('is gone after a reload unless the user keeps it, and is forgotten on request', async () => {
    const system = await reused();
    const { page } = await openConsoleSystem(system.consoleUrl);
    await page.reload();
    await page.getByLabel('Access token').fill(CONSOLE_TOKEN);
    await page.getByLabel('Stay signed in after a reload').check();
    await page.keyboard.press('Enter');
    await page.locator('.verdict-bar .verdict').first().waitFor();
    await page.reload();
    await page.locator('.verdict-bar .verdict').first().waitFor();
    expect(await page.evaluate('Object.values(localStorage).length')).toBe(0);
    await page.goto(`${system.consoleUrl}#/settings`);
    await page.locator('main').getByRole('button', { name: 'Log out' }).click();
    await page.getByLabel('Access token').waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    await page.reload();
    await page.getByLabel('Access token').waitFor();
  });

  it('that is withdrawn while the page is open leads back to the login form', async () => {
    const system = await reused();
    const { page } = await openConsoleSystem(system.consoleUrl);
    await system.setToken('another-token');
    await page.getByRole('alert').getByText('It may have been revoked').waitFor();
    expect(await page.locator('.verdict-bar .verdict').count()).toBe(0);
    await system.setToken(CONSOLE_TOKEN);
    const headers = { authorization: `Bearer ${CONSOLE_TOKEN}` };
    await until(async () => (await fetch(`${system.serverUrl}/admin/`, { headers })).ok);
  });
});
