import { fork, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import type { ParseErrorCode } from '../../../contract/reports/parse-error-codes.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import type { ContainerFile } from '../container/parse-container-file.ts';
import { failedContainer, type ContainerOutcome, type ParsedUnit } from '../container/parsed-container.ts';
import type { LoadedRules } from '../rules/load-rules.ts';
import type { ParseAnswer, ParseRequest } from './parse-messages.ts';
import { unpackUnits, type UnitBatch } from './unit-batch.ts';

/** A container to parse; its process has its own folder for temporary files. */
export type ParseWorkerJob = Omit<ContainerFile, 'scratchDirectory'>;

/** Parses containers in a process of its own, one at a time. */
export interface ParseWorker {
  /**
   * Parses one container. A process that crashes, exceeds its memory or its time costs only this container; the next one
   * gets a new process. A process that already parsed others may hold memory of theirs: a container that exceeds the memory
   * in it is parsed again in a new one, and only the units that it did not hand over before reach `onUnits`.
   *
   * @param onUnits called with at most 1,000 units at a time, one call after the other; the process runs ahead by a bounded
   * number of them
   * @throws the reason of the signal; the error of `onUnits`
   */
  parse(
    job: ParseWorkerJob,
    onUnits: (units: readonly ParsedUnit[]) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<ContainerOutcome>;
  /** Ends the process. */
  close(): void;
}

export interface ParseWorkerOptions {
  readonly rules: LoadedRules;
  /** A folder for temporary files. Each process has a folder in it, which is removed when the process has ended. */
  readonly scratchDirectory: string;
  /** Most resident memory of the process. */
  readonly memoryBytes: number;
  /** Longest time for one container, without the time that `onUnits` takes. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** The program of the process; tests can use another one. */
  readonly program?: URL;
}

/** Time between two looks at the memory of the process. */
const MEMORY_CHECK_MS = 100;
const PAGE_BYTES = 4096;
/** V8's own default. NODE_OPTIONS of the daemon has less, and a parser makes many short-lived objects. */
const SEMI_SPACE_MEBIBYTES = 16;
/** Most of what the process wrote to standard error that is kept to explain its end. */
const COMPLAINT_CHARACTERS = 8192;
/** How V8 and Node say that memory could not be allocated. */
const OUT_OF_MEMORY = /heap out of memory|Allocation failed|allocation failed/;

/** Creates a worker; its process starts with the first container. */
export function createParseWorker(options: ParseWorkerOptions): ParseWorker {
  let current: ParseProcess | null = null;

  const discard = (): void => {
    current?.child.kill('SIGKILL');
    current = null;
  };

  const parseOnce = async (
    job: ParseWorkerJob,
    onUnits: TakeUnits,
    signal: AbortSignal,
  ): Promise<ParseAttempt> => {
    signal.throwIfAborted();
    // A process that ended between two containers is none of the next one's business.
    if (current !== null && hasEnded(current)) current = null;
    current ??= startProcess(options);
    const active = current;
    const isFresh = active.containers === 0;
    active.containers += 1;
    const watching = new AbortController();
    const time = createStopwatch(options.clock);
    const { promise, resolve, reject } = Promise.withResolvers<ContainerOutcome>();
    const fail = (code: ParseErrorCode, message: string): void => {
      if (current === active) discard();
      resolve(failedContainer(code, message));
    };
    let stored = Promise.resolve();
    const store = async (units: UnitBatch): Promise<void> => {
      // After an error, and after the end of the process, nobody wants the rest.
      if (watching.signal.aborted) return;
      time.pause();
      await onUnits(unpackUnits(units));
      time.resume();
      send(active, { kind: 'continue' });
    };
    const onMessage = (answer: ParseAnswer): void => {
      if (answer.kind === 'outcome') stored.then(() => resolve(answer.outcome), reject);
      else {
        stored = stored.then(async () => await store(answer.units));
        stored.catch(reject);
      }
    };
    const onAbort = (): void => {
      reject(signal.reason as Error);
    };
    active.child.on('message', onMessage);
    active.onEnd = (how) => {
      const code = OUT_OF_MEMORY.test(how) ? 'memory_exceeded' : 'process_failed';
      fail(code, `the process that parsed the container ended ${how}`);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    watchLimits(active.child, options, time, watching.signal, fail);
    send(active, { kind: 'parse', job: { ...job, scratchDirectory: active.scratchDirectory } });
    try {
      return { outcome: await promise, isFresh };
    } catch (error) {
      // The process is in the middle of a container that nobody waits for.
      if (current === active) discard();
      throw error;
    } finally {
      watching.abort();
      active.child.off('message', onMessage);
      active.onEnd = () => undefined;
      signal.removeEventListener('abort', onAbort);
    }
  };

  return {
    parse: async (job, onUnits, signal) => {
      let handedOver = 0;
      const count: TakeUnits = async (units) => {
        await onUnits(units);
        handedOver += units.length;
      };
      const { outcome, isFresh } = await parseOnce(job, count, signal);
      if (isFresh || !outcome.issues.some(({ code }) => code === 'memory_exceeded')) return outcome;
      return (await parseOnce(job, withoutFirst(handedOver, onUnits), signal)).outcome;
    },
    close: discard,
  };
}

type TakeUnits = Parameters<ParseWorker['parse']>[1];

interface ParseAttempt {
  readonly outcome: ContainerOutcome;
  /** Whether this was the first container of its process. */
  readonly isFresh: boolean;
}

/** Hands over units behind the first ones. A container gives the same units in the same order every time. */
function withoutFirst(count: number, onUnits: TakeUnits): TakeUnits {
  let left = count;
  return async (units) => {
    const rest = units.slice(left);
    left -= units.length - rest.length;
    if (rest.length > 0) await onUnits(rest);
  };
}

function hasEnded({ child }: ParseProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

interface ParseProcess {
  readonly child: ChildProcess;
  readonly scratchDirectory: string;
  /** Containers that it was given. */
  containers: number;
  /** Called when the process has ended, with how. */
  onEnd: (how: string) => void;
}

/**
 * The variables of the environment that a process gets: where libraries and temporary files are, the language, and how memory is
 * managed.
 * The daemon's other ones, such as tokens, are not for a process that reads bytes from outside.
 */
const PASSED_VARIABLES = [
  'PATH',
  'LD_LIBRARY_PATH',
  'TMPDIR',
  'LANG',
  'LC_ALL',
  'TZ',
  'NODE_COMPILE_CACHE',
  'UV_THREADPOOL_SIZE',
  'MALLOC_ARENA_MAX',
  'MALLOC_MMAP_THRESHOLD_',
];

function minimalEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    PASSED_VARIABLES.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function startProcess(options: ParseWorkerOptions): ParseProcess {
  const { memoryBytes, program, rules } = options;
  const mebibytes = Math.floor(memoryBytes / (1024 * 1024));
  const child = fork(program ?? new URL('./parse-process.ts', import.meta.url), [String(options.timeoutMs)], {
    env: minimalEnvironment(),
    serialization: 'advanced',
    // V8 then ends the process before its heap alone takes all of the memory.
    execArgv: [`--max-old-space-size=${mebibytes}`, `--max-semi-space-size=${SEMI_SPACE_MEBIBYTES}`],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let complaint = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    complaint = `${complaint}${chunk.toString()}`.slice(-COMPLAINT_CHARACTERS);
  });
  try {
    if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  } catch {
    // The system does not allow it. Parsing then competes with serving for processor time.
  }
  const scratchDirectory = join(options.scratchDirectory, randomUUID());
  const started: ParseProcess = { child, scratchDirectory, containers: 0, onEnd: () => undefined };
  const noteEnd = (how: string): void => {
    started.onEnd(how);
    // A folder that cannot be removed now is removed when the daemon starts again.
    rm(scratchDirectory, { recursive: true, force: true }).catch(() => undefined);
  };
  child.once('close', (code, signal) => {
    const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
    const [error] = /^\w*Error\b.*$|^FATAL ERROR.*$/m.exec(complaint) ?? [];
    noteEnd(error === undefined ? how : `${how}: ${error}`);
  });
  // A process that could not be started emits nothing else.
  child.on('error', (error) => {
    if (child.pid === undefined) noteEnd(`before it started: ${error.message}`);
  });
  send(started, { kind: 'rules', rules });
  return started;
}

/** A message that cannot be sent reaches a process that is ending; its exit reports that. */
function send({ child }: ParseProcess, request: ParseRequest): void {
  if (child.connected) child.send(request, () => undefined);
}

/** Measures the time of the process, without the time that its owner takes for the units. */
interface Stopwatch {
  pause(): void;
  resume(): void;
  /** Milliseconds. */
  elapsed(): number;
}

function createStopwatch(clock: Clock): Stopwatch {
  let measured = 0;
  let since: number | null = clock.monotonic();
  const elapsed = (): number => measured + (since === null ? 0 : clock.monotonic() - since);
  return {
    pause: () => {
      measured = elapsed();
      since = null;
    },
    resume: () => {
      since = clock.monotonic();
    },
    elapsed,
  };
}

/** Ends the process when it takes too long or too much memory. */
function watchLimits(
  child: ChildProcess,
  { memoryBytes, timeoutMs, clock }: ParseWorkerOptions,
  time: Stopwatch,
  signal: AbortSignal,
  fail: (code: ParseErrorCode, message: string) => void,
): void {
  const watch = async (): Promise<void> => {
    while (!signal.aborted) {
      const left = timeoutMs - time.elapsed();
      if (left <= 0) {
        fail(
          'deadline_exceeded',
          `parsing took longer than ${timeoutMs / 1000} seconds (parse.timeoutSeconds)`,
        );
        return;
      }
      if (residentBytes(child.pid) > memoryBytes) {
        const limit = `${Math.floor(memoryBytes / (1024 * 1024))} MiB (parse.memoryMebibytes)`;
        fail('memory_exceeded', `parsing needed more than ${limit}`);
        return;
      }
      await clock.sleep(Math.min(MEMORY_CHECK_MS, Math.max(1, left)), signal);
    }
  };
  // It rejects only when the container is done.
  watch().catch(() => undefined);
}

/** Resident memory of a process; 0 where the system does not tell. Source: proc_pid_statm(5). */
function residentBytes(pid: number | undefined): number {
  try {
    const [, resident = '0'] = readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ');
    return Number(resident) * PAGE_BYTES;
  } catch {
    return 0;
  }
}
