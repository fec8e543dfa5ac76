import { exampleOf } from '../../../scripts/reference/examples.ts';
import { describe, expect, it } from 'vitest';
import { REPORTS, type ReportName } from '../../../src/contract/reports/reports.ts';
import { ADMIN_TOKEN, startAdminServer, type AdminServer } from '../../support/admin-client.ts';
import { openPage, type TestPage } from '../../support/browser.ts';
import { logIn } from '../../support/console-system.ts';
import { hasTool } from '../../support/tools.ts';

/** Sets the example of a report as its answer, with changes. */
function setReport(server: AdminServer, name: ReportName, change: object = {}): void {
  server.daemon.setReport(name, { ...exampleOf(REPORTS[name].answer), ...change });
}

async function open(server: AdminServer, hash: string): Promise<TestPage> {
  const opened = await openPage();
  await opened.page.goto(`${server.url}/admin/dashboard/${hash}`);
  await logIn(opened, ADMIN_TOKEN);
  return opened;
}

describe.skipIf(!hasTool('chromium'))('a page whose answers come late, or not at all', () => {
  it('publishes although the daemon no longer has the task of its address', async () => {
    const server = await startAdminServer();
    setReport(server, 'translation.status');
    setReport(server, 'translation.handoff');
    server.daemon.setAnswer('/v1/reports/task.status', {
      status: 404,
      body: { code: 'unknown_task', message: 'there is no such task' },
    });
    const { page, troubles } = await open(server, '#/publish?dry=01KAJ2X6V5Q0E8T9R3W7Y1Z4BC');
    const panel = page.getByRole('region', { name: 'Publish', exact: true });
    await panel.getByText('The daemon no longer has the task of this address.').waitFor();
    await expect
      .poll(async () => await panel.getByRole('button', { name: 'Start a dry run' }).isEnabled())
      .toBe(true);
    expect(troubles).toEqual([]);
  });

  it('offers no translation and no publication where the localized channel is copied', async () => {
    const server = await startAdminServer();
    for (const name of [
      'translation.status',
      'translation.handoff',
      'translation.tasks',
      'release.status',
      'release.list',
    ] as const)
      setReport(server, name);
    const release = '#/releases/1.66.405117';
    const { page } = await open(server, release);
    const view = page.getByRole('main');
    const offer = view.getByRole('link', { name: 'Publish a localization' });
    await offer.waitFor();
    const withdrawn = { code: 'release_rolled_back', message: 'it is withdrawn', count: 1 };
    const mirrored = { code: 'channel_mirrored', message: 'it is copied from an origin', count: 1 };
    setReport(server, 'translation.status', {
      mirrored_from: 'https://origin.example/',
      publish_blockers: [withdrawn, mirrored],
    });
    for (const hash of ['#/publish', '#/translate']) {
      await page.goto(`${server.url}/admin/dashboard/${hash}`);
      await view.getByText('is copied from its origin. People translate and publish there.').waitFor();
      expect(await view.getByRole('region').count()).toBe(0);
    }
    await page.goto(`${server.url}/admin/dashboard/${release}`);
    await view.getByRole('button', { name: /^Verify/ }).waitFor();
    await expect.poll(async () => await offer.count()).toBe(0);
  });

  it('shows no form for a publication until it is known whether the localized channel is copied', async () => {
    const server = await startAdminServer();
    for (const name of ['translation.status', 'translation.handoff', 'release.status'] as const)
      setReport(server, name);
    const { page } = await open(server, '#/reports');
    let answer = (): void => undefined;
    const late = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/admin/translation/status', async (route) => {
      await late;
      await route.continue();
    });
    const others = page.waitForResponse('**/admin/translation/handoff');
    await page.goto(`${server.url}/admin/dashboard/#/publish`);
    await (await others).finished();
    await page.evaluate(
      'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))',
    );
    const regions = page.getByRole('main').getByRole('region');
    expect(await regions.count()).toBe(0);
    answer();
    await regions.first().waitFor();
  });

  it('shows the answer of a report only below its own name', async () => {
    const server = await startAdminServer();
    setReport(server, 'task.list');
    setReport(server, 'release.list');
    const { page } = await open(server, '#/reports');
    const panel = page.getByRole('region', { name: 'Reports' });
    let answerLate = (): void => undefined;
    const late = new Promise<void>((resolve) => {
      answerLate = resolve;
    });
    await page.route('**/admin/tasks', async (route) => {
      await late;
      await route.fulfill({ json: { report: 'task.list' } }).catch(() => undefined);
    });
    await panel.getByLabel('Report', { exact: true }).selectOption('task.list');
    const asked = page.waitForRequest('**/admin/tasks');
    await panel.getByRole('button', { name: 'Show' }).click();
    await asked;
    await panel.getByLabel('Report', { exact: true }).selectOption('release.list');
    const isTheRequest = (request: { url(): string }): boolean => request.url().endsWith('/admin/tasks');
    const isOver = Promise.race([
      page.waitForEvent('requestfinished', isTheRequest),
      page.waitForEvent('requestfailed', isTheRequest),
    ]);
    answerLate();
    await isOver;
    await page.evaluate(
      'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))',
    );
    expect(await panel.getByText('"report": "task.list"').count()).toBe(0);
    await panel.getByRole('button', { name: 'Show' }).click();
    await panel.getByText('"report": "release.list"').waitFor();
  });

  it('reads as many lines of the log as it offers, whatever the address says', async () => {
    const server = await startAdminServer();
    setReport(server, 'daemon.doctor');
    setReport(server, 'daemon.logs');
    const { page } = await open(server, '#/diagnostics?tail=x');
    await page.getByRole('region', { name: 'Lines of the daemon' }).waitFor();
    await expect.poll(async () => await page.getByLabel('Lines', { exact: true }).inputValue()).toBe('500');
    // A person who types fast does not use up the changes of the address that a browser allows.
    const field = page.getByLabel('Containing');
    await page.evaluate(`
      globalThis.changes = 0;
      const replace = history.replaceState.bind(history);
      history.replaceState = (...parts) => { globalThis.changes += 1; replace(...parts); };
    `);
    await field.pressSequentially('attestation');
    await expect.poll(() => page.url()).toContain('text=attestation');
    expect(await page.evaluate('globalThis.changes')).toBeLessThan(11);
  });

  it('closes a form when the reader goes back to the page before', async () => {
    const server = await startAdminServer();
    setReport(server, 'release.status');
    setReport(server, 'schedule.list');
    const { page } = await open(server, '#/settings');
    await page.goto(`${server.url}/admin/dashboard/#/actions`);
    await page.getByRole('button', { name: 'Run … verify', exact: true }).click();
    await page.getByRole('dialog').waitFor();
    await page.goBack();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
  });

  it('finds a term by its source term, among any number of terms', async () => {
    const server = await startAdminServer();
    setReport(server, 'translation.glossary.summary');
    const [term] = exampleOf(REPORTS['translation.glossary.query'].answer).items as readonly object[];
    const items = [{ ...term, term_id: 'far-away', source_term: '先生' }];
    setReport(server, 'translation.glossary.query', { total: 20_000, items });
    const { page } = await open(server, '#/glossary');
    await page.getByRole('link', { name: '先生' }).click();
    await page.getByRole('heading', { name: 'Term 先生' }).waitFor();
    await expect
      .poll(() => server.daemon.requests.map((each) => decodeURIComponent(each)).join('\n'))
      .toMatch(/translation\.glossary\.query\S*source_text=先生/);
  });
});
