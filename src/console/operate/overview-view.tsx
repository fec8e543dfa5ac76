import { currentVerdict, servedBadge, verdictState } from './banner.js';
import { badge, code, empty, facts, panel, time } from './elements.js';
import { count, words } from './format.js';
import { h } from './preact.js';
import { actionButton, reportFeed } from './view.js';
import { isActive, progress, taskBadge, taskLink } from './task-parts.js';
import { cancelButton, taskListFeed } from './tasks-view.js';

/** @import { App } from './app.js' */
/** @import { FeedState } from './live-feed.js' */
/** @import { ServiceState, Verdict } from './verdict-summary.js' */
/** @import { View } from './view.js' */
/** @import { Report, Task } from './wire.d.ts' */

const RELATIONS = {
  in_sync: 'It was made for the current official release.',
  stale: 'It was made for an earlier official release.',
  no_official: null,
  no_localized: 'No localized release is published.',
  none: null,
};
/** Actions that the overview always offers. */
const QUICK_ACTIONS = ['sync', 'verify', 'repair'];
/** Schedules that the overview shows. */
const NEXT_RUNS = 4;

/** @type {View} */
export const overviewView = {
  id: 'overview',
  title: 'Overview',
  feeds: (app) => [
    taskListFeed(app),
    reportFeed(app, 'release.status'),
    reportFeed(app, 'daemon.doctor'),
    reportFeed(app, 'schedule.list'),
  ],
  render: (app) => [
    app.canControl() ? h('p', { class: 'buttons', key: 'quick' }, quickActions(app)) : null,
    channels(app),
    h('div', { class: 'columns', key: 'columns' }, runningTasks(app), doctor(app), nextRuns(app)),
    checks(app),
  ],
};

/**
 * The usual actions. The primary one is the remedy of the present state, if an action is.
 *
 * @param {App} app
 */
function quickActions(app) {
  const { action: remedy } = currentVerdict(app);
  const others = QUICK_ACTIONS.filter((action) => action !== remedy);
  return [
    remedy === null ? null : actionButton(app, words(remedy), { action: remedy }, { class: 'primary' }),
    ...others.map((action) => actionButton(app, words(action), { action })),
  ];
}

/** @param {App} app */
function channels(app) {
  /** @type {FeedState<Report<'release.status'>>} */
  const feed = app.pool.state('release.status');
  return panel(app, { title: 'Channels', feed }, (report) =>
    h('div', { class: 'columns' }, channel(app, 'official', report), channel(app, 'localized', report)),
  );
}

/**
 * @param {App} app
 * @param {'official' | 'localized'} name
 * @param {Report<'release.status'>} report
 */
function channel(app, name, report) {
  const health = verdictState(app).value?.health;
  const verdict = health?.verdicts[name];
  const state = health?.service?.channels[name];
  const release = report[name];
  const isAbsent = name === 'localized' && release === null;
  const sync = name === 'official' ? report.sync : undefined;
  return h(
    'article',
    { class: 'card', key: name },
    h(
      'h3',
      null,
      words(name),
      ' ',
      verdict === undefined ? null : isAbsent ? badge('quiet', 'None') : servedBadge(verdict.distributable),
    ),
    facts([
      ['Release', release === null ? 'none' : code(release.release_id)],
      ['Integrity', release === null ? null : integrity(release, state?.state)],
      ['Verified', release === null ? null : time(app, release.verified_at, 'never')],
      ['Since', verdict === undefined ? null : time(app, verdict.since)],
      ['Why', isAbsent ? null : why(state)],
      ['Last sync', sync === undefined ? null : lastSync(app, sync)],
      ['Next sync', sync === undefined ? null : time(app, sync.next_at, 'none is planned')],
      ['Relation', name === 'localized' ? RELATIONS[report.relation] : null],
      [
        'Snapshot',
        release === null ? null : code(shortened(release.snapshot_id), { title: release.snapshot_id }),
      ],
    ]),
  );
}

/** @param {ServiceState['channels']['official']} [state] */
function why(state) {
  return state === undefined || state.reason === null ? null : `${state.message} (${state.reason})`;
}

/**
 * @param {App} app
 * @param {NonNullable<Report<'release.status'>['sync']>} sync
 */
function lastSync(app, { last, consecutive_failures: failures }) {
  if (last === null) return 'none has ended';
  const state = words(last.result ?? last.status);
  return [
    badge(last.status === 'failed' ? 'bad' : 'good', failures > 1 ? `${state}, ${failures} in a row` : state),
    ' ',
    time(app, last.finished_at),
    last.code === null ? null : ` ${last.message} (${last.code})`,
  ];
}

/**
 * The integrity of a release. The server's verdict may include damage that the daemon is still checking.
 *
 * @param {NonNullable<Report<'release.status'>['official']>} release
 * @param {string} [channelState] of the channel, as the server decides it
 */
function integrity({ integrity: state, damaged_count: damaged }, channelState) {
  if (state === 'damaged' && damaged > 0) return badge('bad', `${count(damaged)} damaged`);
  if (state === 'damaged' || channelState === 'damaged') return badge('bad', 'Damaged');
  if (state === 'ok') return badge('good', 'Whole');
  return badge('quiet', 'Not verified');
}

/** @param {string} digest */
function shortened(digest) {
  return `${digest.slice(0, 19)}…`;
}

/** @param {App} app */
function runningTasks(app) {
  /** @type {FeedState<Report<'task.list'>>} */
  const feed = app.pool.state('task.list');
  return panel(app, { title: 'Running now', feed }, ({ items }) => {
    const active = items.filter(isActive);
    if (active.length === 0) return empty('No active tasks.');
    return h(
      'ul',
      { class: 'rows' },
      active.map((task) => h('li', { key: task.task_id }, taskRow(app, task))),
    );
  });
}

/**
 * @param {App} app
 * @param {Task} task
 */
function taskRow(app, task) {
  return [
    h('div', { class: 'row-head' }, taskLink(task), ' ', taskBadge(task.status), cancelButton(app, task)),
    progress(task),
  ];
}

/** @param {App} app */
function doctor(app) {
  /** @type {FeedState<Report<'daemon.doctor'>>} */
  const feed = app.pool.state('daemon.doctor');
  return panel(
    app,
    { title: 'Doctor', feed, tools: h('a', { href: '#/diagnostics' }, 'All checks') },
    (report) => {
      const troubled = report.checks.filter(({ status }) => status !== 'ok');
      const good = report.checks.length - troubled.length;
      return [
        h('p', { key: 'sum' }, `${good} of ${report.checks.length} checks are ok.`),
        troubled.length > 0 &&
          h(
            'ul',
            { class: 'rows', key: 'rows' },
            troubled.map(({ id, status, message }) =>
              h(
                'li',
                { key: id },
                badge(status === 'failing' ? 'bad' : 'warn', words(status)),
                ' ',
                code(id),
                ' ',
                h('span', null, message),
              ),
            ),
          ),
      ];
    },
  );
}

/** @param {App} app */
function nextRuns(app) {
  /** @type {FeedState<Report<'schedule.list'>>} */
  const feed = app.pool.state('schedule.list');
  return panel(
    app,
    { title: 'Next runs', feed, tools: h('a', { href: '#/schedules' }, 'Schedules') },
    ({ items }) => {
      const due = items
        .filter(
          ({ enabled, replaced_by: other, next_run_unix_seconds: next }) =>
            enabled && other === null && next !== null,
        )
        .sort((left, right) => Number(left.next_run_unix_seconds) - Number(right.next_run_unix_seconds))
        .slice(0, NEXT_RUNS);
      if (due.length === 0) return empty('No scheduled runs.');
      return h(
        'ul',
        { class: 'rows' },
        due.map(({ id, action, next_run_unix_seconds: next }) =>
          h('li', { key: id }, code(id), ' ', h('span', null, action), ' ', time(app, Number(next))),
        ),
      );
    },
  );
}

/** @param {App} app */
function checks(app) {
  /** @type {FeedState<Verdict>} */
  const feed = verdictState(app);
  return panel(app, { title: 'Checks of the verdict', feed }, ({ readiness }) =>
    h(
      'ul',
      { class: 'checks' },
      (readiness.checks ?? []).map(({ name, ok, message, reason }) =>
        h(
          'li',
          { class: ok === null ? 'quiet' : ok ? 'good' : 'bad', key: name },
          h('span', { class: 'sign', 'aria-hidden': 'true' }, ok === null ? '–' : ok ? '✓' : '✕'),
          words(name),
          ok === false
            ? `: ${message ?? 'failed'} (${reason ?? 'no reason given'})`
            : h('span', { class: 'unseen' }, ok ? ': ok' : ': not evaluated'),
        ),
      ),
    ),
  );
}
