import type { Page, Route } from 'playwright-core';
import { REPORT_OPERATIONS } from '../../src/cli/ctl/reports.ts';
import { REPORTS, type ReportName } from '../../src/contract/reports/reports.ts';

const NAMES: ReadonlyMap<string, ReportName> = new Map(
  [...REPORT_OPERATIONS].map(([name, { path }]) => [path, name]),
);

/** Answers a request for a report in the place of the service. */
export type ReportAnswer = (route: Route, name: ReportName) => Promise<void>;

/**
 * Answers the reports that a page asks for, so that it shows a state which a real service reaches rarely or for a moment. The
 * state of the service and its index still come from the real one.
 *
 * @returns the reports that were asked for so far
 */
export async function answerReports(page: Page, answer: ReportAnswer): Promise<ReadonlySet<ReportName>> {
  const asked = new Set<ReportName>();
  await page.route(
    ({ pathname }) => NAMES.has(pathname),
    async (route) => {
      const name = NAMES.get(new URL(route.request().url()).pathname);
      if (name === undefined) throw new Error('no report has this path');
      asked.add(name);
      await answer(route, name);
    },
  );
  return asked;
}

/** The detail of the problem with which {@link refuse} answers a report. */
export function refusalOf(name: ReportName): string {
  return `The service cannot make ${name} now.`;
}

/** Answers with a problem. */
export async function refuse(route: Route, name: ReportName, status: 500 | 503): Promise<void> {
  const code = status === 503 ? 'backend_unavailable' : 'internal_error';
  await route.fulfill({
    status,
    contentType: 'application/problem+json',
    json: { type: 'about:blank', title: 'Unavailable', status, code, detail: refusalOf(name) },
  });
}

/** Answers as the service does, but every list is empty. The doctor always has its checks. */
export async function answerEmpty(route: Route, name: ReportName): Promise<void> {
  const response = await route.fetch();
  if (!response.ok() || name === 'daemon.doctor') {
    await route.fulfill({ response });
    return;
  }
  await route.fulfill({ response, json: emptied(name, await response.json()) });
}

/** Members that count rows of the lists beside them. */
const COUNTS: ReadonlySet<string> = new Set(['total', 'units', 'counts', 'by_state']);

/** @throws Error if the contract does not allow such an answer */
function emptied(name: ReportName, body: unknown): unknown {
  const without = (value: unknown, isCount: boolean): unknown => {
    if (Array.isArray(value)) return [];
    if (typeof value === 'number') return isCount ? 0 : value;
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, without(each, isCount || COUNTS.has(key))]),
    );
  };
  const empty = without(body, false);
  REPORTS[name].answer.schema.parse(empty);
  return empty;
}

/**
 * Replaces members of the state that the server tells.
 *
 * @param stale whether the localized channel is not served, and the official one is as the server tells it
 */
export async function tellState(page: Page, change: object, stale = false): Promise<void> {
  await page.route('**/healthz', async (route) => {
    const response = await route.fetch();
    const body = (await response.json()) as { readonly service: { readonly channels: object } };
    const { channels, ...service } = body.service;
    const told = { ...service, ...change };
    const changed = stale ? { localized: { ...told, state: 'stale' } } : { official: told };
    await route.fulfill({
      response,
      json: { ...body, service: { ...told, channels: { ...channels, ...changed } } },
    });
  });
}
