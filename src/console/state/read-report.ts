import type { FeedRequest } from '../api/feed-pool.ts';
import type { FeedState } from '../api/live-feed.ts';
import type { Report, ReportName } from '../api/wire.ts';
import type { App } from './app.ts';

/** Where a report is read. */
export function reportPath({ contract }: App, name: ReportName): string {
  return contract.reports.find(({ report }) => report === name)?.path ?? '';
}

/**
 * Reads a report once.
 *
 * @throws ApiFailure
 */
export async function readReport<N extends ReportName>(
  app: App,
  name: N,
  query: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
): Promise<Report<N>> {
  const options = { query, ...(signal ? { signal } : {}) };
  return (await app.api.read(reportPath(app, name), options)) as Report<N>;
}

/** The state of the feed of a report; empty unless the page asks for it. */
export function reportState<N extends ReportName>({ pool }: App, name: N): FeedState<Report<N>> {
  return pool.state<Report<N>>(name);
}

/**
 * The request for one report, repeated while it is wanted.
 *
 * @param options `key`: default the name of the report; `everyMs`: milliseconds between two requests, or a function of
 * the report
 */
export function reportFeed<N extends ReportName>(
  app: App,
  name: N,
  {
    key = name,
    query = {},
    everyMs = 10_000,
  }: {
    readonly key?: string;
    readonly query?: Readonly<Record<string, string>>;
    readonly everyMs?: number | ((report: Report<N>) => number);
  } = {},
): FeedRequest {
  return {
    key,
    load: async (signal) => await readReport(app, name, query, signal),
    pauseAfter: (value) => (typeof everyMs === 'function' ? everyMs(value as Report<N>) : everyMs),
  };
}

/** Whether the localized channel is copied from an origin. A page that asks has the feed `translation.status`. */
export function isCopied({ pool }: App): boolean {
  const status = pool.state<Report<'translation.status'>>('translation.status').value;
  return typeof status?.mirrored_from === 'string';
}
