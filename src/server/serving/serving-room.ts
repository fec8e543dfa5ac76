import { DaemonUnavailable } from '../daemon-client/daemon-unavailable.ts';
import { verifyEnvelope } from '../../attestation/verify.ts';
import type { ManifestEntry } from '../../domain/release/manifest.ts';
import type { VolumeState } from '../../domain/verdict/evidence.ts';
import type { Verdict } from '../../domain/verdict/verdict.ts';
import { messageOf } from '../../platform/errors.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import type { HashPool } from '../../platform/hashing/digests.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { openObject } from '../../snapshot/objects/object-reader.ts';
import { readCurrentAttestation } from '../../snapshot/volume/attestation-files.ts';
import { readStoreFormat } from '../../snapshot/volume/snapshot-store.ts';
import type { DaemonClient } from '../daemon-client/daemon-client.ts';
import type { RefreshOutcome } from './attestation-poller.ts';
import { createBoundedRead } from './bounded-read.ts';
import { createServing } from './create-serving.ts';
import { DigestFinder } from './digest-finder.ts';
import { loadSnapshot } from './load-snapshot.ts';
import { createObjectInspector } from './object-inspector.ts';
import { createRefresher, type Refresher } from './refresher.ts';
import type { ServingControl } from './serving.ts';
import { createSnapshotBinder } from './snapshot-binder.ts';
import { createVolumeReader } from './snapshot-volume.ts';
import type { TrustedKeyRing } from './trusted-key-ring.ts';
import { createVerdictLog } from './verdict-log.ts';

/** Milliseconds after which a volume that does not answer counts as absent. */
const VOLUME_TIMEOUT_MS = 5_000;
/** Milliseconds that a daemon may take to start beside this server before that is worth a warning. */
const START_MS = 60_000;

/** Counters of the serving room. */
export interface ServingMetrics {
  verdict(verdict: Verdict): void;
  refresh(outcome: RefreshOutcome): void;
}

interface ServingRoomOptions {
  readonly root: string;
  readonly trustedKeys: TrustedKeyRing;
  readonly fetchAttestation: DaemonClient['fetchAttestation'];
  readonly waitSeconds: number;
  readonly pool: HashPool;
  readonly metrics: ServingMetrics;
  readonly onVerdict?: () => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/** The serving state, and the loops that keep it up to date. */
export interface ServingRoom {
  readonly serving: ServingControl;
  readonly refresher: Refresher;
  stop(): Promise<void>;
}

/** Assembles the parts that decide which bytes are served; nothing runs before the refresher is started. */
export function createServingRoom(options: ServingRoomOptions): ServingRoom {
  const { root, pool, clock, logger, metrics, trustedKeys } = options;
  const logVerdict = createVerdictLog(logger);
  const serving = createServing({
    verify: (envelope) => verifyEnvelope(envelope, trustedKeys.current()),
    inspect: createObjectInspector({ root, pool }),
    finder: new DigestFinder(),
    createBinder: (onBound) =>
      createSnapshotBinder({
        load: async (snapshotId, signal) => await loadSnapshot(root, logger, snapshotId, signal),
        probe: async (entry) => await isUsable(root, entry),
        onBound,
      }),
    clock,
    onVerdict: (verdict, previous) => {
      metrics.verdict(verdict);
      logVerdict(verdict, previous);
      options.onVerdict?.();
    },
    onTrouble: () => {
      refresher.wake();
    },
  });
  const refresher = createRefresher({
    fetchAttestation: options.fetchAttestation,
    serving,
    trustedKeys,
    readVolume: readVolumeOf(options),
    readVolumeEnvelope: createBoundedRead({
      read: async () => await readCurrentAttestation(root),
      onTimeout: () => {
        throw new Error(`the attestation on the snapshot volume was not read within ${VOLUME_TIMEOUT_MS} ms`);
      },
      clock,
      timeoutMs: VOLUME_TIMEOUT_MS,
    }),
    clock,
    random: options.random,
    waitSeconds: options.waitSeconds,
    onOutcome: createOutcomeLog(options),
  });
  return {
    serving,
    refresher,
    stop: async () => {
      await refresher.stop();
      await serving.stop();
    },
  };
}

function readVolumeOf({ root, clock, logger }: ServingRoomOptions): () => Promise<VolumeState> {
  return createVolumeReader({
    root,
    readStoreId: async (path) => (await readStoreFormat(path)).store_id,
    clock,
    onFailure: (error, wasNeverReadable) => {
      // The first start of a daemon makes the volume. One that stays away has a state that is logged.
      const isNotMade = wasNeverReadable && errorCode(error) === 'ENOENT';
      if (isNotMade) logger.info({ detail: messageOf(error) }, 'the snapshot volume has not been made yet');
      else logger.warn({ err: error }, 'the snapshot volume cannot be read');
    },
    timeoutMs: VOLUME_TIMEOUT_MS,
  });
}

async function isUsable(root: string, { blake3, size }: ManifestEntry): Promise<boolean> {
  try {
    await (await openObject({ root, blake3, size })).close();
    return true;
  } catch {
    // After any fault the object is not usable yet; the next check tries again.
    return false;
  }
}

/**
 * Counts every poll, and logs a line only when the outcome differs from the last one. Before the first good poll, a daemon that
 * may be about to start is logged as information for a while.
 */
function createOutcomeLog({
  logger,
  metrics,
  clock,
}: ServingRoomOptions): (outcome: RefreshOutcome, error: unknown) => void {
  const startedAt = clock.monotonic();
  let last = '';
  let hadGood = false;
  return (outcome, error) => {
    metrics.refresh(outcome);
    const state = outcome === 'failed' ? `failed ${error instanceof Error ? error.message : ''}` : outcome;
    const isGood = outcome === 'accepted' || outcome === 'unchanged';
    hadGood ||= isGood;
    const isCalm =
      isGood ||
      (!hadGood && clock.monotonic() - startedAt < START_MS && (outcome === 'none' || mayStartSoon(error)));
    const key = isGood ? 'good' : `${state} ${isCalm ? 'calm' : 'warned'}`;
    if (key !== last) {
      logger[isCalm ? 'info' : 'warn']({ outcome, ...failureFields(error) }, 'refresh');
    }
    last = key;
  };
}

/** Whether a poll failed as it does while the daemon starts: it does not listen, has made no token yet, or recovers. */
function mayStartSoon(error: unknown): boolean {
  if (!(error instanceof DaemonUnavailable)) return false;
  const { code, status, cause } = error;
  if (code === 'token_unreadable') return errorCode(cause instanceof Error ? cause.cause : null) === 'ENOENT';
  return code === 'unreachable' || (code === 'answer_refused' && status === 503);
}

/** For a daemon that cannot be used, the code and one sentence are enough; any other failure needs its stack. */
function failureFields(error: unknown): Readonly<Record<string, unknown>> {
  if (error === null) return {};
  return error instanceof DaemonUnavailable ? { code: error.code, detail: error.message } : { err: error };
}
