import type { Blake3Hex } from '../../../domain/release/digest.ts';
import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import type { Logger } from '../../../platform/logging/logging.ts';
import type { SnapshotWriter } from '../../../snapshot/snapshot-writer.ts';
import type { Attestor } from '../attest/attestor.ts';
import type { ObjectRegistry } from '../records/object-registry.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import type { ObjectInspector } from './object-inspector.ts';
import type { ReleaseDamage } from './release-damage.ts';

/** Milliseconds between two checks of the damaged objects. */
export const RECHECK_MS = 5000;
/** Maximum number of objects in one round. The others follow when these are sound. */
const RECHECK_OBJECTS_MAX = 1000;

/** Detects when damaged objects are sound again, whether a repair or another program replaced them. */
export interface DamageRecheck {
  /** Starts the checks; they run as long as any object is damaged. */
  start(): void;
  /** Call it when there may be new damage. */
  wake(): void;
  stop(): Promise<void>;
}

export interface DamageRecheckOptions {
  readonly inspector: ObjectInspector;
  readonly releases: ReleaseRepository;
  readonly objects: Pick<ObjectRegistry, 'confirm'>;
  readonly damage: Pick<ReleaseDamage, 'reassess'>;
  readonly attestor: Pick<Attestor, 'issue'>;
  readonly writer: Pick<SnapshotWriter, 'flush'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Creates the recheck. Each damaged object is hashed once after it was found, and again whenever its files change. An
 * object that is sound no longer withdraws its releases.
 */
export function createDamageRecheck(options: DamageRecheckOptions): DamageRecheck {
  const { inspector, releases, objects, clock, logger } = options;
  const stopping = new AbortController();
  /** Stamps of the files that were hashed and found damaged. */
  let hashed = new Map<Blake3Hex, string>();
  let woken = Promise.withResolvers<void>();
  let running: Promise<void> = Promise.resolve();

  /** Checks the objects; returns whether any is sound again. */
  const look = async (damaged: readonly Blake3Hex[]): Promise<boolean> => {
    const before = hashed;
    hashed = new Map();
    let isMended = false;
    for (const blake3 of damaged) {
      const stamp = await inspector.stamp(blake3);
      const startedAt = unixSeconds(clock);
      const isSound =
        before.get(blake3) !== stamp && (await inspector.inspect(blake3, stopping.signal)) === 'ok';
      if (isSound) objects.confirm(blake3, startedAt);
      else hashed.set(blake3, stamp);
      isMended ||= isSound;
    }
    return isMended;
  };

  const round = async (damaged: readonly Blake3Hex[]): Promise<void> => {
    if (!(await look(damaged))) return;
    // A repair may still be running. Make its writes durable first, so that a power failure cannot undo an attested
    // state.
    await options.writer.flush();
    for (const { channel, release_id: id } of options.damage.reassess()) {
      logger.info({ channel, release_id: id }, 'the damaged files of the release are sound again');
    }
    await options.attestor.issue('damage repaired');
  };

  const lookForever = async (): Promise<void> => {
    let isDamaged = true;
    while (!stopping.signal.aborted) {
      if (!isDamaged) await woken.promise;
      woken = Promise.withResolvers();
      // Only `stop` rejects this sleep, and it ends the loop.
      await clock.sleep(RECHECK_MS, stopping.signal).catch(() => undefined);
      if (stopping.signal.aborted) return;
      try {
        await round(releases.damagedObjects(RECHECK_OBJECTS_MAX));
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
