import { countText } from '../../domain/count-text.ts';
import { isRecord } from '../../domain/is-record.ts';
import { isRolledBack, lastCurrentAt } from '../../domain/release/release-history.ts';
import { endedAs } from '../../domain/translation/run-brief.ts';
import type { Accepted } from '../../contract/schemas/answers/admin.ts';
import { renderProgress } from '../output/progress-line.ts';
import type { Painter } from '../../platform/terminal/painter.ts';
import { textBytes } from '../../domain/text-bytes.ts';
import {
  printable,
  textClock,
  textExcerpt,
  textFields,
  textTable,
  textTime,
} from '../../platform/terminal/text-table.ts';
import { itemTable, type Column, type View } from './output/view.ts';
import type { ReportOf } from './reports.ts';
import { briefOf, describeOutcome, type TaskView } from './task-brief.ts';

/** Longest value in the details of a task, characters: digests and ids of snapshots are shorter. */
const DETAIL_VALUE_MAX = 100;
const RESULT_LINE_MAX = 200;
const RESULT_FILES_MAX = 5;

type ReleaseRow = ReportOf<'release.list'>['releases'][number];

/** The localized releases that were published; `undefined` while they are not known. */
export type PublishedHistory = ReportOf<'translation.status'>['history'] | undefined;

/** The history of releases, that which became current last first. */
export function latestFirst({ releases }: ReportOf<'release.list'>): readonly ReleaseRow[] {
  return releases.toSorted((one, other) => lastCurrentAt(other) - lastCurrentAt(one));
}

/** Renders the history of releases. */
export function renderReleases(
  report: ReportOf<'release.list'>,
  view: View,
  published: PublishedHistory,
): string {
  const { now } = view;
  const columns: Array<Column<ReleaseRow>> = [
    { title: 'CHANNEL', cell: ({ channel }) => channel },
    { title: 'RELEASE', cell: ({ release_id: id }) => id },
    { title: 'STATE', cell: (row) => stateOf(row, published) },
    { title: 'ENTRIES', cell: ({ manifest }) => String(manifest?.entry_count ?? '-') },
    { title: 'SIZE', cell: ({ manifest }) => (manifest === null ? '-' : textBytes(manifest.total_bytes)) },
    { title: 'BECAME CURRENT', cell: ({ published_at: at }) => textTime(at, now) },
    { title: 'OLDEST CHECK', cell: ({ artifact_integrity: { checked_at: at } }) => textTime(at, now) },
    { title: 'DAMAGED', cell: ({ artifact_integrity: { damaged } }) => String(damaged) },
    { title: 'CREATED', cell: ({ created_at: at }) => textTime(at, now), wide: true },
    { title: 'BASE', cell: ({ base_release_id: base }) => base ?? '-', wide: true },
    { title: 'MANIFEST', cell: ({ manifest }) => manifest?.blake3 ?? '-', wide: true },
  ];
  return itemTable(latestFirst(report), columns, view);
}

function stateOf(row: ReleaseRow, published: PublishedHistory): string {
  const state = isRolledBack(row, published) ? 'rolled_back' : row.state;
  return row.stale === true ? `${state}, stale` : state;
}

/** Renders tasks, one a line. */
export function renderTasks(tasks: readonly TaskView[], view: View): string {
  const { now } = view;
  const columns: Array<Column<TaskView>> = [
    { title: 'TASK', cell: ({ task_id: id }) => id },
    { title: 'KIND', cell: ({ kind }) => kind },
    { title: 'STATUS', cell: endedAs },
    { title: 'LANE', cell: ({ lane }) => lane },
    { title: 'CREATED', cell: ({ created_at: at }) => textTime(at, now) },
    { title: 'STARTED', cell: ({ started_at: at }) => textTime(at, now), wide: true },
    { title: 'FINISHED', cell: ({ finished_at: at }) => textTime(at, now), wide: true },
    { title: 'ATTEMPT', cell: ({ attempt, max_attempts: most }) => `${attempt} of ${most}`, wide: true },
    { title: 'REVIEWER', cell: ({ reviewer }) => reviewer ?? '-', wide: true },
    { title: 'ARGUMENTS', cell: ({ args }) => pairsOf(args) || '-', wide: true },
    { title: 'DETAIL', cell: (task) => briefOf(task, view) },
  ];
  return itemTable(tasks, columns, view);
}

/** Renders all fields of one task. */
export function renderTask(task: TaskView, { now, painter }: View): string {
  const optional: Array<[string, string | null]> = [
    ['progress', progressOf(task)],
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
  const fields: Array<[string, string]> = [
    ['task', task.task_id],
    ['kind', task.kind],
    ['status', endedAs(task)],
    ['attempt', `${task.attempt} of ${task.max_attempts}`],
    ['arguments', JSON.stringify(task.args, bigintAsText)],
    ['created', textTime(task.created_at, now)],
    ['started', textTime(task.started_at, now)],
    ['finished', textTime(task.finished_at, now)],
    ...optional.filter((field): field is [string, string] => field[1] !== null),
  ];
  return textFields(fields, painter) + renderResult(task.result);
}

/** The last progress of a task can be that of an early phase, which says nothing once it has succeeded. */
function progressOf({ progress, status }: TaskView): string | null {
  return progress === null || status === 'succeeded' ? null : renderProgress(progress);
}

/** A result: a long one is indented, so that a reader finds its members, without groups of zeros. Its JSON has all of it. */
function renderResult(result: Readonly<Record<string, unknown>> | null | undefined): string {
  if (result === null || result === undefined) return '';
  const files = filesOf(result);
  if (files === null) return renderMembers(result);
  const { files: _files, destinations: _destinations, ...others } = result;
  return renderMembers(others) + fileTable(files, result['destinations']);
}

type ResultFile = Readonly<Record<string, unknown>> & { readonly destination: string };

/** The files of a publication or a rollback; `null` for results without such a list. */
function filesOf({ files }: Readonly<Record<string, unknown>>): readonly ResultFile[] | null {
  return Array.isArray(files) && files.every(isResultFile) ? files : null;
}

function isResultFile(value: unknown): value is ResultFile {
  return isRecord(value) && typeof value['destination'] === 'string';
}

/** A file without a translation has only a coverage, of 0, and is not shown. */
function fileTable(files: readonly ResultFile[], destinations: unknown): string {
  if (files.length === 0) return 'files: none\n';
  const coverage = new Map(
    (Array.isArray(destinations) ? destinations : [])
      .filter(isResultFile)
      .map(({ destination, coverage: part }) => [destination, part]),
  );
  const rows = files
    .slice(0, RESULT_FILES_MAX)
    .map(({ destination, edited_units: edited, units = edited, size }) => [
      destination,
      units === undefined ? '-' : String(units as number),
      coverage.has(destination) ? `${Math.floor(Number(coverage.get(destination)) * 100)} %` : '-',
      size === undefined ? '-' : textBytes(Number(size)),
    ]);
  const titles = ['FILE', 'UNITS', 'COVERAGE', 'SIZE'];
  // A column without values says nothing.
  const kept = titles.map((_title, column) => rows.some((row) => row[column] !== '-'));
  const cells = (row: readonly string[]): readonly string[] => row.filter((_cell, column) => kept[column]);
  const more = files.length - rows.length;
  const counted = files.filter((file) => (file['edited_units'] ?? file['units']) !== undefined);
  const units = counted.reduce((sum, file) => sum + Number(file['edited_units'] ?? file['units']), 0);
  const size = files.reduce((sum, file) => sum + Number(file['size'] ?? 0), 0);
  const facts = [
    countText(files.length, 'file'),
    // The files of a publication do not say how many of their units it changed.
    ...(counted.length === 0 ? [] : [countText(units, 'unit')]),
    ...(size === 0 ? [] : [textBytes(size)]),
  ];
  const rest = more > 0 ? `and ${more} more: -o json has all\n` : '';
  return `${facts.join(', ')}\n${textTable(cells(titles), rows.map(cells))}${rest}`;
}

function renderMembers(result: object): string {
  const line = JSON.stringify(result, bigintAsText);
  if (line.length <= RESULT_LINE_MAX) return textFields([['result', line]]);
  return `result:\n${indented(result, '  ')
    .map((each) => `  ${printable(each)}\n`)
    .join('')}`;
}

function indented(group: object, indent: string): readonly string[] {
  const isList = Array.isArray(group);
  const members = Object.entries(group).filter(([name, value]) => withoutZeros(name, value) !== undefined);
  const lines = members.flatMap(([name, value], at) => {
    const line = JSON.stringify(value, withoutZeros);
    const isLong = typeof value === 'object' && value !== null && line.length > DETAIL_VALUE_MAX;
    const [first = '', ...more] = isLong ? indented(value as object, `${indent}  `) : [line];
    const shown = [`${indent}${isList ? '' : `${JSON.stringify(name)}: `}${first}`, ...more];
    return at < members.length - 1 ? [...shown.slice(0, -1), `${shown.at(-1) ?? ''},`] : shown;
  });
  return [isList ? '[' : '{', ...lines, `${indent.slice(2)}${isList ? ']' : '}'}`];
}

/** Leaves out named groups of zeros; an item of a list stays. */
function withoutZeros(name: string, value: unknown): unknown {
  return isAllZero(value) && !/^\d*$/.test(name) ? undefined : bigintAsText(name, value);
}

/** Whether a value is a group of zeros, such as the usage of a provider that was not asked. */
function isAllZero(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const values = Object.values(value);
  return values.length > 0 && values.every((each) => each === 0 || each === 0n);
}

/** Renders the answer to an accepted action. */
export function renderAccepted(accepted: Accepted): string {
  const { action, task_id, status, deduplicated, ignored_fields, result } = accepted;
  const fields = textFields([
    ['action', action],
    ['task', deduplicated ? `${task_id} (already ${status})` : task_id],
    ['status', status],
    ...(ignored_fields.length === 0 ? [] : [['ignored fields', ignored_fields.join(', ')] as const]),
  ]);
  return fields + renderResult(result);
}

type Schedule = ReportOf<'schedule.list'>['items'][number];

/** Renders schedules, one a line. */
export function renderSchedules({ items }: ReportOf<'schedule.list'>, view: View): string {
  const { now } = view;
  const columns: Array<Column<Schedule>> = [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'GROUP', cell: ({ group }) => group },
    { title: 'ACTION', cell: ({ action }) => action },
    { title: 'STATE', cell: ({ exhausted, enabled }) => (exhausted ? 'ended' : enabled ? 'on' : 'off') },
    { title: 'EVERY', cell: ({ every_seconds: every }) => (every === null ? 'once' : `${every}s`) },
    { title: 'NEXT', cell: ({ next_run_unix_seconds: at }) => textTime(at, now) },
    { title: 'LAST', cell: ({ last_status: status }) => status ?? '-' },
    {
      title: 'RUNS',
      cell: ({ run_count: runs, max_runs: most }) => (most === null ? `${runs}` : `${runs}/${most}`),
    },
    { title: 'ORIGIN', cell: ({ origin }) => origin, wide: true },
    { title: 'LAST RUN', cell: ({ last_run_unix_seconds: at }) => textTime(at, now), wide: true },
    { title: 'LAST TASK', cell: ({ last_task_id: id }) => id ?? '-', wide: true },
    { title: 'SKIPPED', cell: ({ skipped_overlap: skipped }) => String(skipped), wide: true },
    { title: 'ARGS', cell: ({ args }) => args.join(' ') },
  ];
  return itemTable(items, columns, view);
}

/** Renders the checks of the doctor, worst first. */
export function renderDoctor({ status, checks }: ReportOf<'daemon.doctor'>, view: View): string {
  const order = ['failing', 'degraded', 'ok'];
  const sorted = [...checks].sort((left, right) => order.indexOf(left.status) - order.indexOf(right.status));
  const table = itemTable(
    sorted,
    [
      { title: 'CHECK', cell: ({ id }) => id },
      // A check of something that has not happened yet says nothing.
      { title: 'STATUS', cell: (check) => (check.evaluated ? check.status : '-') },
      { title: 'SINCE', cell: ({ since }) => textTime(since, view.now) },
      { title: 'FINDING', cell: ({ message }) => message },
    ],
    view,
  );
  return `${view.painter.cell('status', status)}\n\n${table}`;
}

/** Renders one line of a log. */
export function renderLogLine(line: ReportOf<'daemon.logs'>['lines'][number], painter: Painter): string {
  const fields =
    line.fields === undefined || Object.keys(line.fields).length === 0
      ? ''
      : ` ${JSON.stringify(line.fields, bigintAsText)}`;
  const task = line.task_id === undefined ? '' : ` [${line.task_id}]`;
  const level = painter.cell('level', line.level.padEnd(5));
  return `${textClock(line.ts)} ${level} ${printable(`${line.msg}${task}${fields}`)}\n`;
}

/** How a task goes or ended, with its whole progress and result; empty when there is nothing to say yet. */
export function outcomeOf(task: TaskView): string {
  return describeOutcome(task, { progress: renderProgress, result: pairsOf });
}

/** The simple members of an object, such as `release_id=r1 unchanged=true`. */
function pairsOf(object: object): string {
  return Object.entries(object)
    .filter(([, value]) => ['string', 'number', 'bigint', 'boolean'].includes(typeof value))
    .map(([name, value]) => `${name}=${textExcerpt(String(value), DETAIL_VALUE_MAX)}`)
    .join(' ');
}

function bigintAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
