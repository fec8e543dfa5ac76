import type { Reason } from './reasons.ts';

/** The kinds of damage of one object. */
export const OBJECT_DAMAGES = ['missing', 'size_mismatch', 'digest_mismatch', 'unreadable'] as const;

/** One of {@link OBJECT_DAMAGES}. `unreadable`: something else than a regular file is in its place, or it cannot be opened or read. */
export type ObjectDamage = (typeof OBJECT_DAMAGES)[number];

/** How the damage of an entry counts: `missing` for `EntryMissing`, `damaged` for `EntryDamaged`. */
export const DAMAGE_KINDS = ['missing', 'damaged'] as const;

export type DamageKind = (typeof DAMAGE_KINDS)[number];

/**
 * The kind of damage, for the server and the daemon. An entry is missing when it has no usable object: there is none, it has another
 * size, or it cannot be read. An object of the right size with other bytes is damaged.
 */
export function damageKindOf(damage: ObjectDamage): DamageKind {
  return damage === 'digest_mismatch' ? 'damaged' : 'missing';
}

/** The reason of a release with one entry that is damaged in this way. */
export function reasonOfDamage(kind: DamageKind): Extract<Reason, 'EntryMissing' | 'EntryDamaged'> {
  return kind === 'missing' ? 'EntryMissing' : 'EntryDamaged';
}

/** The finder of damage on the server: a read for a client, the scrub, or the reader of a snapshot. */
export type ServerDamageFinder = 'client' | 'scrub' | 'loading';
