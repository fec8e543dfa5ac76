import { fork, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

/** How a process is started. */
export interface ProcessOptions {
  /** Its program; its only argument is the time for one job in milliseconds. */
  readonly program: URL;
  /** A folder for temporary files. Each process has a folder in it, which is removed when the process has ended. */
  readonly scratchDirectory: string;
  /** Most resident memory of the process. */
  readonly memoryBytes: number;
  /** Longest time for one job, without the time that its owner takes for the pieces. */
  readonly timeoutMs: number;
}

/** A running process. */
export interface IsolatedProcess {
  readonly child: ChildProcess;
  readonly scratchDirectory: string;
  /** Jobs that it was given. */
  jobs: number;
  /** Called when the process has ended, with how. */
  onEnd: (how: string) => void;
}

/** V8's own default. NODE_OPTIONS of the daemon has less, and such a process makes many short-lived objects. */
const SEMI_SPACE_MEBIBYTES = 16;
/** Most of what the process wrote to standard error that is kept to explain its end. */
const COMPLAINT_CHARACTERS = 8192;

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

/** Starts a process of low priority, with a minimal environment and a bounded heap. */
export function startProcess(options: ProcessOptions): IsolatedProcess {
  const mebibytes = Math.floor(options.memoryBytes / (1024 * 1024));
  const child = fork(options.program, [String(options.timeoutMs)], {
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
    // The system does not allow it. The work then competes with serving for processor time.
  }
  const scratchDirectory = join(options.scratchDirectory, randomUUID());
  const started: IsolatedProcess = { child, scratchDirectory, jobs: 0, onEnd: () => undefined };
  const noteEnd = (how: string): void => {
    started.onEnd(how);
    // A folder that cannot be removed now stays until the owner of the folder around it empties that one.
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
  return started;
}

/** Whether a process has ended. */
export function hasEnded({ child }: IsolatedProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
