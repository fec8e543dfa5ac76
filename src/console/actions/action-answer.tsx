import { button, code, facts, rawText } from './elements.js';
import { renderExact } from './exact-json.js';
import { h } from './preact.js';
import { failureOf, isActive, progress, taskBadge } from './task-parts.js';

/** @import { App } from './app.js' */
/** @import { Accepted, Task } from './wire.d.ts' */

/**
 * The answer to an action: the daemon's 202, and the current state of its task.
 *
 * @param {App} app
 * @param {Accepted} accepted
 * @param {() => void} close
 */
export function actionAnswer(app, accepted, close) {
  const { task_id: id, status, deduplicated, ignored_fields: ignored } = accepted;
  /** @type {Task | undefined} */
  const task = app.pool.state(`task:${id}`).value?.task;
  const result = task?.result ?? accepted.result;
  return h(
    'div',
    { class: 'answer' },
    h(
      'p',
      null,
      taskBadge(task?.status ?? status),
      ' ',
      task !== undefined && !isActive(task) ? 'The task has ended.' : 'The daemon has accepted it.',
    ),
    task === undefined || !isActive(task) ? null : progress(task),
    facts([
      ['Task', h('a', { href: `#/tasks/${encodeURIComponent(id)}`, onClick: close }, code(id))],
      ['Deduplicated', deduplicated ? 'An equal task already existed; this is that task.' : null],
      ['Not used', ignored.length > 0 ? ignored.join(', ') : null],
      ['Failure', task === undefined ? null : failureOf(task)],
    ]),
    result === undefined || result === null ? null : rawText('Result', renderExact(result, 2)),
    h('div', { class: 'buttons' }, button('Done', close, { class: 'primary' })),
  );
}
