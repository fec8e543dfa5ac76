import { pino, stdTimeFunctions, type Logger, stdSerializers } from 'pino';
import { createLogOutput, type LogOutput } from './log-output.ts';
import { traceFields } from './trace.ts';

export type { Logger };

/** The levels of the configuration. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogDestination {
  write(line: string): unknown;
}

export interface LoggerOptions {
  readonly name: string;
  readonly version?: string;
  readonly level: LogLevel;
  /** Default: standard output, written in the background. */
  readonly destination?: LogDestination;
  /** Masks each line before it is written, such as the tokens in it. */
  readonly mask?: (line: string) => string;
  /** Whether other processes write to the same standard output; each line then stays in one piece. */
  readonly sharesOutput?: boolean;
}

/** Bytes of log lines that wait for a slow reader of standard output; beyond it lines are dropped and counted. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

/**
 * Most bytes that a pipe takes from several writers without mixing them.
 *
 * Source: pipe(7), PIPE_BUF on Linux; POSIX asks for at least 512.
 */
const PIPE_BUF = 4096;

/** Fields that must not reach a log even when someone logs a whole object. */
const REDACTED = ['authorization', 'cookie', 'svc_token', 'token', 'headers.authorization', 'headers.cookie'];

/**
 * Makes a logger that writes one JSON object a line: `level` (a word), `time` (ISO 8601, UTC), `service`, `version`,
 * `msg`, the fields of the call, and `trace_id` and `span_id` while it works for a traced request. Values are escaped, so nobody can forge a line. Log the route, never a raw URL:
 * it may hold a token.
 */
export function createLogger(options: LoggerOptions): Logger {
  return pino(
    {
      level: options.level,
      base: {
        service: options.name,
        ...(options.version === undefined ? {} : { version: options.version }),
      },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // Without one, an error under any other name than `err` would be written as {}.
      serializers: { err: errorFields, error: errorFields },
      mixin: traceFields,
      redact: { paths: REDACTED, censor: '[redacted]' },
      ...(options.mask === undefined ? {} : { hooks: { streamWrite: options.mask } }),
    },
    options.destination ?? standardOutput(options.sharesOutput === true),
  );
}

/**
 * Standard output as a destination, written in the background.
 *
 * @param sharesOutput whether other processes write to it; each line then stays in one piece
 */
export function standardOutput(sharesOutput: boolean): LogOutput {
  return createLogOutput({
    fd: 1,
    maxWaitingBytes: MAX_WAITING_BYTES,
    ...(sharesOutput ? { maxWriteBytes: PIPE_BUF } : {}),
  });
}

/** A logger that writes nothing. */
export function createSilentLogger(): Logger {
  return pino({ level: 'silent' }, { write: () => undefined });
}

/**
 * Renders an error for a log line. An error of ours often ends with the text of its cause, which is then not repeated.
 *
 * @returns other values as they are
 */
export function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  return { ...stdSerializers.err(error), message: messageWithCauses(error) };
}

function messageWithCauses(error: Error): string {
  let message = error.message;
  const seen = new Set<unknown>([error]);
  for (let { cause } = error; cause instanceof Error && !seen.has(cause); { cause } = cause) {
    seen.add(cause);
    if (cause.message !== '' && !message.includes(cause.message)) message = `${message}: ${cause.message}`;
  }
  return message;
}
