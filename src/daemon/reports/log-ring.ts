import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import { LOG_LINE_LEVELS } from '../../contract/schemas/vocabulary.ts';
import type { LogDestination } from '../../platform/logging/logging.ts';

/** A line of the daemon's log, as daemon.logs reports it. */
export type RingLine = ReportBodyOf<'daemon.logs'>['lines'][number];

/** The newest lines of the daemon's log, kept in memory. */
export interface LogRing extends LogDestination {
  /** The newest `count` lines, oldest first. */
  tail(count: number): readonly RingLine[];
}

/** Maximum number of kept lines. */
const MAX_LINES = 2000;
/** Maximum length of a message; longer ones are cut. */
const MAX_MESSAGE_LENGTH = 2000;

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
    const { time, level, msg, task_id: taskId } = JSON.parse(text) as Record<string, unknown>;
    return {
      ts: typeof time === 'string' ? Date.parse(time) / 1000 : 0,
      level: LOG_LINE_LEVELS.find((each) => each === level) ?? 'info',
      msg: typeof msg === 'string' ? msg.slice(0, MAX_MESSAGE_LENGTH) : '',
      ...(typeof taskId === 'string' ? { task_id: taskId } : {}),
    };
  } catch {
    return { ts: 0, level: 'info', msg: text.trimEnd().slice(0, MAX_MESSAGE_LENGTH) };
  }
}
