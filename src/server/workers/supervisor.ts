import { createHangWatch } from '../../platform/process/hang-watch.ts';
import { pause } from '../../platform/process/pause.ts';
import { restartBackoff } from '../../platform/process/restart-backoff.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { ServerConfiguration } from '../config/config.ts';
import { EvidenceRelay } from './evidence-relay.ts';
import { MetricsCollection } from './metrics-collection.ts';
import type { PrimaryMessage, WorkerMessage } from './worker-messages.ts';
import type { WorkerExit, WorkerProcess } from './worker-process.ts';

interface SupervisorOptions {
  readonly config: ServerConfiguration;
  readonly fork: () => WorkerProcess;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/** The first worker did not come up. */
export class WorkersFailedError extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`the first worker ended with ${code} before it listened; see its log for the cause`);
    this.name = 'WorkersFailedError';
    this.code = code;
  }
}

/** Runs the workers. */
export interface Supervisor {
  /**
   * Starts all of them; resolves when each accepts clients.
   *
   * @throws WorkersFailedError
   */
  start(): Promise<{ readonly url: string; readonly hashing: string }>;
  /** URL of the port since the first worker accepts clients; `null` before. */
  readonly url: string | null;
  /** Number of workers that accept clients now. */
  readonly running: number;
  readonly restarts: number;
  /** The metrics of every worker that answers within the time limit. */
  collectMetrics(): ReturnType<MetricsCollection['collect']>;
  /**
   * Stops all of them cleanly, and waits for their end.
   *
   * @param signal when aborted, the remaining workers are killed
   * @throws Error when one did not stop cleanly
   */
  stop(reason: string, signal: AbortSignal): Promise<void>;
}

const RESTART = { baseMs: 500, capMs: 30_000 } as const;
/** Exit code for a worker that was killed before it could listen. */
const EXIT_KILLED = 70;

interface Slot {
  readonly number: number;
  process: WorkerProcess | null;
  startedAt: number;
  failures: number;
  isListening: boolean;
  unanswered: number;
}

function emptySlot(number: number): Slot {
  return { number, process: null, startedAt: 0, failures: 0, isListening: false, unanswered: 0 };
}

/**
 * Creates the supervisor of the worker processes. It serves nothing itself. Each worker has its own evidence, like a
 * replica would; the damage that one finds and the attestation that one accepts go to all others, including those that
 * start later.
 */
export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { config, clock, logger } = options;
  const slots = Array.from({ length: config.workers }, (_, number) => emptySlot(number));
  const relay = new EvidenceRelay<Slot>((from, message) => {
    for (const { process } of slots) if (process !== from.process) process?.send(message);
  });
  const metrics = new MetricsCollection(clock);
  const startup = createStartup(slots, run);
  const end = createEnd();
  let restarts = 0;

  const onMessage = (slot: Slot, process: WorkerProcess, message: WorkerMessage): void => {
    slot.unanswered = 0;
    switch (message.kind) {
      case 'slipway:pong':
        return;
      case 'slipway:hello':
        process.send(startMessage(slot, config, relay, listening().length > 0));
        return;
      case 'slipway:listening':
        startup.onListening(slot, message);
        return;
      case 'slipway:metrics':
        metrics.take(process, message.id, message.metrics);
        return;
      default:
        relay.take(slot, message);
    }
  };

  const onExit = (slot: Slot, how: WorkerExit): void => {
    const pid = slot.process?.pid;
    if (slot.process !== null) metrics.forget(slot.process);
    slot.process = null;
    slot.isListening = false;
    if (!end.signal.aborted) logger.error({ worker: slot.number, pid, ...how }, 'a worker died');
    if (end.signal.aborted) end.onExit(how);
    else if (startup.url !== null) void restart(slot);
    else startup.onFailed(how);
  };

  function run(slot: Slot): void {
    const process = options.fork();
    Object.assign(slot, { process, unanswered: 0, startedAt: clock.monotonic() });
    process.onMessage((message) => {
      onMessage(slot, process, message);
    });
    process.onExit((how) => {
      onExit(slot, how);
    });
    logger.info({ worker: slot.number, worker_pid: process.pid }, 'worker started');
  }

  async function restart(slot: Slot): Promise<void> {
    await backOff(slot, options, end.signal);
    if (end.signal.aborted) return;
    restarts += 1;
    run(slot);
  }

  const listening = (): Slot[] => slots.filter(({ isListening }) => isListening);
  const hangWatch = watchWorkers(listening, options);

  return {
    start: async () => {
      hangWatch.start();
      return await startup.begin();
    },
    get url() {
      return startup.url;
    },
    get running() {
      return listening().length;
    },
    get restarts() {
      return restarts;
    },
    collectMetrics: async () =>
      await metrics.collect(listening().flatMap(({ process }) => (process === null ? [] : [process]))),
    stop: async (reason, signal) => {
      await Promise.all([hangWatch.stop(), end.stop(slots, reason, signal)]);
    },
  };
}

function startMessage(
  { number }: Slot,
  config: ServerConfiguration,
  relay: EvidenceRelay<Slot>,
  othersServe: boolean,
): PrimaryMessage {
  return { kind: 'slipway:start', slot: number, config, ...relay.evidence(), othersServe };
}

/** Creates the watch that kills workers whose event loop is blocked: all clients that are handed to them would wait. */
function watchWorkers(
  watched: () => readonly Slot[],
  { clock, logger }: SupervisorOptions,
): ReturnType<typeof createHangWatch> {
  return createHangWatch({
    clock,
    logger,
    watched,
    ping: ({ process }) => {
      process?.send({ kind: 'slipway:ping' });
    },
    kill: ({ process, number }) => {
      logger.error({ worker: number, worker_pid: process?.pid }, 'a worker hangs and is killed');
      process?.kill();
    },
  });
}

/** Waits before a worker that died is started again, longer after each failure in a row. */
async function backOff(slot: Slot, { clock, random }: SupervisorOptions, signal: AbortSignal): Promise<void> {
  const lived = clock.monotonic() - slot.startedAt;
  const { failures, waitMs } = restartBackoff(slot.failures, lived, RESTART, random());
  slot.failures = failures;
  await pause(clock, waitMs, signal);
}

interface StartedWorkers {
  readonly url: string;
  readonly hashing: string;
}

/** The start of all workers. A start-up failure affects every worker, so the first one starts alone and reports it. */
function createStartup(
  slots: readonly Slot[],
  run: (slot: Slot) => void,
): {
  /** Where the first worker listens; `null` before. */
  readonly url: string | null;
  /** Starts the first; resolves when all of them accept clients. */
  begin(): Promise<StartedWorkers>;
  onListening(slot: Slot, server: StartedWorkers): void;
  onFailed(how: WorkerExit): void;
} {
  const up = Promise.withResolvers<StartedWorkers>();
  const awaited = new Set(slots);
  let first: string | null = null;
  return {
    get url() {
      return first;
    },
    begin: async () => {
      for (const slot of slots.slice(0, 1)) run(slot);
      return await up.promise;
    },
    onListening: (slot, { url, hashing }) => {
      slot.isListening = true;
      if (first === null) {
        first = url;
        for (const waiting of slots) if (waiting !== slot) run(waiting);
      }
      awaited.delete(slot);
      if (awaited.size === 0) up.resolve({ url, hashing });
    },
    onFailed: ({ code }) => {
      up.reject(new WorkersFailedError(code ?? EXIT_KILLED));
    },
  };
}

function createEnd(): {
  readonly signal: AbortSignal;
  onExit(how: WorkerExit): void;
  stop(slots: readonly Slot[], reason: string, signal: AbortSignal): Promise<void>;
} {
  const stopping = new AbortController();
  let exitedBadly = false;
  let onGone: () => void = () => undefined;
  return {
    signal: stopping.signal,
    onExit: ({ code }) => {
      exitedBadly ||= code !== 0;
      onGone();
    },
    stop: async (slots, reason, signal) => {
      stopping.abort();
      const kill = (): void => {
        for (const { process } of slots) process?.kill();
      };
      for (const { process } of slots) process?.send({ kind: 'slipway:stop', reason });
      if (signal.aborted) kill();
      signal.addEventListener('abort', kill, { once: true });
      await new Promise<void>((resolve) => {
        onGone = () => {
          if (slots.every(({ process }) => process === null)) resolve();
        };
        onGone();
      });
      signal.removeEventListener('abort', kill);
      if (exitedBadly) throw new Error('a worker did not stop cleanly');
    },
  };
}
