import { verifyEnvelope } from '../../attestation/verify.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { HashPool } from '../../platform/hashing/digests.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import { openObject } from '../../snapshot/objects/object-reader.ts';
import { readStoreFormat } from '../../snapshot/volume/snapshot-store.ts';
import type { DaemonClient } from '../daemon-client/daemon-client.ts';
import type { ServerMetrics } from '../metrics.ts';
import { createAttestationKeeper } from './attestation-keeper.ts';
import { createServing, type ServingControl } from './create-serving.ts';
import { createDamageBook } from './damage-book.ts';
import { createDigestFinder } from './digest-finder.ts';
import { createSnapshotLoader } from './load-snapshot.ts';
import { createObjectInspector, type InspectedEntry } from './object-inspector.ts';
import { createRefresher, type Refresher, type RefreshOutcome } from './refresher.ts';
import { createSnapshotBinder, type SnapshotBinder } from './snapshot-binder.ts';
import { createSnapshotVolume } from './snapshot-volume.ts';
import type { TrustedKeyRing } from './trusted-key-ring.ts';

/** How long the volume may take to answer before it counts as absent. */
const VOLUME_TIMEOUT_MS = 5_000;

/** What {@link createServingRoom} needs. */
export interface ServingRoomOptions {
  readonly root: string;
  readonly trustedKeys: TrustedKeyRing;
  readonly client: Pick<DaemonClient, 'fetchAttestation'>;
  readonly waitSeconds: number;
  readonly pool: HashPool;
  readonly metrics: Pick<ServerMetrics, 'verdict' | 'refresh'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/** What is served, and what keeps it up to date. */
export interface ServingRoom {
  readonly serving: ServingControl;
  readonly refresher: Refresher;
  /** Ends the loops and the loads. */
  stop(): Promise<void>;
}

/** Puts the parts together that decide what may leave; nothing runs until the refresher is started. */
export function createServingRoom(options: ServingRoomOptions): ServingRoom {
  const { root, pool, clock, logger, metrics } = options;
  const binders: SnapshotBinder[] = [];
  const finder = createDigestFinder();

  const describe = (blake3: Blake3Hex): InspectedEntry | null => {
    for (const binder of binders) {
      for (const { index } of binder.all()) {
        const position = index === null ? undefined : finder.positions(index, blake3)[0];
        if (index !== null && position !== undefined) return index.entry(position);
        const document = index?.header.server_info;
        if (document?.blake3 === blake3) return document;
      }
    }
    return null;
  };

  const knowsAll = (): boolean =>
    binders.some((binder) => {
      const bound = [...binder.all()];
      return bound.length > 0 && bound.every(({ manifest }) => manifest !== 'loading');
    });

  const serving = createServing({
    keeper: createAttestationKeeper({
      verify: (envelope) => verifyEnvelope(envelope, options.trustedKeys.current()),
    }),
    damage: createDamageBook({ inspect: createObjectInspector({ root, pool, describe, knowsAll }) }),
    finder,
    createBinder: (onChange) => {
      const binder = createSnapshotBinder({
        load: createSnapshotLoader({ root, logger }),
        probe: async ({ blake3, size }) => {
          try {
            await (await openObject({ root, blake3, size })).close();
            return true;
          } catch {
            // Any fault means that it is not usable yet; the next look finds out again.
            return false;
          }
        },
        onChange,
      });
      binders.push(binder);
      return binder;
    },
    clock,
    onVerdict: (verdict, previous) => {
      metrics.verdict(verdict);
      const { channel, distributable, reason, message, release_id, snapshot_id } = verdict;
      logger[distributable || channel === 'localized' ? 'info' : 'warn'](
        {
          channel,
          distributable,
          reason,
          detail: message,
          release_id,
          snapshot_id,
          before: previous?.reason,
        },
        'verdict changed',
      );
    },
    onTrouble: () => {
      refresher.wake();
    },
  });

  const refresher = createRefresher({
    client: options.client,
    serving,
    trustedKeys: options.trustedKeys,
    volume: createSnapshotVolume({
      root,
      readStoreId: async (path) => (await readStoreFormat(path)).store_id,
      clock,
      onFailure: (error) => {
        logger.warn({ err: error }, 'the snapshot volume cannot be read');
      },
      timeoutMs: VOLUME_TIMEOUT_MS,
    }),
    clock,
    random: options.random,
    waitSeconds: options.waitSeconds,
    onOutcome: createOutcomeLog(logger, metrics),
  });

  return {
    serving,
    refresher,
    stop: async () => {
      await refresher.stop();
      await Promise.all(binders.map(async (binder) => binder.stop()));
    },
  };
}

/** Counts every poll, and logs a line only when the outcome is another than before. */
function createOutcomeLog(
  logger: Logger,
  metrics: Pick<ServerMetrics, 'refresh'>,
): (outcome: RefreshOutcome, error: unknown) => void {
  let last = '';
  return (outcome, error) => {
    metrics.refresh(outcome);
    const state = outcome === 'failed' ? `failed ${error instanceof Error ? error.message : ''}` : outcome;
    const isGood = outcome === 'accepted' || outcome === 'unchanged';
    const key = isGood ? 'good' : state;
    if (key !== last) {
      logger[isGood ? 'info' : 'warn']({ outcome, ...(error === null ? {} : { err: error }) }, 'refresh');
    }
    last = key;
  };
}
