import type { SQLInputValue } from 'node:sqlite';
import type { QueryOf, ReportBodyOf } from '../../../../contract/reports/reports.ts';
import { UNIT_STATES } from '../../../../domain/translation/unit-state.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import { isChosenTarget, isTargetOfTerm } from './chosen-targets.ts';
import type { Row } from './target-rows.ts';
import type { Work } from './work.ts';

/** The query of `translation.tasks`, parsed. */
export type TaskQuery = QueryOf<'translation.tasks'>;

/** Units by task. */
type UnitsOfTasks = ReadonlyMap<number, number>;

export interface TaskRequest extends TaskQuery {
  /** What {@link countChosen} has counted for the query; absent when it names no targets. */
  readonly chosen?: UnitsOfTasks;
}

interface CountRequest {
  readonly query: TaskQuery;
  /** The row of a target. */
  readonly from: number;
}

/** A part of a count: a task may be in several ones. */
export interface CountedUnits {
  readonly units: UnitsOfTasks;
  /** The row where the count continues; `null` at the end. */
  readonly next: number | null;
}

/** The body of `translation.tasks`. */
export type TaskPage = ReportBodyOf<'translation.tasks'>;

/** A task in reports. */
export type ReportedTask = TaskPage['items'][number];

/** Rows that one call counts, so that leases and stored targets do not wait for long. */
const STEP_ROWS = 10_000;
/** Spellings or translations of a term that are looked for. */
const MOST_TEXTS = 20;

const EXACT_FILTERS = [
  'task_id',
  'archive_entry',
  'status',
  'worker_status',
  'parse_status',
  'format',
] as const;

/**
 * Reads a page of tasks in the order in which they were made, superseded ones last, and counts all tasks that the filters select.
 */
export function readTaskPage({ database }: Work, query: TaskRequest): TaskPage {
  const { offset, limit, chosen = null } = query;
  const { sql, values } = conditionOf(database, query, chosen);
  const counts: Record<string, number> = {};
  let total = 0;
  for (const row of database
    .prepare(
      `SELECT status, count(*) AS count FROM task_of_release WHERE ${sql} GROUP BY status ORDER BY status`,
    )
    .iterate(...values)) {
    counts[String(row['status'])] = Number(row['count']);
    total += Number(row['count']);
  }
  const items = database
    .prepare(
      `SELECT * FROM task_of_release WHERE ${sql} ORDER BY status = 'superseded', task_seq LIMIT ? OFFSET ?`,
    )
    .all(...values, limit, offset)
    .map((row) => ({
      ...taskFields(row),
      ...(chosen === null ? {} : { chosen_units: chosen.get(Number(row['task_seq'])) ?? 0 }),
    }));
  return { total, offset, limit, counts, items };
}

/** Counts the tasks that are in reports by their status. */
export function countTasks(work: Work): Record<string, number> {
  const rows = work
    .sql('SELECT status, count(*) AS count FROM task WHERE is_visible = 1 GROUP BY status')
    .all();
  return Object.fromEntries(rows.map((row) => [String(row['status']), Number(row['count'])]));
}

const BUILDS = `SELECT build_id, target_language, (SELECT build_id FROM build AS current WHERE current.state = 'current'
    AND current.target_language = build.target_language) AS current_id FROM build
  WHERE release_id = ? AND state IN ('current', 'superseded')`;

/**
 * The SQL condition of the tasks of a release. A task of a file that did not change belongs to several: it was made before the
 * build with the tasks that left with the release, and leaves with a later one, or is still here.
 */
function isOfRelease(
  database: Database,
  releaseId: string,
): { readonly sql: string; readonly values: SQLInputValue[] } {
  const values: SQLInputValue[] = [];
  const parts = database
    .prepare(BUILDS)
    .all(releaseId)
    .map(({ build_id: buildId = null, current_id: currentId = null, target_language: language = null }) => {
      if (buildId === currentId) {
        values.push(buildId);
        return 'build_id = ?';
      }
      values.push(language, buildId, buildId, currentId);
      return 'target_language = ? AND made_in < ? AND (build_id >= ? OR build_id = ?)';
    });
  return { sql: parts.length === 0 ? '0' : `(${parts.join(' OR ')})`, values };
}

function conditionOf(
  database: Database,
  query: TaskQuery,
  chosen: UnitsOfTasks | null,
): { readonly sql: string; readonly values: SQLInputValue[] } {
  const given = EXACT_FILTERS.filter((name) => query[name] !== undefined);
  const parts = ['is_visible = 1', ...given.map((name) => `${name} = ?`)];
  const values = given.map((name): SQLInputValue => query[name] ?? null);
  if (query.release_id !== undefined) {
    const ofRelease = isOfRelease(database, query.release_id);
    parts.push(ofRelease.sql);
    values.push(...ofRelease.values);
  }
  if (query.destination !== undefined) {
    const isPattern = /[*?]/.test(query.destination);
    parts.push(isPattern ? 'destination GLOB ?' : 'destination = ?');
    // Only `*` and `?` are special for people, as in the globs of the configuration.
    values.push(isPattern ? query.destination.replaceAll('[', '[[]') : query.destination);
  }
  if (query.unit_state !== undefined) parts.push(hasUnits(query.unit_state));
  if (query.has_reason !== undefined) parts.push(hasText('reason', query.has_reason));
  if (query.has_failure_reason !== undefined) parts.push(hasText('failure_reason', query.has_failure_reason));
  if (chosen !== null) {
    parts.push('task_seq IN (SELECT value FROM json_each(?))');
    values.push(JSON.stringify([...chosen.keys()]));
  }
  return { sql: parts.join(' AND '), values };
}

/** The targets that a query chooses; `null` when it names none. */
function chosenOf(query: TaskQuery): ReturnType<typeof isChosenTarget | typeof isTargetOfTerm> | null {
  const { undo_run: run, undo_author: author, undo_since: since, term_source: source } = query;
  if (source !== undefined) {
    const { term_target: target = '', term_kept: isKept = false } = query;
    const lines = (text: string): string[] =>
      text
        .split('\n')
        .filter((line) => line !== '')
        .slice(0, MOST_TEXTS);
    return isTargetOfTerm({ sources: lines(source), targets: lines(target), isKept });
  }
  if (run === undefined && author === undefined && since === undefined) return null;
  return isChosenTarget({ run: run ?? null, author: author ?? null, since: since ?? null });
}

/**
 * Counts some of the targets that a query chooses, by their tasks; `null` when the query names none. No index finds them, so all
 * targets are read, over several calls.
 */
export function countChosen(
  { database, targetLanguage }: Work,
  { query, from }: CountRequest,
): CountedUnits | null {
  const chosen = chosenOf(query);
  if (chosen === null) return null;
  const end = from + STEP_ROWS;
  const isOfTerm = 'isChosen' in chosen;
  const columns = isOfTerm ? 'task_seq, target.source_text, target.target_text' : 'task_seq';
  const rows = database
    .prepare(
      `SELECT ${columns} FROM target NOT INDEXED CROSS JOIN task_unit USING (unit_id)
       WHERE target.rowid >= ? AND target.rowid < ? AND target_language = ? AND ${chosen.sql}`,
    )
    .iterate(from, end, targetLanguage, ...chosen.values);
  const units = new Map<number, number>();
  for (const row of rows) {
    if (isOfTerm && !chosen.isChosen(String(row['source_text']), String(row['target_text']))) continue;
    const task = Number(row['task_seq']);
    units.set(task, (units.get(task) ?? 0) + 1);
  }
  const last = database.prepare('SELECT max(rowid) AS last FROM target').get()?.['last'];
  return { units, next: Number(last) < end ? null : end };
}

/** @param states names of states with commas between them */
function hasUnits(states: string): string {
  const named = states.split(',');
  const given = UNIT_STATES.filter((state) => named.includes(state));
  return `(${given.map((state) => `${state} > 0`).join(' OR ') || '0'})`;
}

function hasText(column: string, wanted: boolean): string {
  return wanted ? `${column} <> ''` : `coalesce(${column}, '') = ''`;
}

/** The fields of a task in reports. */
export function taskFields(row: Row): ReportedTask {
  const textOf = (name: string): string | null => (typeof row[name] === 'string' ? row[name] : null);
  const timeOf = (name: string): number | null => (typeof row[name] === 'number' ? row[name] : null);
  const counts = UNIT_STATES.map((state) => [state, Number(row[state])] as const);
  return {
    task_id: String(row['task_id']),
    release_id: String(row['release_id']),
    destination: String(row['destination']),
    archive_entry: textOf('archive_entry'),
    format: String(row['format']),
    status: row['status'] as ReportedTask['status'],
    worker_status: row['worker_status'] as ReportedTask['worker_status'],
    parse_status: row['parse_status'] as ReportedTask['parse_status'],
    reason: textOf('reason'),
    failure_reason: textOf('failure_reason'),
    attempt: Number(row['attempt']),
    max_attempts: Number(row['max_attempts']),
    lease_owner: textOf('lease_owner'),
    lease_expires_at: timeOf('lease_expires_at'),
    next_attempt_at: timeOf('next_attempt_at'),
    provider: textOf('provider'),
    provider_run_id: textOf('provider_run_id'),
    unit_counts: Object.fromEntries(counts.filter(([, count]) => count > 0)),
    updated_at: Number(row['updated_at']),
  };
}
