import type { MetricObject } from 'prom-client';
import type { ServerConfiguration } from '../config/config.ts';
import type { DamageReport } from '../../domain/verdict/evidence.ts';
import type { MinuteOfProcess } from '../history/server-history.ts';
import type { DamageChange } from '../serving/serving.ts';

/** Messages that a worker sends to all others through the first process. */
export type SharedMessage =
  | { readonly kind: 'slipway:attestation'; readonly attestation: SharedEnvelope }
  | { readonly kind: 'slipway:damage'; readonly change: DamageChange }
  | { readonly kind: 'slipway:minute'; readonly minute: MinuteOfProcess };

/** Messages of the first process to a worker. Both run the same program, so messages are not validated. */
export type PrimaryMessage =
  | SharedMessage
  | {
      readonly kind: 'slipway:start';
      /** Number of the worker, from 0; a replacement gets the number of the worker that died. */
      readonly slot: number;
      readonly config: ServerConfiguration;
      readonly damage: readonly DamageReport[];
      /** The attestation that the others accepted last; verified like any other. */
      readonly attestation: SharedEnvelope | null;
      /** Whether others serve now; then this one takes no clients before it has a verdict of its own. */
      readonly othersServe: boolean;
    }
  | { readonly kind: 'slipway:metrics'; readonly id: number }
  | { readonly kind: 'slipway:ping' }
  | { readonly kind: 'slipway:stop'; readonly reason: string };

/** Messages of a worker to the first process. */
export type WorkerMessage =
  | SharedMessage
  | { readonly kind: 'slipway:hello' }
  | { readonly kind: 'slipway:pong' }
  | { readonly kind: 'slipway:listening'; readonly url: string; readonly hashing: string }
  | { readonly kind: 'slipway:metrics'; readonly id: number; readonly metrics: readonly MetricObject[] };

/** An attestation sent from one process to another. */
export interface SharedEnvelope {
  readonly storeId: string;
  readonly version: number;
  /** The envelope as received, Base64. */
  readonly envelope: string;
}

const KINDS: ReadonlySet<unknown> = new Set(
  ['start', 'damage', 'attestation', 'minute', 'metrics', 'ping', 'pong', 'stop', 'hello', 'listening'].map(
    (name) => `slipway:${name}`,
  ),
);

/** Whether a message is a {@link WorkerMessage}; Node and libraries send others. */
export function isWorkerMessage(message: unknown): message is WorkerMessage {
  return typeof message === 'object' && message !== null && 'kind' in message && KINDS.has(message.kind);
}

/** As {@link isWorkerMessage}, for the other direction. */
export function isPrimaryMessage(message: unknown): message is PrimaryMessage {
  return isWorkerMessage(message);
}
