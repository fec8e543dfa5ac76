import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import { LOG_LINE_LEVELS } from '../../contract/schemas/vocabulary.ts';
import type { LogDestination } from '../../platform/logging/logging.ts';
import { type DefinedReport, defineReport } from '../../engine/define-report.ts';

/** A line of the daemon's log, as daemon.logs reports it. */
type RingLine = ReportBodyOf<'daemon.logs'>['lines'][number];

/** The newest lines of the daemon's log, kept in memory. */
export interface LogRing extends LogDestination {
  /** The newest `count` lines, oldest first. */
  tail(count: number): readonly RingLine[];
}

/** Maximum number of kept lines. */
const MAX_LINES = 2000;
/** Maximum length of a message; longer ones are cut. */
const MAX_MESSAGE_LENGTH = 2000;

/** Maximum number of kept fields of a line, and maximum length of each as JSON. */
const MAX_FIELDS = 20;
const MAX_FIELD_LENGTH = 500;
/** Fields that are the same on every line. */
const COMMON_FIELDS = new Set(['service', 'version', 'pid', 'hostname']);

/** Creates a ring that keeps the newest lines and passes every line to `next`. */
export function createLogRing(next: LogDestination): LogRing {
  const lines: RingLine[] = [];
  // The index of the next line; once the ring is full, it is also the index of the oldest line.
  let at = 0;
  return {
    write: (text) => {
      lines[at] = parseLine(text);
      at = (at + 1) % MAX_LINES;
      return next.write(text);
    },
    tail: (count) => {
      const ordered = lines.length < MAX_LINES ? lines : [...lines.slice(at), ...lines.slice(0, at)];
      return ordered.slice(-count);
    },
  };
}

/** Lines are JSON of our own logger; any other text is kept as a message. */
function parseLine(text: string): RingLine {
  try {
    const { time, level, msg, task_id: taskId, ...others } = JSON.parse(text) as Record<string, unknown>;
    const fields = shortFields(others);
    return {
      ts: typeof time === 'string' ? Date.parse(time) / 1000 : 0,
      level: LOG_LINE_LEVELS.find((each) => each === level) ?? 'info',
      msg: typeof msg === 'string' ? msg.slice(0, MAX_MESSAGE_LENGTH) : '',
      ...(typeof taskId === 'string' ? { task_id: taskId } : {}),
      ...(Object.keys(fields).length === 0 ? {} : { fields }),
    };
  } catch {
    return { ts: 0, level: 'info', msg: text.trimEnd().slice(0, MAX_MESSAGE_LENGTH) };
  }
}

function shortFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept = Object.entries(fields).filter(([name]) => !COMMON_FIELDS.has(name));
  return Object.fromEntries(kept.slice(0, MAX_FIELDS).map(([name, value]) => [name, shortValue(value)]));
}

/** A long value is cut; of an error, which is long for its stack, the message stays. */
function shortValue(value: unknown): unknown {
  const text = JSON.stringify(value);
  if (text.length <= MAX_FIELD_LENGTH) return value;
  const { message } = Object(value) as { readonly message?: unknown };
  const told = [value, message, text].find((each) => typeof each === 'string') ?? text;
  return told.slice(0, MAX_FIELD_LENGTH);
}

/** The report `daemon.logs`. */
export function logReport(ring: LogRing): DefinedReport {
  return defineReport('daemon.logs', ({ tail }) => ({ lines: ring.tail(tail) }));
}
