import type { Logger } from '../../platform/logging/logging.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import { createHangWatch } from '../../platform/process/hang-watch.ts';
import { pause } from '../../platform/process/pause.ts';
import { restartBackoff } from '../../platform/process/restart-backoff.ts';
import type { ProcessExit, SupervisedProcess } from './supervised-process.ts';
import { isWantedEnd, type ProcessEnd, type Supervision } from './supervision.ts';

interface DaemonSupervisorOptions {
  /** Starts the daemon. */
  readonly start: (supervision: Supervision) => SupervisedProcess;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
}

/** Keeps one daemon running. */
interface DaemonSupervisor {
  /**
   * Starts the daemon, and starts it again whenever it ends.
   *
   * @returns the exit code when the daemon is not to run: after `stop`, or when the first start ended before the daemon
   *   listened with a code that a restart cannot change (0 for `--help`, 78 for a refused configuration)
   */
  run(): Promise<number>;
  /**
   * Stops the daemon and waits for its end.
   *
   * @param signal when aborted, the daemon is killed
   * @throws Error when it did not stop cleanly
   */
  stop(signal: AbortSignal): Promise<void>;
}

/** Waits before the daemon is started again; the first is below a second even with the time of a start. */
const RESTART = { baseMs: 200, capMs: 30_000 } as const;
/** Exit codes of a first start that no restart changes. Source of 78: sysexits.h, EX_CONFIG. */
const FINAL_CODES: ReadonlySet<number | null> = new Set([0, 78]);
/** Number of newest ends that the daemon receives. */
const ENDS_MAX = 20;

/** One process of the daemon. */
interface Run {
  readonly process: SupervisedProcess;
  /** Monotonic milliseconds. */
  readonly startedAt: number;
  hasListened: boolean;
  unanswered: number;
}

/** Creates the supervisor; nothing runs before `run`. */
export function createDaemonSupervisor(options: DaemonSupervisorOptions): DaemonSupervisor {
  const { clock, logger } = options;
  const stopping = new AbortController();
  const ends: ProcessEnd[] = [];
  let restarts = 0;
  let failures = 0;
  let current: Run | null = null;

  const begin = (): Run => {
    const process = options.start({ restarts, ends });
    const run: Run = { process, startedAt: clock.monotonic(), hasListened: false, unanswered: 0 };
    process.onMessage((message) => {
      run.unanswered = 0;
      if (message !== 'slipway:listening') return;
      run.hasListened = true;
      logger.info({ daemon_pid: process.pid, restarts }, 'the daemon runs');
    });
    return run;
  };

  /** Waits before the next start. */
  const afterEnd = async (run: Run, exit: ProcessExit): Promise<void> => {
    const lived = clock.monotonic() - run.startedAt;
    const end: ProcessEnd = {
      ...exit,
      at: unixSeconds(clock),
      lived_seconds: Math.round(lived / 1000),
      listened: run.hasListened,
    };
    ends.push(end);
    ends.splice(0, ends.length - ENDS_MAX);
    const isWanted = isWantedEnd(end);
    const backoff = restartBackoff(isWanted ? 0 : failures, lived, RESTART, options.random());
    failures = isWanted ? 0 : backoff.failures;
    logger[isWanted ? 'info' : 'error'](
      {
        daemon_pid: run.process.pid,
        ...exit,
        lived_ms: Math.round(lived),
        failures,
        wait_ms: backoff.waitMs,
      },
      isWanted ? 'the daemon ended to be started again' : 'the daemon died; starting it again',
    );
    await pause(clock, backoff.waitMs, stopping.signal);
  };

  const hangWatch = createHangWatch<Run>({
    clock,
    logger,
    watched: () => (current === null ? [] : [current]),
    isStarting: ({ hasListened }) => !hasListened,
    ping: ({ process }) => process.send('slipway:ping'),
    kill: ({ process }) => {
      logger.error({ daemon_pid: process.pid }, 'the daemon hangs and is killed');
      process.kill('SIGKILL');
    },
  });

  return {
    run: async () => {
      hangWatch.start();
      for (;;) {
        const run = begin();
        current = run;
        const exit = await run.process.exited;
        current = null;
        if (stopping.signal.aborted) return exit.code ?? 1;
        if (restarts === 0 && !run.hasListened && FINAL_CODES.has(exit.code)) return exit.code ?? 1;
        await afterEnd(run, exit);
        if (stopping.signal.aborted) return 0;
        restarts += 1;
      }
    },
    stop: async (signal) => {
      stopping.abort();
      const process = current?.process;
      await Promise.all([hangWatch.stop(), ...(process === undefined ? [] : [endProcess(process, signal)])]);
    },
  };
}

/** Ends the daemon, and kills it when the signal is aborted. */
async function endProcess(process: SupervisedProcess, signal: AbortSignal): Promise<void> {
  const kill = (): void => {
    process.kill('SIGKILL');
  };
  process.kill('SIGTERM');
  if (signal.aborted) kill();
  signal.addEventListener('abort', kill, { once: true });
  const { code, signal: by } = await process.exited;
  signal.removeEventListener('abort', kill);
  if (code !== 0) throw new Error(`the daemon ended with ${code ?? by ?? 'no exit code'}`);
}
