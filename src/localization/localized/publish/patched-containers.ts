import type { Blake3Hex } from '../../../domain/release/digest.ts';
import type { SnapshotWriter } from '../../../snapshot/snapshot-writer.ts';
import type { ObjectRegistry } from '../../../releases/records/object-registry.ts';
import { oneRow, prepareAll, type SqlDatabase } from '../../../releases/records/sql.ts';
import type { PatchedContainers } from '../channel.ts';

/** Creates the records over the main database. */
export function createPatchedContainers(
  database: SqlDatabase,
  objects: ObjectRegistry,
  writer: SnapshotWriter,
): PatchedContainers {
  const statements = prepareAll(database, SQL);
  return {
    find: async (patchKey) => {
      const row = oneRow<{ blake3: Blake3Hex }>(statements.find, { patch_key: patchKey });
      const object = row === null ? null : objects.get(row.blake3);
      if (object === null || !object.sound) return null;
      return (await writer.objectState(object.blake3, object.size)) === 'ok' ? object : null;
    },
    record: (patchKey, { blake3, size }, nowSeconds) => {
      statements.record.run({ patch_key: patchKey, blake3, size, now: nowSeconds });
    },
    forgetLost: () => {
      statements.forgetLost.run();
    },
  };
}

const SQL = {
  find: 'SELECT blake3 FROM patched_container WHERE patch_key = :patch_key',
  record: `INSERT INTO patched_container (patch_key, blake3, size, patched_at)
    VALUES (:patch_key, :blake3, :size, :now)
    ON CONFLICT (patch_key) DO UPDATE SET blake3 = excluded.blake3, size = excluded.size, patched_at = excluded.patched_at`,
  forgetLost:
    'DELETE FROM patched_container WHERE NOT EXISTS (SELECT 1 FROM known_object o WHERE o.blake3 = patched_container.blake3)',
} as const;
