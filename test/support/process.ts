import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import process from 'node:process';
import { FAST_ARGUMENTS, IMAGE_NODE_OPTIONS } from './image-node-options.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** A real Slipway process that a test started. */
export interface SlipwayProcess {
  readonly pid: number;
  readonly url: string;
  /** Every line of its log so far, parsed if it is JSON. */
  readonly lines: string[];
  /** Stops it cleanly and resolves with its exit code. */
  stop(): Promise<number | null>;
  /** Sends SIGKILL. */
  kill(): Promise<void>;
  /** Sends any signal, for SIGSTOP and SIGCONT. */
  signal(name: NodeJS.Signals): void;
  /** Its exit code, after all lines of its log were read. */
  readonly exited: Promise<number | null>;
}

/** The end of a process that did not start. */
export interface FailedStart {
  readonly code: number | null;
  readonly lines: readonly string[];
}

/** A start that failed before the process listened. */
export class StartError extends Error {
  readonly failed: FailedStart;

  constructor(program: string, failed: FailedStart) {
    super(`${program} ended with ${failed.code} before it listened:\n${failed.lines.join('\n')}`);
    this.name = 'StartError';
    this.failed = failed;
  }
}

/**
 * Starts `cmd/<program>.ts` and waits until it listens.
 *
 * @param wrapper a command to run Node under, such as `strace` with its arguments
 * @throws StartError when it ends before it listens
 */
export async function startSlipway(
  program: 'daemon' | 'daemon-supervisor' | 'operator' | 'server',
  args: readonly string[],
  options: {
    readonly env?: Readonly<Record<string, string>>;
    readonly wrapper?: readonly string[];
    /** A script that runs the program in another way. */
    readonly script?: string;
    /** Runs it with the heap settings of users; others start it sooner. */
    readonly measuresMemory?: boolean;
  } = {},
): Promise<SlipwayProcess> {
  const [command, ...rest] = [...(options.wrapper ?? []), process.execPath];
  const heap = options.measuresMemory === true ? [] : FAST_ARGUMENTS;
  const child = spawn(command, [...rest, ...heap, options.script ?? `${ROOT}/cmd/${program}.ts`, ...args], {
    cwd: ROOT,
    env: { ...process.env, NODE_OPTIONS: IMAGE_NODE_OPTIONS, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  // A process can end before its last lines are read.
  const exited = once(child, 'close').then(([code]) => code as number | null);
  const url = await listeningUrl(program, child, lines, exited);
  return {
    pid: child.pid ?? -1,
    url,
    lines,
    exited,
    stop: async () => {
      child.kill('SIGTERM');
      return await exited;
    },
    kill: async () => {
      child.kill('SIGKILL');
      // Its children can outlive it and keep its output open.
      await ended;
    },
    signal: (name) => {
      child.kill(name);
    },
  };
}

async function listeningUrl(
  program: string,
  child: ChildProcess,
  lines: string[],
  exited: Promise<number | null>,
): Promise<string> {
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error('started without pipes');
  return await new Promise<string>((resolve, reject) => {
    const onLine = (line: string): void => {
      lines.push(line);
      const name = program.replace('-supervisor', '');
      // A standby of the daemon listens, too.
      if (!line.includes(`"${name} listening"`) && !line.includes('this daemon is a standby')) return;
      const { url } = JSON.parse(line) as { url?: string };
      if (url !== undefined) resolve(url);
    };
    createInterface({ input: stdout }).on('line', onLine);
    createInterface({ input: stderr }).on('line', onLine);
    child.once('error', reject);
    void exited.then((code) => reject(new StartError(program, { code, lines })));
  });
}
