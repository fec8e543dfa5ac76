import type { Blake3Hex } from '../../domain/release/digest.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import { createLoop, type Loop } from '../../platform/process/loop.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { SnapshotWriter } from '../../snapshot/snapshot-writer.ts';
import type { ObjectRegistry } from '../records/object-registry.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import type { DamageAttestation, ReleaseDamage } from './release-damage.ts';
import type { StoredObjectInspector } from './stored-object-inspector.ts';

/** Milliseconds between two checks of the damaged objects. */
export const RECHECK_MS = 5000;
/** Maximum number of objects in one round. The others follow when these are sound. */
const RECHECK_OBJECTS_MAX = 1000;

/**
 * Creates the background work that notices when damaged objects become sound again, and issues the attestation that is still owed for
 * damage. Each damaged object is hashed once after it was found, and again whenever its files change.
 */
export function createWithdrawalRecheck(options: {
  readonly inspector: StoredObjectInspector;
  readonly releases: ReleaseRepository;
  readonly objects: ObjectRegistry;
  readonly damage: ReleaseDamage;
  readonly attestation: DamageAttestation;
  readonly writer: SnapshotWriter;
  readonly clock: Clock;
  readonly logger: Logger;
}): Loop {
  const { inspector, releases, objects, attestation, clock, logger } = options;
  let hashed = new Map<Blake3Hex, string>();

  const recheck = async (
    damaged: readonly Blake3Hex[],
    signal: AbortSignal,
  ): Promise<readonly Blake3Hex[]> => {
    const before = hashed;
    hashed = new Map();
    const repaired: Blake3Hex[] = [];
    for (const blake3 of damaged) {
      const stamp = await inspector.stamp(blake3);
      const startedAt = unixSeconds(clock);
      const isSound = before.get(blake3) !== stamp && (await inspector.inspect(blake3, signal)) === 'ok';
      if (isSound) {
        objects.confirm(blake3, startedAt);
        repaired.push(blake3);
      } else {
        hashed.set(blake3, stamp);
      }
    }
    return repaired;
  };

  const round = async (signal: AbortSignal): Promise<void> => {
    // First: a withdrawal that is not attested yet must not wait for the hashing below.
    if (attestation.isPending()) await attestation.issue('damage changed');
    const repaired = await recheck(releases.damagedObjects(RECHECK_OBJECTS_MAX), signal);
    if (repaired.length === 0) return;
    // A repair may still be running: nothing is attested that a power failure could take back.
    await options.writer.flush();
    for (const { channel, release_id: id } of options.damage.reassess(repaired)) {
      logger.info({ channel, release_id: id }, 'the damaged files of the release are sound again');
    }
    await attestation.issue('damage repaired');
  };

  let isIdle = true;
  const loop = createLoop({
    clock,
    turn: async (signal) => {
      if (isIdle) {
        // New damage is left alone for a while: its finder has just read it.
        isIdle = false;
        return RECHECK_MS;
      }
      await round(signal);
      isIdle = releases.damagedObjects(1).length === 0;
      return isIdle ? Infinity : RECHECK_MS;
    },
    onFailure: (error) => {
      logger.warn({ err: error }, 'damaged objects could not be checked again');
      return RECHECK_MS;
    },
  });

  options.damage.onDamage(() => {
    if (isIdle) loop.wake();
  });
  return loop;
}
