import type { z } from 'zod';
import { describe, expect, it } from 'vitest';
import { REPORTS, type ReportName } from '../../../src/contract/reports/reports.ts';
import { ADMIN_TOKEN, startAdminServer } from '../../support/admin-client.ts';
import { cspReports, openPage } from '../../support/browser.ts';
import { logIn } from '../../support/console-system.ts';
import { hasTool } from '../../support/tools.ts';

const ATTACKS = [
  '<img src=x onerror=alert(1)>',
  '<script>alert(2)</script>',
  '"><svg/onload=alert(3)>',
  "javascript:alert(4)//'",
  '{{constructor.constructor("alert(5)")()}}',
  '</td></table><iframe srcdoc="<script>parent.alert(6)</script>">',
  '\u202eevil\u0000\u0007 \u2028 😀',
];
const HOSTILE = ATTACKS.join(' ');
/** Beyond the exact range of a JavaScript number. */
const WIDE = '9007199254740993';

/** The example of a report, with changes. */
function reportLike<N extends ReportName>(
  name: N,
  change: (body: object) => object = (body) => body,
): object {
  const { example } = REPORTS[name].answer as { readonly example: z.input<z.ZodObject> };
  return change(structuredClone(example));
}

/** Members of reports whose values people and other programs write. */
const WRITTEN: ReadonlySet<string> = new Set([
  'source_text',
  'target_text',
  'proposed_text',
  'term_id',
  'source_term',
  'recommended_translation',
  'aliases',
  'allowed_translations',
  'category',
  'reviewer',
  'reason',
  'token_id',
  'provider',
  'source_ref',
  'source_author',
  'source_note',
  'context',
  'scope',
]);

/** A report with hostile text in each member that somebody writes. */
function hostileReport(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) {
    return WRITTEN.has(name) ? ATTACKS : value.map((each) => hostileReport(each));
  }
  if (typeof value !== 'object' || value === null)
    return WRITTEN.has(name) && value !== null ? HOSTILE : value;
  if (WRITTEN.has(name)) return { [HOSTILE]: HOSTILE };
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, hostileReport(each, key)]));
}

describe.skipIf(!hasTool('chromium'))('text from the daemon', () => {
  it('is only shown as text', async () => {
    const server = await startAdminServer();
    const task = (REPORTS['task.status'].answer.example as { task: object }).task;
    const hostileTask = {
      ...task,
      task_id: HOSTILE.slice(0, 60),
      kind: HOSTILE,
      args: { [HOSTILE]: HOSTILE },
      result: { path_id: 'WIDE', note: HOSTILE },
      failure_code: HOSTILE,
      failure_reason: HOSTILE,
      schedule_id: HOSTILE,
      reviewer: HOSTILE,
      reason: HOSTILE,
      progress: { done: 1, total: 3, unit: HOSTILE, phase: HOSTILE },
    };
    const lines = ATTACKS.map((msg, seq) => ({
      seq,
      ts: 1_763_683_200 + seq,
      level: 'error',
      msg,
      task_id: msg,
      fields: { msg },
    }));
    const reports: Partial<Record<ReportName, object>> = {
      'task.list': reportLike('task.list', (body) => ({ ...body, items: [hostileTask] })),
      'task.status': reportLike('task.status', (body) => ({ ...body, task: hostileTask })),
      'task.logs': reportLike('task.logs', (body) => ({ ...body, lines })),
      'daemon.logs': reportLike('daemon.logs', (body) => ({ ...body, lines })),
      'daemon.doctor': reportLike('daemon.doctor', (body) => ({
        ...body,
        checks: ATTACKS.map((text) => ({ id: text, status: 'failing', message: text, since: 1 })),
      })),
      'release.status': reportLike('release.status', (body) => {
        const { official } = body as { official: object };
        return {
          ...body,
          official: {
            ...official,
            release_id: HOSTILE,
            snapshot_id: HOSTILE,
            integrity: 'damaged',
            damaged: ATTACKS,
            damaged_count: 7,
          },
        };
      }),
      'release.list': reportLike('release.list', (body) => {
        const [first] = (body as { releases: object[] }).releases;
        return { ...body, releases: [{ ...first, release_id: HOSTILE }] };
      }),
      'schedule.list': reportLike('schedule.list', (body) => {
        const [first] = (body as { items: object[] }).items;
        return {
          ...body,
          items: [
            {
              ...first,
              id: HOSTILE,
              action: HOSTILE,
              args: ATTACKS,
              last_status: HOSTILE,
              last_task_id: HOSTILE,
            },
          ],
        };
      }),
    };
    for (const name of [
      'translation.memory.summary',
      'translation.memory.query',
      'translation.memory.conflicts',
      'translation.glossary.summary',
      'translation.glossary.query',
    ] as const) {
      reports[name] = hostileReport(REPORTS[name].answer.example) as object;
    }
    for (const [name, body] of Object.entries(reports)) {
      server.daemon.setAnswer(`/v1/reports/${name}`, {
        status: 200,
        body: JSON.stringify(body).replaceAll('"WIDE"', WIDE),
      });
    }
    server.daemon.setAnswer('/v1/control/verify', {
      status: 202,
      body: `{"accepted":true,"action":"verify","task_id":"01KAJ2X6V5Q0E8T9R3W7Y1Z4BC","status":"succeeded","deduplicated":false,"ignored_fields":[],"result":{"path_id":-9180874206900030759,"note":${JSON.stringify(HOSTILE)}}}`,
    });

    const opened = await openPage();
    const { page } = opened;
    const home = `${server.url}/admin/dashboard/`;
    await page.goto(home);
    await logIn(opened, ADMIN_TOKEN);
    const addresses = [
      ['overview', '.incident h2'],
      ['releases', '[role="gridcell"]'],
      [`releases/${encodeURIComponent(HOSTILE)}`, '.facts dd'],
      [
        `compare?left=${encodeURIComponent(HOSTILE)}&right=${encodeURIComponent(HOSTILE)}`,
        '.note, .difference',
      ],
      ['tasks', 'td'],
      [`tasks/${encodeURIComponent(HOSTILE.slice(0, 60))}`, '.log li'],
      ['schedules', 'td'],
      ['diagnostics', '.log li'],
      ['memory?text=x', '.memory-conflict'],
      ['memory?text=y', 'td'],
      ['glossary', 'td'],
      [`glossary/${encodeURIComponent(HOSTILE)}`, '.facts dd'],
      [HOSTILE, '.incident h2'],
    ] as const;
    for (const [address, proof] of addresses) {
      await page.goto(`${home}#/${address}`);
      await page.locator(proof).first().waitFor();
      await opened.screenshot(`hostile-${address.slice(0, 11).replaceAll(/\W/g, '')}`);
    }
    await page.goto(`${home}#/tasks/x`);
    await page.getByRole('button', { name: 'JSON of Task', exact: true }).click();
    await page.getByRole('region', { name: 'JSON of Task' }).getByText(`"path_id": ${WIDE},`).waitFor();
    await page.keyboard.press('Escape');
    await page.goto(`${home}#/schedules`);
    await page.getByRole('button', { name: /^Edit/ }).click();
    expect(await page.getByRole('combobox', { name: /^Schedule/ }).inputValue()).toContain('<img src=x');
    await page.keyboard.press('Escape');
    await page.goto(`${home}#/actions`);
    await page.getByRole('button', { name: 'Run … verify', exact: true }).click();
    await page.getByRole('button', { name: 'Verify releases' }).click();
    await page
      .getByRole('region', { name: 'Results' })
      .getByText(/: done\.$/)
      .first()
      .waitFor();

    const made = await page.evaluate(
      'document.querySelectorAll(\'#app script, #app iframe, #app [onerror], #app [onload], #app svg:not([role], [aria-hidden]), #app img:not([src="icon.svg"])\').length',
    );
    expect(made).toBe(0);
    const links = (await page.evaluate(
      "[...document.querySelectorAll('a')].map((a) => a.protocol)",
    )) as string[];
    expect(new Set(links)).toEqual(new Set(['http:']));
    expect([...opened.troubles, ...(await cspReports(page))]).toEqual([]);
    const origins = new Set(opened.requests.map((request) => new URL(request.url()).origin));
    expect(origins).toEqual(new Set([server.url]));
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

  it('of a daemon of the previous version is shown without the members that it leaves out', async () => {
    const server = await startAdminServer();
    const setReport = (name: ReportName, body: object): void => {
      server.daemon.setAnswer(`/v1/reports/${name}`, { status: 200, body });
    };
    setReport(
      'release.status',
      reportLike('release.status', (body) => ({ ...body, sync: undefined })),
    );
    setReport(
      'schedule.list',
      reportLike('schedule.list', (body) => {
        const { items } = body as { readonly items: readonly object[] };
        return {
          ...body,
          items: items.map((row) => ({ ...row, origin: undefined, replaced_by: undefined })),
        };
      }),
    );
    const opened = await openPage();
    const { page } = opened;
    await page.goto(`${server.url}/admin/dashboard/#/overview`);
    await logIn(opened, ADMIN_TOKEN);
    await page.getByRole('button', { name: 'JSON of Sync' }).waitFor();
    expect(await page.getByText('Last sync').count()).toBe(0);
    await page.goto(`${server.url}/admin/dashboard/#/schedules`);
    await page.getByRole('rowheader', { name: 'nightly-verify' }).waitFor();
    expect(await page.getByText('Replaced by').count()).toBe(0);
    expect(opened.troubles).toEqual([]);
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
    expect(await fromEnd()).toBeLessThan(2);
    tell(150);
    await box.getByText('line 149.').waitFor();
    expect(await fromEnd()).toBeLessThan(2);
    await page.evaluate("document.querySelector('.log').scrollTop = 100");
    tell(200);
    await box.getByText('line 199.').waitFor();
    expect(await page.evaluate("document.querySelector('.log').scrollTop")).toBe(100);
  });
});
