import type { Channel } from '../../domain/release/channel.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { ReleaseId } from '../../domain/release/release-id.ts';
import { damageKindOf, OBJECT_DAMAGES, type ObjectDamage } from '../../domain/verdict/damage-kind.ts';
import { allRows, oneRow, type SqlDatabase } from './sql.ts';

const MISSING = OBJECT_DAMAGES.filter((damage) => damageKindOf(damage) === 'missing')
  .map((damage) => `'${damage}'`)
  .join(', ');

/** The finders of damage: a server that reads the volume, or a job of the daemon. */
export const DAMAGE_FINDERS = ['server', 'verify', 'refresh', 'repair', 'sync', 'publish', 'boot'] as const;

export type DaemonDamageFinder = (typeof DAMAGE_FINDERS)[number];

/** A damaged entry of a release. `found_at` is in Unix seconds. */
interface DamagedEntry {
  readonly channel: Channel;
  readonly release_id: ReleaseId;
  readonly destination: string;
  readonly blake3: Blake3Hex;
  readonly status: ObjectDamage;
  readonly found_at: number;
  readonly found_by: DaemonDamageFinder;
}

interface DamageCounts {
  readonly all: number;
  readonly missing: number;
}

export interface DamageRecords {
  /** Adds an entry. An entry that is already recorded keeps its finder and time. */
  addDamage(entry: DamagedEntry): void;
  clearDamage(channel: Channel, releaseId: string): void;
  /** Deletes the entries whose objects the registry has as sound again. */
  clearRepairedDamage(): void;
  clearObjectDamage(blake3: Blake3Hex): void;
  isDamaged(blake3: Blake3Hex): boolean;
  /** The first entries in the order of destinations. */
  damageOf(channel: Channel, releaseId: string, limit: number): readonly DamagedEntry[];
  damageCounts(channel: Channel, releaseId: string): DamageCounts;
  /** Objects of damaged entries of any release, each once, ordered by digest. */
  damagedObjects(limit: number): readonly Blake3Hex[];
}

export function createDamageRecords(database: SqlDatabase): DamageRecords {
  const add = database.prepare(
    `INSERT INTO damaged_entry (channel, release_id, destination, blake3, status, found_at, found_by)
     VALUES (:channel, :release_id, :destination, :blake3, :status, :found_at, :found_by)
     ON CONFLICT DO UPDATE SET status = excluded.status`,
  );
  const clear = database.prepare(
    'DELETE FROM damaged_entry WHERE channel = :channel AND release_id = :release_id',
  );
  const clearRepaired = database.prepare(
    `DELETE FROM damaged_entry WHERE EXISTS
       (SELECT 1 FROM known_object k WHERE k.blake3 = damaged_entry.blake3 AND k.sound = 1)`,
  );
  const clearObject = database.prepare('DELETE FROM damaged_entry WHERE blake3 = :blake3');
  const ofObject = database.prepare('SELECT 1 FROM damaged_entry WHERE blake3 = :blake3 LIMIT 1');
  const list = database.prepare(
    `SELECT * FROM damaged_entry WHERE channel = :channel AND release_id = :release_id
     ORDER BY destination LIMIT :limit`,
  );
  const counts = database.prepare(
    `SELECT count(*) AS "all", count(*) FILTER (WHERE status IN (${MISSING})) AS missing
     FROM damaged_entry WHERE channel = :channel AND release_id = :release_id`,
  );
  const objects = database.prepare('SELECT DISTINCT blake3 FROM damaged_entry ORDER BY blake3 LIMIT :limit');
  return {
    addDamage: (entry) => void add.run({ ...entry }),
    clearDamage: (channel, releaseId) => void clear.run({ channel, release_id: releaseId }),
    clearRepairedDamage: () => void clearRepaired.run(),
    clearObjectDamage: (blake3) => void clearObject.run({ blake3 }),
    isDamaged: (blake3) => oneRow(ofObject, { blake3 }) !== null,
    damageOf: (channel, releaseId, limit) =>
      allRows<DamagedEntry>(list, { channel, release_id: releaseId, limit }),
    damageCounts: (channel, releaseId) =>
      oneRow<DamageCounts>(counts, { channel, release_id: releaseId }) ?? { all: 0, missing: 0 },
    damagedObjects: (limit) =>
      allRows<{ readonly blake3: Blake3Hex }>(objects, { limit }).map(({ blake3 }) => blake3),
  };
}
