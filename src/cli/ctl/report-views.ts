import type { z } from 'zod';
import type { REPORTS } from '../../contract/reports/reports.ts';
import type { Accepted } from '../../contract/schemas/answers/admin.ts';
import { renderProgress } from '../output/progress-line.ts';
import {
  printable,
  textBytes,
  textClock,
  textFields,
  textTable,
  textTime,
} from '../../platform/terminal/text-table.ts';

/** Longest value in the details of a task, characters: digests and ids of snapshots are shorter. */
const DETAIL_VALUE_MAX = 100;
/** Longest result that stands on one line, characters. */
const RESULT_LINE_MAX = 200;

/** A report as its schema gives it. */
type ReportOf<N extends keyof typeof REPORTS> = z.infer<(typeof REPORTS)[N]['answer']['schema']>;

/** A task as task.status and task.list give it. */
export type TaskView = ReportOf<'task.status'>['task'];

/** Renders the history of releases. */
export function renderReleases({ releases }: ReportOf<'release.list'>, now: number): string {
  return textTable(
    ['CHANNEL', 'RELEASE', 'STATE', 'ENTRIES', 'SIZE', 'PUBLISHED', 'CHECKED', 'DAMAGED'],
    releases.map(({ channel, release_id, state, manifest, published_at, artifact_integrity }) => [
      channel,
      release_id,
      state,
      String(manifest?.entry_count ?? '-'),
      manifest === null ? '-' : textBytes(manifest.total_bytes),
      textTime(published_at, now),
      textTime(artifact_integrity.checked_at, now),
      String(artifact_integrity.damaged),
    ]),
  );
}

/** Renders tasks, one a line. */
export function renderTasks(tasks: readonly TaskView[], now: number): string {
  return textTable(
    ['TASK', 'KIND', 'STATUS', 'LANE', 'CREATED', 'DETAIL'],
    tasks.map((task) => [
      task.task_id,
      task.kind,
      task.status,
      task.lane,
      textTime(task.created_at, now),
      detailOf(task),
    ]),
  );
}

/** Renders all fields of one task. */
export function renderTask(task: TaskView, now: number): string {
  const optional: Array<[string, string | null]> = [
    ['progress', task.progress === null ? null : renderProgress(task.progress)],
    [
      'cancelled',
      task.cancel_requested_at === null
        ? null
        : `${textTime(task.cancel_requested_at, now)} ${task.cancel_reason ?? ''}`,
    ],
    ['failure', task.failure_code === null ? null : `${task.failure_code}: ${task.failure_reason ?? ''}`],
    ['schedule', task.schedule_id],
    ['reviewer', task.reviewer],
    ['reason', task.reason],
    ['request', task.correlation_id],
  ];
  const fields = textFields([
    ['task', task.task_id],
    ['kind', task.kind],
    ['status', task.status],
    ['attempt', `${task.attempt} of ${task.max_attempts}`],
    ['arguments', JSON.stringify(task.args, bigintAsText)],
    ['created', textTime(task.created_at, now)],
    ['started', textTime(task.started_at, now)],
    ['finished', textTime(task.finished_at, now)],
    ...optional.filter((field): field is [string, string] => field[1] !== null),
  ]);
  return fields + renderResult(task.result);
}

/** A result: a long one is indented, so that a reader finds its members. */
function renderResult(result: object | null | undefined): string {
  if (result === null || result === undefined) return '';
  const line = JSON.stringify(result, bigintAsText);
  if (line.length <= RESULT_LINE_MAX) return textFields([['result', line]]);
  const lines = JSON.stringify(result, bigintAsText, 2).split('\n');
  return `result:\n${lines.map((each) => `  ${printable(each)}\n`).join('')}`;
}

/** Renders the answer to an accepted action. */
export function renderAccepted(accepted: Accepted): string {
  const { action, task_id, status, deduplicated, ignored_fields, result } = accepted;
  const fields = textFields([
    ['action', action],
    ['task', deduplicated ? `${task_id} (already queued)` : task_id],
    ['status', status],
    ...(ignored_fields.length === 0 ? [] : [['ignored fields', ignored_fields.join(', ')] as const]),
  ]);
  return fields + renderResult(result);
}

/** Renders schedules, one a line. */
export function renderSchedules({ items }: ReportOf<'schedule.list'>, now: number): string {
  return textTable(
    ['ID', 'GROUP', 'ACTION', 'ENABLED', 'EVERY', 'NEXT', 'LAST', 'RUNS', 'ARGS'],
    items.map((each) => [
      each.id,
      each.group,
      each.action,
      each.exhausted ? 'exhausted' : String(each.enabled),
      each.every_seconds === null ? 'once' : `${each.every_seconds}s`,
      textTime(each.next_run_unix_seconds, now),
      each.last_status ?? '-',
      each.max_runs === null ? String(each.run_count) : `${each.run_count}/${each.max_runs}`,
      each.args.join(' '),
    ]),
  );
}

/** Renders the checks of the doctor, worst first. */
export function renderDoctor({ status, checks }: ReportOf<'daemon.doctor'>, now: number): string {
  const order = ['failing', 'degraded', 'ok'];
  const sorted = [...checks].sort((left, right) => order.indexOf(left.status) - order.indexOf(right.status));
  return `${status}\n\n${textTable(
    ['CHECK', 'STATUS', 'SINCE', 'FINDING'],
    sorted.map((check) => [check.id, check.status, textTime(check.since, now), check.message]),
  )}`;
}

/** Renders one line of a log. */
export function renderLogLine(line: {
  readonly ts: number;
  readonly level: string;
  readonly msg: string;
  readonly task_id?: string | undefined;
  readonly fields?: object | undefined;
}): string {
  const fields =
    line.fields === undefined || Object.keys(line.fields).length === 0
      ? ''
      : ` ${JSON.stringify(line.fields, bigintAsText)}`;
  const task = line.task_id === undefined ? '' : ` [${line.task_id}]`;
  return `${textClock(line.ts)} ${line.level.padEnd(5)} ${printable(`${line.msg}${task}${fields}`)}\n`;
}

/** The most telling facts of a task: how it goes or ended, its arguments, and who asked for it. */
function detailOf(task: TaskView): string {
  const { args, reason, schedule_id: schedule } = task;
  const facts = [
    outcomeOf(task),
    pairsOf(args),
    schedule === null ? '' : `schedule ${schedule}`,
    reason ?? '',
  ].filter((fact) => fact !== '');
  return facts.length === 0 ? '-' : facts.join('; ');
}

/** How a task goes or ended; empty when there is nothing to say yet. */
export function outcomeOf(task: TaskView): string {
  if (task.failure_code !== null) return `${task.failure_code}: ${task.failure_reason ?? ''}`;
  if (task.status === 'running' && task.progress !== null) return renderProgress(task.progress);
  if (task.cancel_requested_at !== null) return `cancelled: ${task.cancel_reason ?? 'no reason given'}`;
  return task.result === null ? '' : pairsOf(task.result);
}

/** The simple members of an object, such as `release_id=r1 unchanged=true`. */
function pairsOf(object: object): string {
  return Object.entries(object)
    .filter(([, value]) => ['string', 'number', 'bigint', 'boolean'].includes(typeof value))
    .map(([name, value]) => `${name}=${shortened(String(value))}`)
    .join(' ');
}

function shortened(text: string): string {
  return text.length <= DETAIL_VALUE_MAX ? text : `${text.slice(0, DETAIL_VALUE_MAX)}…`;
}

function bigintAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
