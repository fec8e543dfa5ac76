/** The verdict of the server: the feed that reads it, and what it says. */

import type { FeedRequest } from '../api/feed-pool.ts';
import type { FeedState } from '../api/live-feed.ts';
import type { Health, Readiness } from '../api/wire.ts';
import type { App } from './app.ts';
import { summarizeVerdict, type Verdict, type VerdictSummary } from './verdict-summary.ts';

const EVERY_MS = 3000;

/** Reads `/readyz` and `/healthz` together. */
export function verdictFeed(app: App): FeedRequest {
  return {
    key: 'verdict',
    pauseAfter: () => EVERY_MS,
    load: async (signal) => {
      const [readiness, health] = await Promise.all([
        app.api.read('/readyz', { query: { verbose: 'true' }, accept: [200, 503], signal }),
        app.api.read('/healthz', { signal }),
      ]);
      return { readiness: readiness as Readiness, health: health as Health };
    },
  };
}

/** The last answers. */
export function verdictState(app: App): FeedState<Verdict> {
  return app.pool.state('verdict');
}

/** The last answers in words. */
export function currentVerdict(app: App): VerdictSummary {
  const { value, failure } = verdictState(app);
  return summarizeVerdict(value, failure, app.now());
}
