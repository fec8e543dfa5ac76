import type { Blake3Hex, SnapshotId } from '../../../domain/release/digest.ts';
import { releaseOf, type ReleaseRow, type StoredRelease } from './release-row.ts';
import { allRows, oneRow, type SqlDatabase } from './sql.ts';

/** Finds the releases and catalogs that refer to objects and manifests in the store. */
export interface ObjectHolders {
  /** Kept releases that contain an object. */
  holders(blake3: Blake3Hex): readonly ReleaseRow[];
  /** Kept releases with this manifest. */
  withSnapshot(snapshotId: SnapshotId): readonly ReleaseRow[];
  /** Destinations of an object in a release, at most `limit`. */
  destinationsOf(release: ReleaseRow, blake3: Blake3Hex, limit: number): readonly string[];
  /** Whether an entry of any catalog or a server-info document refers to an object. */
  isReferenced(blake3: Blake3Hex): boolean;
  /** Whether a release that is not deleted has this manifest. */
  hasSnapshot(snapshotId: SnapshotId): boolean;
}

/** Creates the queries over the main database. */
export function createObjectHolders(database: SqlDatabase): ObjectHolders {
  const holders = database.prepare(
    `SELECT r.* FROM release r WHERE (EXISTS (SELECT 1 FROM catalog_entry e
         WHERE e.blake3 = :blake3 AND e.revision_id = r.revision_id) OR r.server_info_blake3 = :blake3)
       AND r.snapshot_id IS NOT NULL AND r.state IN ('verified', 'current', 'superseded', 'damaged')`,
  );
  const ofSnapshot = database.prepare(
    `SELECT r.* FROM release r WHERE r.snapshot_id = :snapshot_id
       AND r.state IN ('verified', 'current', 'superseded', 'damaged')`,
  );
  const destinations = database.prepare(
    `SELECT destination FROM catalog_entry WHERE blake3 = :blake3 AND revision_id = :revision_id
     ORDER BY destination LIMIT :limit`,
  );
  const referenced = database.prepare(
    `SELECT 1 FROM catalog_entry WHERE blake3 = :blake3
     UNION ALL SELECT 1 FROM release WHERE server_info_blake3 = :blake3 AND state <> 'deleted' LIMIT 1`,
  );
  const hasSnapshot = database.prepare(
    "SELECT 1 FROM release WHERE snapshot_id = :snapshot_id AND state <> 'deleted' LIMIT 1",
  );
  return {
    holders: (blake3) => allRows<StoredRelease>(holders, { blake3 }).map(releaseOf),
    withSnapshot: (snapshotId) =>
      allRows<StoredRelease>(ofSnapshot, { snapshot_id: snapshotId }).map(releaseOf),
    destinationsOf: (release, blake3, limit) =>
      allRows<{ readonly destination: string }>(destinations, {
        blake3,
        revision_id: release.revision_id,
        limit,
      }).map((row) => row.destination),
    isReferenced: (blake3) => oneRow(referenced, { blake3 }) !== null,
    hasSnapshot: (snapshotId) => oneRow(hasSnapshot, { snapshot_id: snapshotId }) !== null,
  };
}
