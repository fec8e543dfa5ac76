/** The verdict, at the top of the page. */

import { badge, facts, prose, time } from './elements.js';
import { h } from './preact.js';
import { summarizeVerdict } from './verdict-summary.js';

/** @import { App } from './app.js' */
/** @import { FeedState } from './live-feed.js' */
/** @import { FeedRequest } from './feed-pool.js' */
/** @import { Verdict, VerdictSummary } from './verdict-summary.js' */
/** @import { Health, Readiness } from './wire.d.ts' */

const EVERY_MS = 3000;
const SIGNS = { good: '✓', warn: '!', bad: '✕', unknown: '?' };

/**
 * @param {App} app
 * @returns {FeedRequest}
 */
export function verdictFeed(app) {
  return {
    key: 'verdict',
    pauseAfter: () => EVERY_MS,
    load: async (signal) => {
      const [readiness, health] = await Promise.all([
        app.api.read('/readyz', { query: { verbose: 'true' }, accept: [200, 503], signal }),
        app.api.read('/healthz', { signal }),
      ]);
      return { readiness: /** @type {Readiness} */ (readiness), health: /** @type {Health} */ (health) };
    },
  };
}

/**
 * @param {App} app
 * @returns {FeedState<Verdict>}
 */
export function verdictState(app) {
  return app.pool.state('verdict');
}

/**
 * @param {App} app
 * @returns {VerdictSummary}
 */
export function currentVerdict(app) {
  const { value, failure } = verdictState(app);
  return summarizeVerdict({ verdict: value, failure });
}

/**
 * @param {App} app
 * @param {{ readonly brief: boolean }} options `brief`: a good verdict takes less room
 */
export function banner(app, { brief }) {
  const { tone, title, why, todo, unknown, unknownSince, since, until } = currentVerdict(app);
  const { loadedAt, nextAt } = verdictState(app);
  const isBrief = brief && tone === 'good';
  return h(
    'section',
    { class: `verdict ${tone} ${isBrief ? 'brief' : ''}`, 'aria-labelledby': 'verdict-title' },
    h('span', { class: 'sign', 'aria-hidden': 'true' }, SIGNS[tone]),
    h(
      'div',
      null,
      h('h2', { id: 'verdict-title' }, title),
      why === '' || isBrief ? null : h('p', null, why),
      todo === null ? null : h('p', { class: 'todo' }, h('strong', null, 'What to do: '), prose(todo)),
      facts([
        ['Since', since === null ? null : time(app, since)],
        [
          tone === 'good' ? 'Attested until' : 'Served until',
          until === null ? null : [time(app, until), tone === 'good' ? ' and renewed before that' : null],
        ],
        ['Unknown', unknown === null ? null : [`${unknown} since `, time(app, unknownSince)]],
        [
          'The server answered',
          loadedAt === null || isBrief ? null : time(app, app.now() - (Date.now() - loadedAt) / 1000),
        ],
        [
          'Next try',
          tone === 'unknown' && nextAt !== null
            ? `in ${Math.max(0, Math.ceil((nextAt - Date.now()) / 1000))} s`
            : null,
        ],
      ]),
    ),
  );
}

/** @param {boolean} distributable */
export function servedBadge(distributable) {
  return distributable ? badge('good', 'Served') : badge('bad', 'Not served');
}
