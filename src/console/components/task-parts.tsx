/** The parts that show a task, in every view. */

import { badge, code } from './elements.js';
import { bytes, count, words } from './format.js';
import { h } from './preact.js';

/** @import { Tone } from './elements.js' */
/** @import { Task } from './wire.d.ts' */

/** @type {Readonly<Record<Task['status'], Tone>>} */
const TASK_TONES = {
  queued: 'quiet',
  running: 'busy',
  cancelling: 'warn',
  succeeded: 'good',
  failed: 'bad',
  cancelled: 'quiet',
};

/** @param {string} status */
export function taskBadge(status) {
  return badge(TASK_TONES[/** @type {Task['status']} */ (status)] ?? 'quiet', words(status));
}

/** @param {Pick<Task, 'status'>} task */
export function isActive({ status }) {
  return status === 'queued' || status === 'running' || status === 'cancelling';
}

/** @param {Pick<Task, 'task_id' | 'kind'>} task */
export function taskLink({ task_id: id, kind }) {
  return h('a', { href: `#/tasks/${encodeURIComponent(id)}` }, kind);
}

/** @param {Pick<Task, 'kind' | 'progress'>} task */
export function progress({ kind, progress: at }) {
  if (at === null) return null;
  const amount = (/** @type {number} */ value) => (at.unit === 'bytes' ? bytes(value) : count(value));
  const of = at.total === null ? '' : ` of ${amount(at.total)}`;
  const percent = at.total === null || at.total === 0 ? '' : `${Math.floor((at.done / at.total) * 100)} % · `;
  return h(
    'div',
    { class: 'progress' },
    h('progress', {
      'aria-label': `Progress of ${kind}`,
      // An empty task counts as done; without a total the bar shows only that the task is running.
      ...(at.total === null ? {} : { max: at.total || 1, value: at.total === 0 ? 1 : at.done }),
    }),
    h(
      'p',
      null,
      `${percent}${amount(at.done)}${of} `,
      at.unit === 'bytes' ? null : h('span', null, `${at.unit} `),
      '· ',
      h('span', null, at.phase),
    ),
  );
}

/**
 * Why a task failed; `null` if it did not.
 *
 * @param {Pick<Task, 'failure_code' | 'failure_reason'>} task
 */
export function failureOf({ failure_code: failed, failure_reason: reason }) {
  return failed === null ? null : [code(failed), ' ', h('span', null, reason ?? '')];
}
