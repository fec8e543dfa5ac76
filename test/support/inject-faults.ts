import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { createInterface } from 'node:readline';
import type { AtEnd } from './shared-fixture.ts';
import { hasTool } from './tools.ts';

/**
 * Whether `strace` may attach to a process of this user. In CI it must; elsewhere the tests that need it are skipped,
 * and the reason is printed.
 */
export function canInjectFaults(): boolean {
  if (!hasTool('strace')) return false;
  const sleeper = spawn('sleep', ['60'], { stdio: 'ignore' });
  let said = '';
  // It stays attached until the time is over; a busy machine needs longer to begin.
  for (const seconds of ['0.2', '2', '20']) {
    said = spawnSync('timeout', [seconds, 'strace', '-p', String(sleeper.pid)], { encoding: 'utf8' }).stderr;
    if (said.includes('attached') || said.includes('not permitted')) break;
  }
  sleeper.kill('SIGKILL');
  if (said.includes('attached')) return true;
  if (process.env['CI'] === 'true') throw new Error(`strace cannot attach: ${said}`);
  console.warn('SKIPPED: faults of the disk need the right to trace a process (ptrace)');
  return false;
}

/** Faults injected into the system calls of a running process. */
export interface InjectedFaults {
  /** How many calls failed or waited so far. */
  readonly injected: number;
  /** Ends the faults; the process continues normally. */
  end(): Promise<void>;
}

/**
 * Makes system calls of a running process fail or wait, starting when this function returns.
 *
 * @param target.path only calls on this file
 * @param faults of `strace`'s `-e inject=`, such as `pread64:error=EIO`
 */
export async function injectFaults(
  target: { readonly pid: number; readonly path: string; readonly atEnd: AtEnd },
  faults: string,
): Promise<InjectedFaults> {
  const child = spawn(
    'strace',
    ['-f', '-p', String(target.pid), '-P', target.path, '-e', `inject=${faults}`, '-e', 'signal=none'],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let injected = 0;
  const lines = createInterface({ input: child.stderr });
  lines.on('line', (line) => {
    if (line.includes('(INJECTED)') || line.includes('(DELAYED)')) injected += 1;
  });
  const exited = once(child, 'exit');
  const end = async (): Promise<void> => {
    child.kill('SIGINT');
    await exited;
  };
  target.atEnd(end);
  await new Promise<void>((resolve, reject) => {
    lines.on('line', (line) => {
      if (line.includes(' attached')) resolve();
    });
    void exited.then(() => {
      reject(new Error('strace ended before it had attached'));
    });
  });
  return {
    get injected() {
      return injected;
    },
    end,
  };
}
