import type { ManifestEntry } from '../../../domain/release/manifest.ts';
import { TaskError } from '../../tasks/task.ts';
import type { CatalogStore } from './catalog-store.ts';
import { manifestEntryOf } from '../records/entry-row.ts';

/**
 * The manifest entries of a revision, in manifest order, built from the objects that the database knows.
 *
 * @param onVerifiedAt called for every entry with the time of the last hash of its object, Unix seconds
 * @throws TaskError `release_incomplete` (retryable) at the first entry whose object is not known
 */
export async function* manifestEntries(
  catalogs: Pick<CatalogStore, 'knownPages'>,
  revisionId: number,
  onVerifiedAt: (seconds: number) => void = () => undefined,
): AsyncGenerator<ManifestEntry> {
  for await (const page of catalogs.knownPages(revisionId)) {
    for (const row of page) {
      if (row.blake3 === null) {
        throw new TaskError(
          'release_incomplete',
          `the object of ${JSON.stringify(row.destination)} is not known; run sync to fetch it`,
          { retryable: true, details: { destination: row.destination } },
        );
      }
      onVerifiedAt(row.verified_at);
      yield manifestEntryOf(row);
    }
  }
}
