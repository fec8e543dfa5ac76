import process from 'node:process';
import type { Clock } from './clock.ts';
import type { Logger } from '../logging/logging.ts';

/** Stops one part of the process; the signal is aborted shortly before the deadline: abort open work then. */
type ShutdownStep = (signal: AbortSignal) => Promise<void> | void;

interface ProcessEvents {
  on(event: string, listener: (value?: unknown) => void): unknown;
  off(event: string, listener: (value?: unknown) => void): unknown;
}

/** The life of a process from its start to its exit. */
export interface Lifecycle {
  /** Aborted when shutdown begins; pass it to loops and long calls. */
  readonly signal: AbortSignal;
  /** Adds a step; steps run one after another, the last one added first. */
  onShutdown(name: string, step: ShutdownStep): void;
  /** Begins to shut down; further calls change nothing. @returns settles when every step has ended */
  shutdown(reason: string, exitCode?: number): Promise<void>;
  dispose(): void;
}

interface LifecycleOptions {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly exit: (code: number) => void;
  /** Milliseconds that all steps together may take. */
  readonly deadlineMs: number;
  readonly events?: ProcessEvents;
}

/** Exit code after an unexpected failure. Source: sysexits.h, EX_SOFTWARE. */
const EXIT_SOFTWARE = 70;

/** Longest time before the deadline at which the steps are asked to cut open connections. */
const CUT_BEFORE_MS = 2_000;

/**
 * Makes the lifecycle of a process and listens for its end:
 * - SIGTERM, SIGINT, and the death of a parent that started it with an IPC channel, run the steps, then exit with 0
 *   (1 when a step failed);
 * - a second signal exits with 1 without waiting;
 * - past the deadline it exits with 1 and logs the step that hangs;
 * - an uncaught error is logged and exits with 70, because the state that it left behind is unknown.
 */
export function createLifecycle(options: LifecycleOptions): Lifecycle {
  const { logger, exit } = options;
  const events: ProcessEvents = options.events ?? process;
  const steps: NamedStep[] = [];
  const started = new AbortController();
  let running: Promise<void> | null = null;

  const shutdown = async (reason: string, exitCode = 0): Promise<void> => {
    if (running === null) {
      logger.info({ reason, steps: steps.length }, 'shutting down');
      started.abort(new Error(`shutting down: ${reason}`));
      running = runSteps(steps.toReversed(), exitCode, options);
    }
    await running;
  };

  const onSignal = (name: string) => (): void => {
    if (running === null) {
      void shutdown(name);
      return;
    }
    logger.warn({ signal: name }, 'second signal: exiting now');
    exit(1);
  };
  const onCrash =
    (kind: string) =>
    (error?: unknown): void => {
      logger.fatal({ err: error, kind }, 'uncaught error: exiting');
      exit(EXIT_SOFTWARE);
    };
  const onDisconnect = (): void => {
    void shutdown('the parent process ended');
  };
  const listeners: readonly (readonly [string, (value?: unknown) => void])[] = [
    ['SIGTERM', onSignal('SIGTERM')],
    ['SIGINT', onSignal('SIGINT')],
    ['disconnect', onDisconnect],
    ['uncaughtException', onCrash('uncaughtException')],
    ['unhandledRejection', onCrash('unhandledRejection')],
  ];
  for (const [event, listener] of listeners) events.on(event, listener);

  return {
    signal: started.signal,
    onShutdown: (name, run) => void steps.push({ name, run }),
    shutdown,
    dispose: () => {
      for (const [event, listener] of listeners) events.off(event, listener);
    },
  };
}

interface NamedStep {
  readonly name: string;
  readonly run: ShutdownStep;
}

/** Runs the steps one after another, within the deadline, and exits. */
async function runSteps(
  steps: readonly NamedStep[],
  exitCode: number,
  options: LifecycleOptions,
): Promise<void> {
  const { logger, clock, exit } = options;
  // The clock's timers do not keep the process alive; without this, a hung step would end as a silent exit 0.
  const alive = setInterval(() => undefined, 60_000);
  const cut = new AbortController();
  const done = new AbortController();
  let current = '';
  let failed = false;
  watchDeadline({ cut, done: done.signal, currentStep: () => current }, options).catch((error: unknown) => {
    logger.fatal({ err: error }, 'the shutdown deadline cannot be watched');
    exit(EXIT_SOFTWARE);
  });
  for (const { name, run } of steps) {
    current = name;
    const begun = clock.monotonic();
    try {
      await run(cut.signal);
      logger.debug({ step: name, ms: Math.round(clock.monotonic() - begun) }, 'shutdown step done');
    } catch (error) {
      failed = true;
      logger.error({ err: error, step: name }, 'a shutdown step failed');
    }
  }
  const code = failed && exitCode === 0 ? 1 : exitCode;
  logger.info({ code }, 'stopped');
  current = 'log';
  await new Promise<void>((resolve) => {
    logger.flush(() => {
      resolve();
    });
  });
  done.abort();
  clearInterval(alive);
  exit(code);
}

/** Asks the steps to cut open connections shortly before the deadline, and exits at the deadline. */
async function watchDeadline(
  watched: {
    readonly cut: AbortController;
    readonly done: AbortSignal;
    readonly currentStep: () => string;
  },
  { logger, clock, exit, deadlineMs }: LifecycleOptions,
): Promise<void> {
  const { cut, done, currentStep } = watched;
  const before = Math.min(CUT_BEFORE_MS, deadlineMs / 4);
  try {
    await clock.sleep(deadlineMs - before, done);
    logger.warn({ step: currentStep() }, 'shutdown is late; closing open connections');
    cut.abort(new Error('the shutdown deadline is near'));
    await clock.sleep(before, done);
  } catch (error) {
    if (done.aborted) return;
    throw error;
  }
  logger.fatal({ step: currentStep(), deadline_ms: deadlineMs }, 'a shutdown step did not end in time');
  exit(1);
}
