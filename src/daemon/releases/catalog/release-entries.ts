import type { ManifestEntry } from '../../../domain/release/manifest.ts';
import { TaskError } from '../../tasks/task.ts';
import type { CatalogStore } from './catalog-store.ts';
import { manifestEntryOf } from '../records/entry-row.ts';
import type { ObjectRegistry, RegisteredObject } from '../records/object-registry.ts';

/**
 * The manifest entries of a revision, in manifest order, built from the objects that the database knows.
 *
 * @param onObject called with the object of every entry
 * @throws TaskError `release_incomplete` (retryable) at the first entry whose object is not known
 */
export async function* manifestEntries(
  deps: { readonly catalogs: CatalogStore; readonly objects: ObjectRegistry },
  revisionId: number,
  onObject: (object: RegisteredObject) => void = () => undefined,
): AsyncGenerator<ManifestEntry> {
  for await (const page of deps.catalogs.pages(revisionId, 'all')) {
    const objects = deps.objects.getAll(page.flatMap(({ blake3 }) => blake3 ?? []));
    for (const row of page) {
      const object = row.blake3 === null ? undefined : objects.get(row.blake3);
      if (object === undefined) {
        throw new TaskError(
          'release_incomplete',
          `the object of ${JSON.stringify(row.destination)} is not known; run sync to fetch it`,
          { retryable: true, details: { destination: row.destination } },
        );
      }
      onObject(object);
      yield manifestEntryOf(row, object);
    }
  }
}
