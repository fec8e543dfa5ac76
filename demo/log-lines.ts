import { isRecord } from '../src/domain/is-record.ts';

const LEVELS: Readonly<Record<string, string>> = {
  10: 'TRACE',
  20: 'DEBUG',
  30: 'INFO',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL',
};
const HIDDEN = new Set(['level', 'time', 'service', 'version', 'pid', 'hostname', 'msg', 'name']);

/**
 * Renders one JSON log line of a Slipway process for people: `12:00:01 daemon INFO message key=value`.
 * A line that is not JSON is passed through.
 *
 * @param source the name of the process
 * @param line one line without its line end
 */
export function renderReadableLine(source: string, line: string): string {
  const record = parseRecord(line);
  if (record === null) return `${' '.repeat(9)}${source.padEnd(7)}${line}`;
  const time = new Date(record['time'] as string | number);
  const clock = Number.isNaN(time.getTime()) ? '--:--:--' : time.toISOString().slice(11, 19);
  const level =
    typeof record['level'] === 'string'
      ? record['level'].toUpperCase()
      : (LEVELS[String(record['level'])] ?? '?');
  const message = typeof record['msg'] === 'string' ? record['msg'] : '';
  const fields = Object.entries(record)
    .filter(([key]) => !HIDDEN.has(key))
    .map(([key, value]) => `${key}=${fieldText(value)}`);
  return [clock, source.padEnd(6), level.padEnd(5), message, ...fields].join(' ');
}

/** The value of a field. An error is its message: the stack and the code stay in the log of the daemon. */
function fieldText(value: unknown): string {
  if (typeof value === 'string') return value;
  const { stack, message } = isRecord(value) ? value : {};
  return typeof stack === 'string' && typeof message === 'string' ? message : JSON.stringify(value);
}

function parseRecord(line: string): Record<string, unknown> | null {
  if (!line.startsWith('{')) return null;
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

/** Lines for each call of the demo: the program itself plays the translators, and says so in one line. */
const CALLS = /"msg":"(?:control call|action accepted)"/;
/** Jobs that follow each change of a text or a term. */
const FOLLOWING_JOBS = /"kind":"(?:propagate|requalify)"/;
const IS_INFO = /"level":(?:30|"info")/;

/**
 * Whether a line of a log only says that the demo works as it should, so that `make run` leaves it out while it plays the demo.
 *
 * @param line one JSON line of the log
 */
export function isDemoNoise(line: string): boolean {
  return IS_INFO.test(line) && (CALLS.test(line) || FOLLOWING_JOBS.test(line));
}

/**
 * Whether a line of a log says that the supervisor of the daemon stops. `slipway dev` leaves it out, because the daemon says the same
 * of itself, and both appear under one name.
 *
 * @param line one JSON line of the log
 */
export function isSupervisorStop(line: string): boolean {
  return /"level":"info".*"service":"slipway-daemon-supervisor".*(?:"code":0,"msg":"stopped"|"msg":"shutting down")/.test(
    line,
  );
}
