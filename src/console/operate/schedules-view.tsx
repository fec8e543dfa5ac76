import { badge, code, empty, panel, table, time } from './elements.js';
import { count, duration, words } from './format.js';
import { typedText } from './form-model.js';
import { h } from './preact.js';
import { taskBadge } from './task-parts.js';
import { actionButton, reportFeed } from './view.js';

/** @import { App } from './app.js' */
/** @import { FeedState } from './live-feed.js' */
/** @import { View } from './view.js' */
/** @import { Report, Schedule } from './wire.d.ts' */

/** @type {Record<Schedule['origin'], string>} */
const ORIGINS = { configured: 'configuration', manual: 'a person', controller: 'a ReleaseChannel' };

/** @type {View} */
export const schedulesView = {
  id: 'schedules',
  title: 'Schedules',
  feeds: (app) => [reportFeed(app, 'schedule.list', { everyMs: 4000 })],
  render: (app) => {
    /** @type {FeedState<Report<'schedule.list'>>} */
    const feed = app.pool.state('schedule.list');
    const tools = actionButton(app, 'Add a schedule', { action: 'schedule-add' }, { class: 'primary' });
    return panel(app, { title: 'All schedules', feed, tools }, ({ items }) =>
      items.length === 0
        ? empty('No schedules yet. Start with a nightly verification.')
        : table({
            caption: 'Schedules, by id',
            rows: items,
            keyOf: ({ id }) => id,
            columns: [
              { head: 'Schedule', cell: ({ id }) => code(id) },
              { head: 'From', cell: ({ origin }) => ORIGINS[origin] },
              { head: 'Runs', cell: what },
              { head: 'State', cell: state },
              { head: 'Next run', cell: (row) => time(app, asNumber(row.next_run_unix_seconds), 'never') },
              {
                head: 'Every',
                cell: (row) => (row.every_seconds === null ? 'once' : duration(Number(row.every_seconds))),
              },
              { head: 'Done', cell: done },
              { head: 'Last', cell: (row) => last(app, row) },
              { head: 'Actions', class: 'tools', cell: (row) => rowActions(app, row) },
            ],
          }),
    );
  },
};

/** @param {number | bigint | null} value */
function asNumber(value) {
  return value === null ? null : Number(value);
}

/** @param {Schedule} row */
function what({ action, args, group }) {
  return [h('span', null, action), ' ', h('span', { class: 'faint' }, [group, ...args].join(' '))];
}

/** @param {Schedule} row */
function state({ enabled, exhausted, replaced_by: other }) {
  if (exhausted) return badge('quiet', 'Used up');
  // A daemon of the previous version leaves it out.
  if (other) return badge('quiet', `Replaced by ${other}`);
  return enabled ? badge('good', 'On') : badge('quiet', 'Off');
}

/** @param {Schedule} row */
function done({ run_count: runs, max_runs: most, skipped_overlap: skipped }) {
  const text = most === null ? count(runs) : `${count(runs)} of ${most}`;
  return skipped === 0 ? text : `${text}, ${count(skipped)} skipped`;
}

/**
 * @param {App} app
 * @param {Schedule} row
 */
function last(app, { last_status: status, last_task_id: task, last_run_unix_seconds: at }) {
  if (status === null) return '–';
  return [
    task === null
      ? taskBadge(status)
      : h('a', { href: `#/tasks/${encodeURIComponent(task)}` }, words(status)),
    ' ',
    time(app, at),
  ];
}

/**
 * @param {App} app
 * @param {Schedule} row
 */
function rowActions(app, row) {
  const fixed = { id: row.id };
  const about = row.id;
  const initial = {
    group: row.group,
    action: row.action,
    args: typedText(row.args),
    every_seconds: typedText(row.every_seconds),
    next_run_unix_seconds: typedText(row.next_run_unix_seconds),
    max_runs: typedText(row.max_runs),
    enabled: String(row.enabled),
  };
  return [
    actionButton(
      app,
      'Run now',
      { action: 'schedule-run', fixed, initial: { force: !row.enabled } },
      { about },
    ),
    actionButton(app, 'Edit', { action: 'schedule-update', fixed, initial, changesOnly: true }, { about }),
    // The configuration would bring it back.
    row.origin === 'configured'
      ? null
      : actionButton(app, 'Remove', { action: 'schedule-remove', fixed }, { class: 'danger', about }),
  ];
}
