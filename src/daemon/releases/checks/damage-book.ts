import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Blake3Hex } from '../../../domain/release/digest.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import { SERVER_INFO_NAME } from '../../../snapshot/objects/object-check.ts';
import type { ObjectRegistry } from '../records/object-registry.ts';
import { soundState, type DamageStatus, type ReleaseRepository } from '../records/release-repository.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import type { SqlDatabase } from '../records/sql.ts';

/** Objects noted between two turns of the event loop. */
const OBJECTS_PER_TURN = 200;
/** Destinations of one release that are listed for one damaged object. */
const DESTINATIONS_PER_OBJECT = 1000;

/** An object that was found not to be as named. */
export interface DamagedObject {
  readonly blake3: Blake3Hex;
  readonly status: DamageStatus;
}

/** Keeps what is known of damage consistent: releases share objects, so one damaged object can concern several. */
export interface DamageBook {
  /**
   * Notes damaged objects and withdraws every release that holds one of them.
   *
   * @returns the releases that are damaged now and were not before
   */
  report(objects: readonly DamagedObject[]): Promise<readonly ReleaseRow[]>;
  /** Notes damage of a release that is not about its entries: its manifest or its record. */
  reportRelease(release: ReleaseRow, message: string): void;
  /**
   * Looks again at every damaged release after objects were found or made sound.
   *
   * @returns the releases that are sound again
   */
  reassess(): readonly ReleaseRow[];
  /** Notes that manifest and record of a release are as they should be. */
  clearMessage(release: ReleaseRow): void;
}

/** Creates the book over the main database. */
export function createDamageBook(deps: {
  readonly database: SqlDatabase;
  readonly releases: ReleaseRepository;
  readonly objects: ObjectRegistry;
  readonly clock: Clock;
}): DamageBook {
  const { database, releases, objects } = deps;
  const now = (): number => Math.floor(deps.clock.now() / 1000);
  const markDamaged = (release: ReleaseRow, message: string | null): void => {
    releases.update(release.channel, release.release_id, {
      state: 'damaged',
      damaged_at: release.damaged_at ?? now(),
      ...(message === null ? {} : { damage_message: message }),
    });
  };
  /** The releases that this object withdraws. */
  const reportObject = ({ blake3, status }: DamagedObject): readonly ReleaseRow[] => {
    objects.markDamaged(blake3);
    const holders = releases.holders(blake3);
    for (const release of holders) {
      const destinations = releases.destinationsOf(release, blake3, DESTINATIONS_PER_OBJECT);
      for (const destination of destinations.length > 0 ? destinations : [SERVER_INFO_NAME]) {
        releases.addDamage({
          channel: release.channel,
          release_id: release.release_id,
          destination,
          blake3,
          status,
          found_at: now(),
        });
      }
      if (release.state !== 'damaged') markDamaged(release, null);
    }
    return holders.filter((release) => release.state !== 'damaged');
  };
  const dropSound = database.prepare(
    `DELETE FROM damaged_entry WHERE EXISTS
       (SELECT 1 FROM known_object k WHERE k.blake3 = damaged_entry.blake3 AND k.sound = 1)`,
  );
  return {
    report: async (damaged) => {
      const withdrawn = new Map<string, ReleaseRow>();
      for (let offset = 0; offset < damaged.length; offset += OBJECTS_PER_TURN) {
        database.transaction(() => {
          for (const object of damaged.slice(offset, offset + OBJECTS_PER_TURN)) {
            for (const release of reportObject(object)) {
              withdrawn.set(`${release.channel}/${release.release_id}`, release);
            }
          }
        });
        await nextTurn();
      }
      return [...withdrawn.values()];
    },
    reportRelease: (release, message) => {
      markDamaged(release, message);
    },
    clearMessage: (release) => {
      releases.update(release.channel, release.release_id, { damage_message: null });
    },
    reassess: () =>
      database.transaction(() => {
        dropSound.run();
        return releases.kept().filter((release) => {
          if (release.state !== 'damaged' || release.damage_message !== null) return false;
          if (releases.damageCount(release.channel, release.release_id) > 0) return false;
          const isCurrent = releases.pointer(release.channel)?.release_id === release.release_id;
          releases.update(release.channel, release.release_id, {
            state: soundState(release, isCurrent),
            damaged_at: null,
          });
          return true;
        });
      }),
  };
}
