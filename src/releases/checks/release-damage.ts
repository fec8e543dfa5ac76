import { setImmediate as nextTurn } from 'node:timers/promises';
import { createEvents } from '../../engine/events/events.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import { SERVER_INFO_NAME } from '../../domain/release/server-info-document.ts';
import {
  DAMAGE_KINDS,
  damageKindOf,
  type DamageKind,
  type ObjectDamage,
} from '../../domain/verdict/damage-kind.ts';
import { DAMAGE_FINDERS, type DaemonDamageFinder } from '../records/damage-records.ts';
import type { ObjectRegistry } from '../records/object-registry.ts';
import { soundState, type ReleaseRepository } from '../records/release-repository.ts';
import type { ReleaseProblem, ReleaseRow } from '../records/release-row.ts';
import type { SqlDatabase } from '../records/sql.ts';

const OBJECTS_PER_TURN = 200;
const DESTINATIONS_PER_OBJECT = 1000;

export interface DamagedObject {
  readonly blake3: Blake3Hex;
  readonly status: ObjectDamage;
}

interface FoundDamage {
  readonly finder: DaemonDamageFinder;
  readonly kind: DamageKind;
  /** Since the start of the daemon. */
  readonly count: number;
}

/** Keeps the known damage of all releases consistent: releases share objects, so one object can damage several. */
export interface ReleaseDamage {
  /**
   * Records damaged objects and withdraws every release that contains one of them.
   *
   * @returns the releases that have become damaged
   */
  report(objects: readonly DamagedObject[], finder: DaemonDamageFinder): Promise<readonly ReleaseRow[]>;
  reportRelease(release: ReleaseRow, problem: ReleaseProblem, finder: DaemonDamageFinder): void;
  isKnown(blake3: Blake3Hex): boolean;
  /** The damage found since the start of the daemon. Damage that lasts counts once. */
  found(): readonly FoundDamage[];
  /**
   * Checks every damaged release again after objects were found or made sound.
   *
   * @param repaired sound objects that may be missing in the registry: the server-info document of an adopted release is
   *   not in it, because no manifest states its CRC-64
   * @returns the releases that are sound again
   */
  reassess(repaired?: readonly Blake3Hex[]): readonly ReleaseRow[];
  clearProblem(release: ReleaseRow): void;
  onDamage(listener: () => void): void;
  onSoundnessChanged(listener: () => void): void;
}

interface ReleaseDamageOptions {
  readonly database: SqlDatabase;
  readonly releases: ReleaseRepository;
  readonly objects: ObjectRegistry;
  readonly clock: Clock;
}

export function createReleaseDamage(options: ReleaseDamageOptions): ReleaseDamage {
  const { database, releases, objects, clock } = options;
  const tally = createTally();
  const found = createEvents<void>();
  const soundnessChanged = createEvents<void>();
  const withdraw = (release: ReleaseRow, problem: ReleaseProblem | null): void => {
    releases.update(release.channel, release.release_id, {
      state: 'damaged',
      damaged_at: release.damaged_at ?? unixSeconds(clock),
      ...(problem === null ? {} : { damage_reason: problem.reason, damage_message: problem.message }),
    });
  };
  const reportObject = (
    { blake3, status }: DamagedObject,
    finder: DaemonDamageFinder,
  ): readonly ReleaseRow[] => {
    objects.markDamaged(blake3);
    const holders = releases.holders(blake3);
    for (const release of holders) {
      addEntries(options, release, { blake3, status }, finder);
      if (release.state !== 'damaged') withdraw(release, null);
    }
    return holders.filter((release) => release.state !== 'damaged');
  };
  return {
    report: async (damaged, finder) => {
      const withdrawn = new Map<string, ReleaseRow>();
      for (let offset = 0; offset < damaged.length; offset += OBJECTS_PER_TURN) {
        const turn = damaged.slice(offset, offset + OBJECTS_PER_TURN);
        const unknown = turn.filter(({ blake3 }) => !isKnown(options, blake3));
        database.transaction(() => {
          for (const object of turn) {
            for (const release of reportObject(object, finder)) {
              withdrawn.set(`${release.channel}/${release.release_id}`, release);
            }
          }
        });
        for (const { status } of unknown) tally.add(finder, damageKindOf(status));
        await nextTurn();
      }
      if (damaged.length > 0) found.publish();
      if (withdrawn.size > 0) soundnessChanged.publish();
      return [...withdrawn.values()];
    },
    reportRelease: (release, problem, finder) => {
      withdraw(release, problem);
      if (release.damage_message === null)
        tally.add(finder, problem.reason === 'SnapshotMissing' ? 'missing' : 'damaged');
      found.publish();
      if (release.state !== 'damaged') soundnessChanged.publish();
    },
    isKnown: (blake3) => isKnown(options, blake3),
    found: tally.read,
    onDamage: found.subscribe,
    onSoundnessChanged: soundnessChanged.subscribe,
    clearProblem: (release) =>
      releases.update(release.channel, release.release_id, { damage_reason: null, damage_message: null }),
    reassess: (repaired = []) => {
      const sound = database.transaction(() => clearRepaired(options, repaired));
      if (sound.length > 0) soundnessChanged.publish();
      return sound;
    },
  };
}

function createTally() {
  const counts = new Map<string, number>();
  return {
    add: (finder: DaemonDamageFinder, kind: DamageKind): void => {
      const key = `${finder}/${kind}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    },
    read: (): readonly FoundDamage[] =>
      DAMAGE_FINDERS.flatMap((finder) =>
        DAMAGE_KINDS.map((kind) => ({ finder, kind, count: counts.get(`${finder}/${kind}`) ?? 0 })),
      ),
  };
}

function clearRepaired(
  { releases, objects }: ReleaseDamageOptions,
  repaired: readonly Blake3Hex[],
): readonly ReleaseRow[] {
  releases.clearRepairedDamage();
  for (const blake3 of repaired) {
    if (objects.get(blake3) === null) releases.clearObjectDamage(blake3);
  }
  return releases.kept().filter((release) => {
    if (release.state !== 'damaged' || release.damage_message !== null) return false;
    if (releases.damageCounts(release.channel, release.release_id).all > 0) return false;
    const isCurrent = releases.pointer(release.channel)?.release_id === release.release_id;
    releases.update(release.channel, release.release_id, {
      state: soundState(release, isCurrent),
      damaged_at: null,
    });
    return true;
  });
}

function isKnown({ objects, releases }: ReleaseDamageOptions, blake3: Blake3Hex): boolean {
  const object = objects.get(blake3);
  return object === null ? releases.isDamaged(blake3) : !object.sound;
}

function addEntries(
  { releases, clock }: ReleaseDamageOptions,
  release: ReleaseRow,
  { blake3, status }: DamagedObject,
  finder: DaemonDamageFinder,
): void {
  const destinations = releases.destinationsOf(release, blake3, DESTINATIONS_PER_OBJECT);
  for (const destination of destinations.length > 0 ? destinations : [SERVER_INFO_NAME]) {
    releases.addDamage({
      channel: release.channel,
      release_id: release.release_id,
      destination,
      blake3,
      status,
      found_at: unixSeconds(clock),
      found_by: finder,
    });
  }
}

/** Attests after damage was found or repaired, and remembers when that failed. */
export interface DamageAttestation {
  isPending(): boolean;
  /** @throws what the attestor throws */
  issue(cause: string): Promise<void>;
}

export function createDamageAttestation(attestor: {
  readonly issue: (cause: string) => Promise<unknown>;
}): DamageAttestation {
  let isPending = false;
  return {
    isPending: () => isPending,
    issue: async (cause) => {
      try {
        await attestor.issue(cause);
        isPending = false;
      } catch (error) {
        isPending = true;
        throw error;
      }
    },
  };
}
