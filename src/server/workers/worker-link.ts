import type { MetricObject } from 'prom-client';
import type { ServerConfiguration } from '../config/config.ts';
import type { DamageReport } from '../../domain/verdict/evidence.ts';
import type { MinuteOfProcess } from '../history/server-history.ts';
import type { DamageChange } from '../serving/serving.ts';
import type { SharedServing, SharedServingParts } from './shared-serving.ts';
import {
  isPrimaryMessage,
  type PrimaryMessage,
  type SharedEnvelope,
  type WorkerMessage,
} from './worker-messages.ts';

/** The instructions that a worker starts with. */
export interface WorkerStart {
  readonly slot: number;
  readonly config: ServerConfiguration;
  readonly shared: SharedServing;
}

/** The worker's side of the channel to the first process. */
export interface WorkerLink {
  /** The instructions; `null` when the worker is stopped before it starts. */
  start(): Promise<WorkerStart | null>;
  listening(server: { readonly url: string; readonly hashing: string }): void;
  /** Calls the listener when the worker must stop, even if that was requested before. */
  onStop(listener: (reason: string) => void): void;
}

/** Time limit for a replacement worker to prepare before it gets clients, milliseconds. */
const SETTLE_MS = 30_000;

type Send = (message: WorkerMessage) => void;
type StartMessage = Extract<PrimaryMessage, { readonly kind: 'slipway:start' }>;

/** Makes the link of a worker process. */
export function createWorkerLink(channel: {
  on(event: 'message', listener: (message: unknown) => void): unknown;
  send?(message: WorkerMessage): unknown;
}): WorkerLink {
  const started = Promise.withResolvers<WorkerStart | null>();
  const stopListeners: ((reason: string) => void)[] = [];
  let stopReason: string | null = null;
  const send: Send = (message) => {
    // Without a channel the first process has ended, and this one ends soon.
    channel.send?.(message);
  };
  const shared = createSharedEvidence(send);

  const stop = (reason: string): void => {
    stopReason = reason;
    started.resolve(null);
    for (const listener of stopListeners) listener(reason);
  };

  channel.on('message', (message) => {
    if (!isPrimaryMessage(message)) return;
    switch (message.kind) {
      case 'slipway:start':
        for (const report of message.damage) shared.takeDamage({ blake3: report.blake3, report });
        started.resolve(workerStart(message, shared.join, send));
        return;
      case 'slipway:damage':
        shared.takeDamage(message.change);
        return;
      case 'slipway:attestation':
        shared.takeEnvelope(message.attestation);
        return;
      case 'slipway:minute':
        shared.takeMinute(message.minute);
        return;
      case 'slipway:ping':
        send({ kind: 'slipway:pong' });
        return;
      case 'slipway:metrics':
        void shared.metrics().then((metrics) => {
          send({ kind: 'slipway:metrics', id: message.id, metrics });
        });
        return;
      case 'slipway:stop':
        stop(message.reason);
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

function workerStart(
  { slot, config, othersServe, attestation }: StartMessage,
  join: SharedServing['join'],
  send: Send,
): WorkerStart {
  return {
    slot,
    config,
    shared: {
      processes: config.workers,
      shareMinute: (minute) => {
        send({ kind: 'slipway:minute', minute });
      },
      settleMs: othersServe ? SETTLE_MS : 0,
      firstEnvelope: attestation === null ? null : Buffer.from(attestation.envelope, 'base64'),
      scrubs: slot === 0,
      join,
    },
  };
}

interface SharedEvidence {
  readonly join: SharedServing['join'];
  takeDamage(change: DamageChange): void;
  takeEnvelope(attestation: SharedEnvelope): void;
  takeMinute(minute: MinuteOfProcess): void;
  metrics(): Promise<readonly MetricObject[]>;
}

/** Passes evidence between the serving of this process and the other processes. */
function createSharedEvidence(send: Send): SharedEvidence {
  // Damage that others found before this process was ready to receive it.
  const early = new Map<string, DamageReport>();
  let parts: SharedServingParts | null = null;
  let isFromOthers = false;

  const report = (serving: SharedServingParts['serving'], reports: Iterable<DamageReport>): void => {
    isFromOthers = true;
    serving.reportDamage(...reports);
    isFromOthers = false;
  };

  return {
    join: (joined) => {
      parts = joined;
      joined.serving.watchDamage((change) => {
        // Damage that the others reported is not sent back to them.
        if (!isFromOthers) send({ kind: 'slipway:damage', change });
      });
      joined.serving.watchAttestation(({ envelope, storeId, version }) => {
        const text = Buffer.from(envelope).toString('base64');
        send({ kind: 'slipway:attestation', attestation: { storeId, version, envelope: text } });
      });
      report(joined.serving, early.values());
    },
    takeDamage: (change) => {
      if (parts === null) {
        if (change.report === null) early.delete(change.blake3);
        else early.set(change.blake3, change.report);
      } else if (change.report === null) {
        // Another process found the bytes sound; check whether they are sound here too.
        parts.wake();
      } else {
        report(parts.serving, [change.report]);
      }
    },
    takeEnvelope: ({ envelope }) => {
      // Verified here as if it came from the daemon; a known attestation changes nothing.
      parts?.serving.offerEnvelope(Buffer.from(envelope, 'base64'));
    },
    takeMinute: (minute) => {
      parts?.addMinute(minute);
    },
    metrics: async () => (await parts?.registry.getMetricsAsJSON()) ?? [],
  };
}
