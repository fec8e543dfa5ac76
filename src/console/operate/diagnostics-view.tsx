import { verdictState } from './banner.js';
import { badge, code, empty, facts, panel, select, table, time } from './elements.js';
import { duration, words } from './format.js';
import { LogLines } from './log-lines.js';
import { h } from './preact.js';
import { reportFeed } from './view.js';

/** @import { App } from './app.js' */
/** @import { FeedState } from './live-feed.js' */
/** @import { View } from './view.js' */
/** @import { Report } from './wire.d.ts' */

const TONES = /** @type {const} */ ({ ok: 'good', degraded: 'warn', failing: 'bad' });
const WORST_FIRST = ['failing', 'degraded', 'ok'];
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'];
const TAILS = ['100', '500', '2000'];

/** @type {View} */
export const diagnosticsView = {
  id: 'diagnostics',
  title: 'Diagnostics',
  feeds: (app) => [
    reportFeed(app, 'daemon.doctor'),
    reportFeed(app, 'daemon.logs', {
      key: `daemon.logs:${app.settings.logTail}`,
      query: { tail: app.settings.logTail },
      everyMs: 3000,
    }),
  ],
  render: (app) => [doctor(app), log(app), server(app)],
};

/** @param {App} app */
function doctor(app) {
  /** @type {FeedState<Report<'daemon.doctor'>>} */
  const feed = app.pool.state('daemon.doctor');
  const overall = feed.value === null ? null : badge(TONES[feed.value.status], words(feed.value.status));
  return panel(app, { title: 'Doctor', feed, tools: overall }, ({ checks }) =>
    table({
      caption: 'Checks of the daemon, the worst first',
      rows: checks.toSorted(
        (left, right) => WORST_FIRST.indexOf(left.status) - WORST_FIRST.indexOf(right.status),
      ),
      keyOf: ({ id }) => id,
      columns: [
        { head: 'Check', cell: ({ id }) => code(id) },
        { head: 'Status', cell: ({ status }) => badge(TONES[status], words(status)) },
        { head: 'Found', class: 'wide', cell: ({ message }) => message },
        { head: 'Since', cell: ({ since }) => time(app, since) },
      ],
    }),
  );
}

/** @param {App} app */
function server(app) {
  return panel(app, { title: 'This server', feed: verdictState(app) }, ({ health }) =>
    facts([
      ['Status', badge(health.status === 'ok' ? 'good' : 'warn', words(health.status))],
      ['Version', health.version],
      ['Running for', duration(health.uptime_seconds)],
      ['Last answer of the daemon', time(app, health.refresh.last_success_at, 'never')],
      ['Consecutive failures', String(health.refresh.consecutive_failures)],
      ['Last failure', health.refresh.last_error_code],
      ['Attestation', health.attestation === null ? 'none' : `version ${health.attestation.version}`],
      ['Issued', time(app, health.attestation?.issued_at)],
      ['Expires', time(app, health.attestation?.expires_at)],
    ]),
  );
}

/** @param {App} app */
function log(app) {
  const { logTail, logLevel, logText } = app.settings;
  /** @type {FeedState<Report<'daemon.logs'>>} */
  const feed = app.pool.state(`daemon.logs:${logTail}`);
  const tools = [
    select(
      'Lines',
      logTail,
      TAILS.map((tail) => [tail, tail]),
      (value) => app.set({ logTail: value }),
    ),
    select(
      'From level',
      logLevel,
      LEVELS.map((level) => [level, level]),
      (value) => app.set({ logLevel: value }),
    ),
    h(
      'div',
      { class: 'inline' },
      h('label', { for: 'log-text' }, 'Containing'),
      h('input', {
        id: 'log-text',
        type: 'search',
        value: logText,
        onInput: (/** @type {Event} */ event) =>
          app.set({ logText: /** @type {HTMLInputElement} */ (event.currentTarget).value }),
      }),
    ),
  ];
  return panel(app, { title: 'Log of the daemon', feed, tools }, ({ lines }) => {
    const least = LEVELS.indexOf(logLevel);
    const wanted = logText.toLowerCase();
    const shown = lines.filter(
      ({ level, msg }) => LEVELS.indexOf(level) >= least && msg.toLowerCase().includes(wanted),
    );
    if (shown.length === 0) return empty('No matching lines.');
    return h(LogLines, { app, label: 'Lines of the daemon', lines: shown });
  });
}
