import { backoffMs } from '../../platform/process/backoff.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { ServerConfiguration } from '../config.ts';
import type { DamageReport } from '../../domain/verdict/evidence.ts';
import type { DamageChange } from '../serving/serving.ts';
import { MetricsCollection } from './metrics-collection.ts';
import type { SharedEnvelope, WorkerMessage } from './worker-messages.ts';
import type { WorkerProcess } from './worker-process.ts';

/** What {@link createSupervisor} needs. */
export interface SupervisorOptions {
  readonly config: ServerConfiguration;
  readonly fork: () => WorkerProcess;
  readonly clock: Clock;
  /** 0 (inclusive) to 1. */
  readonly random: () => number;
  readonly logger: Logger;
}

/** The first worker did not come up. */
export class WorkersFailedError extends Error {
  /** Its exit code. */
  readonly code: number;

  constructor(code: number) {
    super(`the first worker ended with ${code} before it listened; its own message says why`);
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
  /** Workers that accept clients now. */
  readonly running: number;
  /** Workers that were started again. */
  readonly restarts: number;
  /** The metrics of every worker that answers soon. */
  collectMetrics(): ReturnType<MetricsCollection['collect']>;
  /**
   * Lets all of them end in order, and waits for it.
   *
   * @param signal when aborted, those still there are killed
   * @throws Error when one did not end in order
   */
  stop(reason: string, signal: AbortSignal): Promise<void>;
}

/** Waits before a worker that died is started again. */
const RESTART = { baseMs: 500, capMs: 30_000 } as const;
/** Milliseconds that a worker must have lived for its end not to count with those before it. */
const STEADY_MS = 60_000;
/** Milliseconds between two questions whether a worker is alive, and how many it may leave unanswered. */
const PING_MS = 5_000;
const MAX_UNANSWERED = 6;
/** Most digests whose damage is kept for workers that start later. */
const MAX_DAMAGE = 10_000;
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

/**
 * Makes the supervisor of the worker processes. It serves nothing itself. Each worker has evidence of its own, as a
 * replica would; what one finds damaged, and the attestation that one accepted, all are told at once, also those that
 * start later.
 */
export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { config, clock, logger } = options;
  const slots = Array.from({ length: config.workers }, (_, number): Slot => ({
    number,
    process: null,
    startedAt: 0,
    failures: 0,
    isListening: false,
    unanswered: 0,
  }));
  const damage = new Map<string, DamageReport>();
  let attestation: SharedEnvelope | null = null;
  const metrics = new MetricsCollection(clock);
  const up = Promise.withResolvers<{ readonly url: string; readonly hashing: string }>();
  const stopping = new AbortController();
  const awaited = new Set(slots);
  let hasListened = false;
  let restarts = 0;
  let exitedBadly = false;
  let onGone: () => void = () => undefined;

  const others = (slot: Slot): WorkerProcess[] =>
    slots.flatMap(({ process }) => (process === null || process === slot.process ? [] : [process]));

  const spread = (slot: Slot, change: DamageChange): void => {
    const { blake3, report } = change;
    if (report === null) damage.delete(blake3);
    else if (damage.size < MAX_DAMAGE || damage.has(blake3)) damage.set(blake3, report);
    for (const process of others(slot)) process.send({ kind: 'slipway:damage', change });
  };

  const pass = (slot: Slot, accepted: SharedEnvelope): void => {
    if (attestation?.storeId === accepted.storeId && attestation.version >= accepted.version) return;
    attestation = accepted;
    for (const process of others(slot)) process.send({ kind: 'slipway:attestation', attestation: accepted });
  };

  const onMessage = (slot: Slot, process: WorkerProcess, message: WorkerMessage): void => {
    slot.unanswered = 0;
    switch (message.kind) {
      case 'slipway:pong':
        return;
      case 'slipway:hello':
        process.send({
          kind: 'slipway:start',
          slot: slot.number,
          config,
          damage: [...damage.values()],
          attestation,
          isReplacement: slot.failures > 0,
        });
        return;
      case 'slipway:attestation':
        pass(slot, message.attestation);
        return;
      case 'slipway:listening':
        slot.isListening = true;
        if (!hasListened) {
          hasListened = true;
          for (const waiting of slots) if (waiting !== slot) run(waiting);
        }
        awaited.delete(slot);
        if (awaited.size === 0) up.resolve({ url: message.url, hashing: message.hashing });
        return;
      case 'slipway:damage':
        spread(slot, message.change);
        return;
      case 'slipway:metrics':
        metrics.take(process, message.id, message.metrics);
    }
  };

  const onExit = (
    slot: Slot,
    how: { readonly code: number | null; readonly signal: string | null },
  ): void => {
    const pid = slot.process?.pid;
    if (slot.process !== null) metrics.forget(slot.process);
    slot.process = null;
    slot.isListening = false;
    if (stopping.signal.aborted) {
      exitedBadly ||= how.code !== 0;
      onGone();
      return;
    }
    logger.error({ worker: slot.number, pid, ...how }, 'a worker died');
    if (!hasListened) {
      up.reject(new WorkersFailedError(how.code ?? EXIT_KILLED));
      return;
    }
    void restart(slot);
  };

  const run = (slot: Slot): void => {
    const process = options.fork();
    slot.process = process;
    slot.unanswered = 0;
    slot.startedAt = clock.monotonic();
    process.onMessage((message) => {
      onMessage(slot, process, message);
    });
    process.onExit((how) => {
      onExit(slot, how);
    });
    logger.info({ worker: slot.number, worker_pid: process.pid }, 'worker started');
  };

  /** A worker whose event loop stands still keeps its clients waiting, and everybody who is handed to it. */
  const watch = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await pause(PING_MS);
      for (const slot of slots) {
        const { process, isListening, number } = slot;
        if (process === null || !isListening) continue;
        if (slot.unanswered >= MAX_UNANSWERED) {
          logger.error({ worker: number, worker_pid: process.pid }, 'a worker hangs and is killed');
          process.kill();
          continue;
        }
        // Counted, not timed: when all of them were suspended together, nobody hangs.
        slot.unanswered += 1;
        process.send({ kind: 'slipway:ping' });
      }
    }
  };

  /** Sleeps; ends early without an error when the workers are to end. */
  const pause = async (ms: number): Promise<void> => {
    try {
      await clock.sleep(ms, stopping.signal);
    } catch (error) {
      if (!stopping.signal.aborted) throw error;
    }
  };

  async function restart(slot: Slot): Promise<void> {
    const lived = clock.monotonic() - slot.startedAt;
    slot.failures = lived >= STEADY_MS ? 1 : slot.failures + 1;
    await pause(backoffMs(slot.failures, RESTART, options.random(), null));
    if (stopping.signal.aborted) return;
    restarts += 1;
    run(slot);
  }

  return {
    start: async () => {
      // What keeps one from starting keeps all: the first has it to say, once, and the others follow.
      for (const slot of slots.slice(0, 1)) run(slot);
      void watch();
      return await up.promise;
    },
    get running() {
      return slots.filter(({ isListening }) => isListening).length;
    },
    get restarts() {
      return restarts;
    },
    collectMetrics: async () =>
      await metrics.collect(
        slots.flatMap(({ process, isListening }) => (process !== null && isListening ? [process] : [])),
      ),
    stop: async (reason, signal) => {
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
      if (exitedBadly) throw new Error('a worker did not end in order');
    },
  };
}
