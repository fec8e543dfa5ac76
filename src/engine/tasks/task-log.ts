import { parseJsonExact, stringifyJsonExact } from '../../contract/json/json-exact.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Database } from '../database/sqlite-database.ts';
import type { TaskLogLine, TaskLogPage } from './task-engine.ts';

/**
 * The logs of tasks. Lines are buffered in memory for a moment, so that a busy task does not cause a disk flush per
 * line.
 */
export interface TaskLog {
  /** Adds a line. Never throws, as {@link flush}: a line that cannot be added is lost and reported in the log. */
  add(
    taskId: string,
    level: TaskLogLine['level'],
    message: string,
    fields?: Readonly<Record<string, unknown>>,
  ): void;
  /** Writes the buffered lines. Never throws: a log that cannot be written must not fail its task. */
  flush(): void;
  /** The lines so far; only the newest when there are too many for one answer. */
  read(taskId: string): TaskLogPage;
}

interface TaskLogOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Number of newest lines kept for one task. */
const TASK_LOG_MAX_LINES = 10_000;
const FLUSH_INTERVAL_MS = 250;
const MAX_WAITING_LINES = 500;
const MAX_MESSAGE_LENGTH = 2000;
const MAX_FIELDS_LENGTH = 8000;
/** Maximum number of characters in one answer; the oldest lines beyond it are left out. */
const MAX_PAGE_LENGTH = 4_000_000;

interface WaitingLine {
  readonly taskId: string;
  readonly seq: number;
  readonly ts: number;
  readonly level: TaskLogLine['level'];
  readonly message: string;
  readonly fields: string | null;
}

interface LineRecord {
  readonly seq: number;
  readonly ts: number;
  readonly level: TaskLogLine['level'];
  readonly message: string;
  readonly fields_json: string | null;
}

/** Creates the logs over the main database. */
export function createTaskLog({ database, clock, logger }: TaskLogOptions): TaskLog {
  const write = createLineWriter(database);
  const select = database.prepare('SELECT * FROM task_log WHERE task_id = :task_id ORDER BY seq DESC');
  const numbers = createLineNumbers(database);
  let waiting: WaitingLine[] = [];
  let flushing = false;

  const flush = (): void => {
    const lines = waiting;
    waiting = [];
    numbers.forget();
    if (lines.length === 0) return;
    try {
      write(lines);
    } catch (error) {
      logger.error(
        { err: error, lines: lines.length },
        'lines of task logs could not be written and are lost',
      );
    }
  };

  const flushSoon = (): void => {
    if (flushing) return;
    flushing = true;
    void clock.sleep(FLUSH_INTERVAL_MS).then(() => {
      flushing = false;
      flush();
    });
  };

  return {
    add: (taskId, level, message, fields) => {
      try {
        waiting.push({
          taskId,
          seq: numbers.next(taskId),
          ts: unixSeconds(clock),
          level,
          message: message.slice(0, MAX_MESSAGE_LENGTH),
          fields: renderFields(fields),
        });
      } catch (error) {
        logger.error({ err: error, task_id: taskId }, 'a line of a task log could not be added and is lost');
        return;
      }
      if (waiting.length >= MAX_WAITING_LINES) flush();
      else flushSoon();
    },
    flush,
    read: (taskId) => {
      flush();
      const lines: TaskLogLine[] = [];
      let length = 0;
      for (const row of select.iterate({ task_id: taskId })) {
        const record = row as unknown as LineRecord;
        length += record.message.length + (record.fields_json?.length ?? 0);
        if (length > MAX_PAGE_LENGTH) break;
        lines.push(lineOf(record));
      }
      lines.reverse();
      return { lines, truncated: (lines[0]?.seq ?? 1) > 1 };
    },
  };
}

function createLineWriter(database: Database): (lines: readonly WaitingLine[]) => void {
  const insert = database.prepare(
    `INSERT INTO task_log (task_id, seq, ts, level, message, fields_json)
     VALUES (:task_id, :seq, :ts, :level, :message, :fields)`,
  );
  const trim = database.prepare('DELETE FROM task_log WHERE task_id = :task_id AND seq <= :seq');
  const write = (lines: readonly WaitingLine[]): void => {
    const newest = new Map<string, number>();
    for (const { taskId, ...line } of lines) {
      insert.run({ task_id: taskId, ...line });
      newest.set(taskId, line.seq);
    }
    for (const [taskId, seq] of newest) {
      if (seq > TASK_LOG_MAX_LINES) trim.run({ task_id: taskId, seq: seq - TASK_LOG_MAX_LINES });
    }
  };
  return (lines) => {
    // A commit waits up to a second for a busy disk, and the event loop would wait with it.
    database.transaction(
      () => {
        write(lines);
      },
      { durable: false },
    );
  };
}

/** Numbers the lines of each task, after those that the database has. `next` throws when that cannot be read. */
function createLineNumbers(database: Database) {
  const written = database.prepare('SELECT max(seq) AS seq FROM task_log WHERE task_id = :task_id');
  const last = new Map<string, number>();
  return {
    next: (taskId: string): number => {
      const seq = (last.get(taskId) ?? Number(written.get({ task_id: taskId })?.['seq'] ?? 0)) + 1;
      last.set(taskId, seq);
      return seq;
    },
    forget: () => last.clear(),
  };
}

function renderFields(fields: Readonly<Record<string, unknown>> | undefined): string | null {
  if (fields === undefined) return null;
  const text = stringifyJsonExact(redactFields(fields));
  return text.length <= MAX_FIELDS_LENGTH
    ? text
    : stringifyJsonExact({ omitted: 'the fields were too long' });
}

function lineOf({ seq, ts, level, message, fields_json: fields }: LineRecord): TaskLogLine {
  return {
    seq,
    ts,
    level,
    message,
    fields: fields === null ? null : (parseJsonExact(fields) as Readonly<Record<string, unknown>>),
  };
}

/** Matches names of fields whose values are credentials, at any depth. */
const SECRET_NAME = /token|secret|password|passphrase|authorization|cookie|credential|api_?key|private_?key/i;
const MAX_DEPTH = 6;

/** Replaces the values of fields whose names suggest credentials; values that are nested too deep are omitted. */
function redactFields(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return redact(fields, 0) as Readonly<Record<string, unknown>>;
}

function redact(value: unknown, depth: number): unknown {
  if (value instanceof Error) return value.message;
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) return '[nested]';
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      SECRET_NAME.test(name) ? '[redacted]' : redact(member, depth + 1),
    ]),
  );
}
