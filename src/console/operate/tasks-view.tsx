import { badge, button, code, empty, facts, panel, rawText, select, table, time } from './elements.js';
import { renderExact } from './exact-json.js';
import { bytes, count, duration, words } from './format.js';
import { LogLines } from './log-lines.js';
import { h } from './preact.js';
import { failureOf, isActive, progress, taskBadge, taskLink } from './task-parts.js';
import { actionButton, reportFeed } from './view.js';

/** @import { App } from './app.js' */
/** @import { FeedRequest } from './feed-pool.js' */
/** @import { FeedState } from './live-feed.js' */
/** @import { View } from './view.js' */
/** @import { Report, Task } from './wire.d.ts' */

/** Rows on the page before the reader asks for more. */
const FIRST_ROWS = 50;
/** Members of a result that a row of the list shows. */
const SHOWN_RESULTS = 4;
const BUSY_MS = 1500;
const QUIET_MS = 5000;

/** @type {View} */
export const tasksView = {
  id: 'tasks',
  title: 'Tasks',
  feeds: (app) => {
    const id = app.route.argument;
    if (id === null) return [taskListFeed(app)];
    const isRunning = () => isActive(app.pool.state(`task:${id}`).value?.task ?? { status: 'running' });
    return [
      taskFeed(app, id),
      reportFeed(app, 'task.logs', {
        key: `task.logs:${id}`,
        query: { task_id: id },
        everyMs: () => (isRunning() ? BUSY_MS : 30_000),
      }),
    ];
  },
  render: (app) => (app.route.argument === null ? list(app) : detail(app, app.route.argument)),
};

/**
 * @param {App} app
 * @returns {FeedRequest}
 */
export function taskListFeed(app) {
  return reportFeed(app, 'task.list', {
    everyMs: (/** @type {Report<'task.list'>} */ { items }) => (items.some(isActive) ? BUSY_MS : QUIET_MS),
  });
}

/**
 * @param {App} app
 * @param {string} id
 * @returns {FeedRequest}
 */
export function taskFeed(app, id) {
  return reportFeed(app, 'task.status', {
    key: `task:${id}`,
    query: { task_id: id },
    everyMs: (/** @type {Report<'task.status'>} */ { task }) => (isActive(task) ? 1000 : 30_000),
  });
}

/**
 * @param {App} app
 * @param {Task} task
 */
export function cancelButton(app, task) {
  if (!isActive(task) || task.status === 'cancelling') return null;
  const about = `${task.kind} ${task.task_id}`;
  return actionButton(
    app,
    'Cancel',
    { action: 'task-cancel', fixed: { task_id: task.task_id } },
    { class: 'danger', about },
  );
}

/** @param {App} app */
function list(app) {
  /** @type {FeedState<Report<'task.list'>>} */
  const feed = app.pool.state('task.list');
  const { taskStatus, taskRows } = app.settings;
  const counts = Object.entries(feed.value?.counts ?? {});
  const options = /** @type {Array<readonly [string, string]>} */ ([
    ['', 'All'],
    ...counts.map(([status, some]) => /** @type {const} */ ([status, `${words(status)} (${count(some)})`])),
  ]);
  const tools = select('Status', taskStatus, options, (value) => app.set({ taskStatus: value }));
  return panel(app, { title: 'Tasks, newest first', feed, tools }, ({ items }) => {
    const rows = items.filter(({ status }) => taskStatus === '' || status === taskStatus);
    if (rows.length === 0) return empty('No tasks. Every action and every scheduled run creates one.');
    return [
      table({
        caption: 'Tasks, newest first',
        rows: rows.slice(0, taskRows),
        keyOf: ({ task_id: id }) => id,
        columns: [
          { head: 'Task', cell: taskLink },
          { head: 'Status', cell: (task) => taskBadge(task.status) },
          { head: 'Outcome', class: 'wide', cell: outcome },
          { head: 'Asked for', cell: (task) => time(app, task.created_at) },
          { head: 'Took', cell: (task) => took(app, task) },
          { head: 'By', cell: (task) => task.schedule_id ?? task.reviewer ?? '–' },
          { head: 'Actions', class: 'tools', cell: (task) => cancelButton(app, task) ?? '–' },
        ],
      }),
      rows.length > taskRows
        ? button(`Show ${Math.min(FIRST_ROWS, rows.length - taskRows)} more`, () =>
            app.set({ taskRows: taskRows + FIRST_ROWS }),
          )
        : null,
    ];
  });
}

/** @param {Task} task */
function outcome(task) {
  if (isActive(task)) return progress(task) ?? '–';
  // At a glance, a few members of the result say more than its JSON.
  const members = Object.entries(task.result ?? {})
    .map(resultText)
    .filter((text) => text !== null);
  return failureOf(task) ?? (members.length === 0 ? '–' : members.slice(0, SHOWN_RESULTS).join(' · '));
}

/** @param {[string, unknown]} member of a result */
function resultText([name, value]) {
  const label = words(name).toLowerCase();
  if (value === true) return label;
  if (typeof value !== 'number') return null;
  return name.endsWith('bytes')
    ? `${label.replace(/ ?bytes$/, '')} ${bytes(value)}`
    : `${label} ${count(value)}`;
}

/**
 * @param {App} app
 * @param {Task} task
 */
function took(app, { started_at: started, finished_at: finished }) {
  return started === null ? '–' : duration((finished ?? app.now()) - started);
}

/**
 * @param {App} app
 * @param {string} id
 */
function detail(app, id) {
  /** @type {FeedState<Report<'task.status'>>} */
  const feed = app.pool.state(`task:${id}`);
  /** @type {FeedState<Report<'task.logs'>>} */
  const logs = app.pool.state(`task.logs:${id}`);
  const tools = feed.value === null ? null : cancelButton(app, feed.value.task);
  return [
    h('p', { key: 'back' }, h('a', { href: '#/tasks' }, '← All tasks')),
    panel(app, { title: 'Task', feed, tools }, ({ task }) => taskFacts(app, task)),
    panel(app, { title: 'Log of the task', feed: logs }, ({ lines, truncated }) => [
      truncated ? badge('warn', 'The oldest lines were dropped') : null,
      lines.length === 0
        ? empty('The task has written no log lines.')
        : h(LogLines, { app, label: 'Lines of the task', lines }),
    ]),
  ];
}

/**
 * @param {App} app
 * @param {Task} task
 */
function taskFacts(app, task) {
  const args = Object.keys(task.args).length === 0 ? null : rawText('Arguments', renderExact(task.args, 2));
  return [
    h('p', { class: 'task-head' }, h('strong', null, task.kind), ' ', taskBadge(task.status)),
    isActive(task) ? progress(task) : null,
    facts([
      ['Id', code(task.task_id)],
      ['Failure', failureOf(task)],
      ['Asked for', time(app, task.created_at)],
      ['Started', time(app, task.started_at, 'not yet')],
      ['Ended', time(app, task.finished_at, 'not yet')],
      ['Took', took(app, task)],
      ['Attempt', `${task.attempt} of ${task.max_attempts}`],
      ['Lane', task.lane],
      ['Schedule', task.schedule_id],
      ['Reviewer', task.reviewer],
      ['Reason', task.reason],
      ['Cancel asked', task.cancel_requested_at === null ? null : time(app, task.cancel_requested_at)],
      ['Cancel reason', task.cancel_reason],
      ['Request', task.correlation_id === null ? null : code(task.correlation_id)],
    ]),
    args === null ? null : h('h3', null, 'Arguments'),
    args,
    task.result === null ? null : h('h3', null, 'Result'),
    task.result === null ? null : rawText('Result of the task', renderExact(task.result, 2)),
  ];
}
