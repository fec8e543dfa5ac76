import type { ServerConfiguration } from '../config.ts';
import type { DamageReport } from '../../domain/verdict/evidence.ts';
import type { DamageChange } from '../serving/serving.ts';
import type { SharedServing, SharedServingParts } from './shared-serving.ts';
import { isPrimaryMessage, type WorkerMessage } from './worker-messages.ts';

/** What a worker is told at its start. */
export interface WorkerStart {
  readonly slot: number;
  readonly config: ServerConfiguration;
  readonly shared: SharedServing;
}

/** The side of the worker in the conversation with the first process. */
export interface WorkerLink {
  /** What to run; `null` when the worker is to end before it has begun. */
  start(): Promise<WorkerStart | null>;
  /** Says that clients are accepted. */
  listening(server: { readonly url: string; readonly hashing: string }): void;
  /** Tells when the worker is to end in order, also when that was said before. */
  onStop(listener: (reason: string) => void): void;
}

/** How long a worker that takes the place of another may prepare before clients are given to it, milliseconds. */
const SETTLE_MS = 30_000;

/** The end of the channel in this process. */
export interface WorkerChannel {
  on(event: 'message', listener: (message: unknown) => void): unknown;
  send?(message: WorkerMessage): unknown;
}

/** Makes the link of a worker process. */
export function createWorkerLink(channel: WorkerChannel): WorkerLink {
  const started = Promise.withResolvers<WorkerStart | null>();
  const stopListeners: ((reason: string) => void)[] = [];
  let stopReason: string | null = null;
  // What others found before this one was ready to hear of it.
  const early = new Map<string, DamageReport>();
  let parts: SharedServingParts | null = null;
  let isTold = false;

  const send = (message: WorkerMessage): void => {
    // Without a channel the first process is gone, and so is this one in a moment.
    channel.send?.(message);
  };

  const report = (joined: SharedServingParts, reports: Iterable<DamageReport>): void => {
    isTold = true;
    joined.serving.reportDamage(...reports);
    isTold = false;
  };

  const take = (change: DamageChange): void => {
    if (parts === null) {
      if (change.report === null) early.delete(change.blake3);
      else early.set(change.blake3, change.report);
    } else if (change.report === null) {
      // Sound for another: look whether it is so here.
      parts.wake();
    } else {
      report(parts, [change.report]);
    }
  };

  const join = (joined: SharedServingParts): void => {
    parts = joined;
    joined.serving.watchDamage((change) => {
      // What came from the others does not go back to them.
      if (!isTold) send({ kind: 'slipway:damage', change });
    });
    joined.serving.watchAttestation(({ envelope, storeId, version }) => {
      const text = Buffer.from(envelope).toString('base64');
      send({ kind: 'slipway:attestation', attestation: { storeId, version, envelope: text } });
    });
    report(joined, early.values());
  };

  const answerMetrics = async (id: number): Promise<void> => {
    const metrics = (await parts?.registry.getMetricsAsJSON()) ?? [];
    send({ kind: 'slipway:metrics', id, metrics });
  };

  channel.on('message', (message) => {
    if (!isPrimaryMessage(message)) return;
    switch (message.kind) {
      case 'slipway:start':
        for (const known of message.damage) early.set(known.blake3, known);
        started.resolve({
          slot: message.slot,
          config: message.config,
          shared: {
            processes: message.config.workers,
            settleMs: message.isReplacement ? SETTLE_MS : 0,
            firstEnvelope:
              message.attestation === null ? null : Buffer.from(message.attestation.envelope, 'base64'),
            scrubs: message.slot === 0,
            join,
          },
        });
        return;
      case 'slipway:damage':
        take(message.change);
        return;
      case 'slipway:attestation':
        // Verified here as if the daemon had sent it; one that is known changes nothing.
        parts?.serving.offerEnvelope(Buffer.from(message.attestation.envelope, 'base64'));
        return;
      case 'slipway:ping':
        send({ kind: 'slipway:pong' });
        return;
      case 'slipway:metrics':
        void answerMetrics(message.id);
        return;
      case 'slipway:stop':
        stopReason = message.reason;
        started.resolve(null);
        for (const listener of stopListeners) listener(message.reason);
    }
  });
  send({ kind: 'slipway:hello' });

  return {
    start: async () => await started.promise,
    listening: ({ url, hashing }) => {
      send({ kind: 'slipway:listening', url, hashing });
    },
    onStop: (listener) => {
      stopListeners.push(listener);
      if (stopReason !== null) listener(stopReason);
    },
  };
}
