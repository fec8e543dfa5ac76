import type { FeedRequest } from '../api/feed-pool.ts';
import type { Report, ReportName } from '../api/wire.ts';
import type { App } from './app.ts';

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
  const path = app.contract.reports.find(({ report }) => report === name)?.path ?? '';
  return {
    key,
    load: async (signal) => await app.api.read(path, { query, signal }),
    pauseAfter: (value) => (typeof everyMs === 'function' ? everyMs(value as Report<N>) : everyMs),
  };
}
