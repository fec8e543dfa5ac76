import { DAMAGE_KINDS, type DamageKind } from '../../../domain/verdict/damage-kind.ts';
import { DAMAGE_FINDERS, type DaemonDamageFinder } from '../records/damage-records.ts';

/** The objects and manifests that one finder found with one kind of damage. */
export interface FoundDamage {
  readonly finder: DaemonDamageFinder;
  readonly kind: DamageKind;
  /** Since the start of the daemon. */
  readonly count: number;
}

/** Counts the damage that the daemon finds. */
export interface DamageTally {
  add(finder: DaemonDamageFinder, kind: DamageKind): void;
  /** A count of every finder and kind, also those of 0. */
  read(): readonly FoundDamage[];
}

/** Creates a tally in which every count is 0. */
export function createDamageTally(): DamageTally {
  const counts = new Map<string, number>();
  const keyOf = (finder: DaemonDamageFinder, kind: DamageKind): string => `${finder}/${kind}`;
  return {
    add: (finder, kind) => {
      const key = keyOf(finder, kind);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    },
    read: () =>
      DAMAGE_FINDERS.flatMap((finder) =>
        DAMAGE_KINDS.map((kind) => ({ finder, kind, count: counts.get(keyOf(finder, kind)) ?? 0 })),
      ),
  };
}
