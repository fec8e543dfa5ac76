import { exampleOf } from '../../../scripts/reference/examples.ts';
import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { REPORTS, type ReportName } from '../../../src/contract/reports/reports.ts';
import { CONTROL_ACTIONS } from '../../../src/contract/actions/actions.ts';
import { ADMIN_TOKEN, startAdminServer, type AdminServer } from '../../support/admin-client.ts';
import { cspReports, DESKTOP, openPage, PHONE } from '../../support/browser.ts';
import { roomAddresses, showPage } from '../../support/console-pages.ts';
import { logIn } from '../../support/console-system.ts';
import { HOSTILE, hostileReport, LONG_HOSTILE } from '../../support/hostile-reports.ts';
import { hasTool } from '../../support/tools.ts';

/** Beyond the exact range of a JavaScript number. */
const WIDE = '9007199254740993';

/** The example of a report, with changes. */
function reportLike<N extends ReportName>(
  name: N,
  change: (body: object) => object = (body) => body,
): object {
  return change(structuredClone(exampleOf(REPORTS[name].answer)));
}

/** The harm of hostile text: elements, addresses of scripts, and a page that is wider than its window. */
const HARM = `({
  made: document.querySelectorAll('#app script, #app iframe, #app [onerror], #app [onload], #app svg:not([role], [aria-hidden], [aria-hidden] *), #app img:not([src="icon.svg"])').length,
  addresses: [...new Set([...document.querySelectorAll('a')].map((link) => new URL(link.getAttribute('href'), location).protocol))].filter((each) => !/^https?:$/.test(each)),
  sideways: document.documentElement.scrollWidth - document.documentElement.clientWidth,
})`;
const HARMLESS = { made: 0, addresses: [], sideways: 0 };

/** Fields that hold any text. */
const FIELDS = 'textarea, input:not([type=checkbox], [type=radio], [type=number], [type=datetime-local])';

/** A server whose daemon answers every report and every action with hostile text. */
async function startHostileServer(): Promise<AdminServer> {
  const server = await startAdminServer();
  for (const name of Object.keys(REPORTS) as ReportName[]) {
    const body = JSON.stringify(hostileReport(name)).replace('"args":{', `"args":{"path_id":${WIDE},`);
    server.daemon.setAnswer(`/v1/reports/${name}`, { status: 200, body });
  }
  for (const action of CONTROL_ACTIONS) {
    const body = { code: HOSTILE, message: LONG_HOSTILE };
    server.daemon.setAnswer(`/v1/control/${action}`, { status: 409, body });
  }
  return server;
}

/** Types hostile text into every field that is visible and open. @returns how many there were */
async function fillFields(place: Locator): Promise<number> {
  const fields = place.locator(FIELDS).filter({ visible: true });
  let filled = 0;
  for (const field of await fields.all()) {
    if (!(await field.isEditable())) continue;
    await field.fill(LONG_HOSTILE);
    filled += 1;
  }
  return filled;
}

describe.skipIf(!hasTool('chromium'))('text from the daemon', () => {
  it.each([DESKTOP, PHONE])('is only shown as text, on every page ($width px)', async (viewport) => {
    const server = await startHostileServer();
    const url = `${server.url}/admin/dashboard/`;
    const opened = await openPage({ viewport });
    const { page } = opened;
    await page.goto(url);
    await logIn(opened, ADMIN_TOKEN);
    const name = encodeURIComponent(HOSTILE);
    const long = encodeURIComponent(LONG_HOSTILE);
    const addresses = [
      ...(await roomAddresses(page, { url })),
      `tasks/${name}`,
      `releases/${long}`,
      `compare?left=${long}&right=${long}`,
      `schedules?runs=${long}`,
      `translate?folder=${name}`,
      `translate-task/${name}`,
      `review?task=${name}`,
      `publish?dry=${name}`,
      `memory?text=${name}`,
      `glossary/${long}`,
      `glossary?check=${name}`,
      name,
    ].map((address) => (address.startsWith('#') ? address : `#/${address}`));
    const harm: Record<string, unknown> = {};
    let filled = 0;
    for (const hash of addresses) {
      await showPage(page, { url }, hash);
      filled += await fillFields(page.locator('main'));
      const found = await page.evaluate(HARM);
      if (JSON.stringify(found) !== JSON.stringify(HARMLESS)) harm[hash.slice(0, 40)] = found;
      await opened.screenshot(`hostile-${hash.slice(0, 14).replaceAll(/\W/g, '')}-${viewport.width}`);
    }
    expect(harm).toEqual({});
    expect(filled).toBeGreaterThan(10);
    await showPage(page, { url }, '#/tasks/x');
    await page.getByRole('button', { name: 'JSON of Task', exact: true }).click();
    await page.getByRole('region', { name: 'JSON of Task' }).getByText(`"path_id": ${WIDE},`).waitFor();
    expect([...opened.troubles, ...(await cspReports(page))]).toEqual([]);
    const origins = new Set(opened.requests.map((request) => new URL(request.url()).origin));
    expect(origins).toEqual(new Set([server.url]));
  });

  it('that a person types is text in every form, and in the refusal of the daemon', async () => {
    const server = await startHostileServer();
    const url = `${server.url}/admin/dashboard/`;
    const opened = await openPage();
    const { page } = opened;
    await page.goto(url);
    await logIn(opened, ADMIN_TOKEN);
    await showPage(page, { url }, '#/schedules');
    await page.getByRole('button', { name: /^Edit/ }).click();
    // The heading names the object that the form changes.
    await expect.poll(async () => await page.locator('dialog h2').textContent()).toContain('<img src=x');
    await page.keyboard.press('Escape');
    await showPage(page, { url }, '#/actions');
    const dialog = page.getByRole('dialog');
    const harm: Record<string, unknown> = {};
    let refused = 0;
    for (const action of CONTROL_ACTIONS) {
      await page.getByRole('button', { name: `Run … ${action}`, exact: true }).click();
      await dialog.waitFor();
      for (const more of await dialog.locator('summary').all()) await more.click();
      expect([action, await fillFields(dialog)]).toEqual([action, expect.any(Number)]);
      await dialog
        .getByRole('button')
        .filter({ hasNotText: /Cancel|Close|JSON/ })
        .last()
        .click();
      await dialog.locator('[aria-invalid=true], [role=alert], button.danger').first().waitFor();
      refused += await dialog.locator('[aria-invalid=true], [role=alert]').count();
      const found = await page.evaluate(HARM);
      if (JSON.stringify(found) !== JSON.stringify(HARMLESS)) harm[action] = found;
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    }
    expect(harm).toEqual({});
    expect(refused).toBeGreaterThan(10);
    expect([...opened.troubles, ...(await cspReports(page))]).toEqual([]);
  });

  it('that makes no sense breaks one view, not the page', async () => {
    const server = await startAdminServer();
    const answer = (body: object): void => {
      server.daemon.setAnswer('/v1/reports/schedule.list', { status: 200, body });
    };
    answer(reportLike('schedule.list', (body) => ({ ...body, items: 'none' })));
    const opened = await openPage();
    const { page } = opened;
    await page.goto(`${server.url}/admin/dashboard/#/schedules`);
    await logIn(opened, ADMIN_TOKEN);
    await page.getByText('This view cannot show the data from the server.').waitFor();
    await page.getByRole('link', { name: 'Settings', exact: true }).click();
    await page.getByRole('link', { name: 'All actions', exact: true }).click();
    await page.getByRole('heading', { name: 'Releases and daemon' }).waitFor();
    answer(reportLike('schedule.list'));
    await page.getByRole('link', { name: 'Operate', exact: true }).click();
    await page.getByRole('link', { name: 'Schedules', exact: true }).click();
    await page.getByRole('rowheader', { name: 'nightly-verify' }).waitFor();
  });

  it('in the log scrolls along until the reader scrolls back', async () => {
    const server = await startAdminServer();
    const tell = (count: number): void => {
      const lines = Array.from({ length: count }, (_, seq) => ({
        ts: seq,
        level: 'info',
        msg: `line ${seq}.`,
      }));
      server.daemon.setAnswer('/v1/reports/daemon.logs', {
        status: 200,
        body: reportLike('daemon.logs', (body) => ({ ...body, lines })),
      });
    };
    tell(100);
    const opened = await openPage();
    const { page } = opened;
    await page.goto(`${server.url}/admin/dashboard/#/diagnostics`);
    await logIn(opened, ADMIN_TOKEN);
    const box = page.getByRole('region', { name: 'Lines of the daemon' });
    await box.getByText('line 99.').waitFor();
    const fromEnd = async (): Promise<number> =>
      (await page.evaluate(
        "(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight)(document.querySelector('.log'))",
      )) as number;
    await expect.poll(async () => await fromEnd()).toBeLessThan(2);
    tell(150);
    await box.getByText('line 149.').waitFor();
    await expect.poll(async () => await fromEnd()).toBeLessThan(2);
    await page.evaluate("document.querySelector('.log').scrollTop = 100");
    tell(200);
    await box.getByText('line 199.').waitFor();
    expect(await page.evaluate("document.querySelector('.log').scrollTop")).toBe(100);
  });
});
