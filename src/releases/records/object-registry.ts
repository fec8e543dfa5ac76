import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { KnownObject } from './entry-row.ts';
import { oneRow, type SqlDatabase } from './sql.ts';

interface RegisteredObject extends KnownObject {
  /** False from the moment damage is found until the object is fetched again. */
  readonly sound: boolean;
  /** Unix seconds of the last hash over all its bytes. */
  readonly verifiedAt: number;
}

/** The facts that the daemon has recorded about objects. Only the store itself shows whether an object is present. */
export interface ObjectRegistry {
  get(blake3: string): RegisteredObject | null;
  /** The size of all objects, bytes, by whether they are sound. Reads the whole table. */
  totalBytes(): { readonly sound: number; readonly damaged: number };
  /** Records an object whose bytes were hashed at `verifiedAt` (Unix seconds) and match its name. */
  record(object: KnownObject, verifiedAt: number): void;
  confirm(blake3: Blake3Hex, verifiedAt: number): void;
  markDamaged(blake3: Blake3Hex): void;
  hasDamaged(revisionId: number): boolean;
  forgetUnreferenced(): number;
}

interface ObjectRow {
  readonly blake3: Blake3Hex;
  readonly size: number;
  readonly crc64: KnownObject['crc64'];
  readonly blocks: Blake3Hex | null;
  readonly sound: number;
  readonly verified_at: number;
}

export function createObjectRegistry(database: SqlDatabase): ObjectRegistry {
  const select = database.prepare('SELECT * FROM known_object WHERE blake3 = :blake3');
  const upsert = database.prepare(
    `INSERT INTO known_object (blake3, size, crc64, blocks, sound, verified_at)
     VALUES (:blake3, :size, :crc64, :blocks, 1, :verified_at)
     ON CONFLICT (blake3) DO UPDATE SET size = excluded.size, crc64 = excluded.crc64, blocks = excluded.blocks,
       sound = 1, verified_at = excluded.verified_at`,
  );
  const confirm = database.prepare(
    'UPDATE known_object SET sound = 1, verified_at = :verified_at WHERE blake3 = :blake3',
  );
  const damage = database.prepare('UPDATE known_object SET sound = 0 WHERE blake3 = :blake3');
  const forget = database.prepare(
    `DELETE FROM known_object WHERE NOT EXISTS (SELECT 1 FROM catalog_entry e WHERE e.blake3 = known_object.blake3)
       AND NOT EXISTS (SELECT 1 FROM release r WHERE r.server_info_blake3 = known_object.blake3 AND r.state <> 'deleted')`,
  );
  const totals = database.prepare(
    `SELECT ifnull(sum(size) FILTER (WHERE sound = 1), 0) AS sound, ifnull(sum(size) FILTER (WHERE sound = 0), 0) AS damaged
     FROM known_object`,
  );
  const damagedOf = database.prepare(
    `SELECT 1 FROM known_object k WHERE k.sound = 0 AND EXISTS
       (SELECT 1 FROM catalog_entry e WHERE e.blake3 = k.blake3 AND e.revision_id = :revision_id) LIMIT 1`,
  );
  return {
    get: (blake3) => {
      const row = oneRow<ObjectRow>(select, { blake3 });
      return row === null ? null : objectOf(row);
    },
    record: ({ blake3, size, crc64, blocks }, verifiedAt) =>
      void upsert.run({ blake3, size, crc64, blocks, verified_at: verifiedAt }),
    confirm: (blake3, verifiedAt) => void confirm.run({ blake3, verified_at: verifiedAt }),
    markDamaged: (blake3) => void damage.run({ blake3 }),
    hasDamaged: (revisionId) => oneRow(damagedOf, { revision_id: revisionId }) !== null,
    totalBytes: () =>
      oneRow<{ readonly sound: number; readonly damaged: number }>(totals, {}) ?? { sound: 0, damaged: 0 },
    forgetUnreferenced: () => Number(forget.run().changes),
  };
}

function objectOf({ sound, verified_at: verifiedAt, ...object }: ObjectRow): RegisteredObject {
  return { ...object, sound: sound === 1, verifiedAt };
}
