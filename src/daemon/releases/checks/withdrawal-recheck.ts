import type { Blake3Hex } from '../../../domain/release/digest.ts';
import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import type { Logger } from '../../../platform/logging/logging.ts';
import type { SnapshotWriter } from '../../../snapshot/snapshot-writer.ts';
import type { ObjectRegistry } from '../records/object-registry.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import type { DamageAttestation } from './damage-attestation.ts';
import type { StoredObjectInspector } from './stored-object-inspector.ts';
import type { ReleaseDamage } from './release-damage.ts';

/** Milliseconds between two checks of the damaged objects. */
export const RECHECK_MS = 5000;
/** Maximum number of objects in one round. The others follow when these are sound. */
const RECHECK_OBJECTS_MAX = 1000;

/** Notices when damaged objects become sound again, and issues the attestation that is still owed for damage. */
export interface WithdrawalRecheck {
  /** Starts looking, as long as anything is damaged. */
  start(): void;
  /** Call it when there may be new damage. */
  wake(): void;
  stop(): Promise<void>;
}

/** Collaborators of the recheck. */
export interface WithdrawalRecheckOptions {
  readonly inspector: StoredObjectInspector;
  readonly releases: ReleaseRepository;
  readonly objects: Pick<ObjectRegistry, 'confirm'>;
  readonly damage: Pick<ReleaseDamage, 'reassess'>;
  readonly attestation: DamageAttestation;
  readonly writer: Pick<SnapshotWriter, 'flush'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Creates the recheck. Each damaged object is hashed once after it was found, and again whenever its files change. An
 * object that is sound no longer withdraws its releases.
 */
export function createWithdrawalRecheck(options: WithdrawalRecheckOptions): WithdrawalRecheck {
  const { inspector, releases, objects, attestation, clock, logger } = options;
  const stopping = new AbortController();
  /** Stamps of the files that were hashed and found damaged. */
  let hashed = new Map<Blake3Hex, string>();
  let woken = Promise.withResolvers<void>();
  let running: Promise<void> = Promise.resolve();

  /** Returns the objects that are sound again. */
  const look = async (damaged: readonly Blake3Hex[]): Promise<readonly Blake3Hex[]> => {
    const before = hashed;
    hashed = new Map();
    const repaired: Blake3Hex[] = [];
    for (const blake3 of damaged) {
      const stamp = await inspector.stamp(blake3);
      const startedAt = unixSeconds(clock);
      const isSound =
        before.get(blake3) !== stamp && (await inspector.inspect(blake3, stopping.signal)) === 'ok';
      if (isSound) {
        objects.confirm(blake3, startedAt);
        repaired.push(blake3);
      } else {
        hashed.set(blake3, stamp);
      }
    }
    return repaired;
  };

  const round = async (): Promise<void> => {
    // First: a withdrawal that is not attested yet must not wait for the hashing below.
    if (attestation.isOwed()) await attestation.issue('damage changed');
    const repaired = await look(releases.damagedObjects(RECHECK_OBJECTS_MAX));
    if (repaired.length === 0) return;
    // A repair may still be running: nothing is attested that a power failure could take back.
    await options.writer.flush();
    for (const { channel, release_id: id } of options.damage.reassess(repaired)) {
      logger.info({ channel, release_id: id }, 'the damaged files of the release are sound again');
    }
    await attestation.issue('damage repaired');
  };

  const lookForever = async (): Promise<void> => {
    let isDamaged = true;
    while (!stopping.signal.aborted) {
      if (!isDamaged) await woken.promise;
      woken = Promise.withResolvers();
      // Only `stop` rejects this sleep, and it ends the loop.
      await clock.sleep(RECHECK_MS, stopping.signal).catch(() => undefined);
      if (stopping.signal.aborted) return;
      // A failed round is retried.
      isDamaged = true;
      try {
        await round();
        isDamaged = releases.damagedObjects(1).length > 0;
      } catch (error) {
        if (!stopping.signal.aborted) {
          logger.warn({ err: error }, 'damaged objects could not be checked again');
        }
      }
    }
  };

  return {
    start: () => {
      running = lookForever();
    },
    wake: () => {
      woken.resolve();
    },
    stop: async () => {
      stopping.abort(new Error('the daemon is stopping'));
      woken.resolve();
      await running;
    },
  };
}
