import type { CatalogEntries } from '../../../releases/catalog/catalog-entries.ts';
import type { CatalogEntryRow } from '../../../releases/records/entry-row.ts';
import type { ReleaseRepository } from '../../../releases/records/release-repository.ts';
import type { ReleaseRow } from '../../../releases/records/release-row.ts';
import { TaskError } from '../../../engine/tasks/task.ts';

export type BaseRow = ReleaseRow & { readonly revision_id: number };

/** The current official release, sound and with known entries. @throws TaskError `no_official_release` */
export function requireBase(releases: ReleaseRepository): BaseRow {
  const official = releases.current('official');
  if (official === null) {
    throw new TaskError('no_official_release', 'there is no current official release; run sync first');
  }
  const { release_id: id, state, revision_id } = official;
  if (state !== 'current' || official.verified_at === null || revision_id === null) {
    const why = state === 'current' ? 'not verified' : state;
    throw new TaskError(
      'no_official_release',
      `the official release ${id} is ${why}; run verify or repair first`,
    );
  }
  return { ...official, revision_id };
}

/** Refuses inputs that were made for another official release. @throws TaskError `base_mismatch` */
export function requireSameBase(base: ReleaseRow, madeFor: string): void {
  if (base.release_id === madeFor) return;
  throw new TaskError(
    'base_mismatch',
    `the inputs were made for the official release ${madeFor}, and ${base.release_id} is current; make them again for it`,
  );
}

/** The entry of the base that a file replaces. @throws TaskError `unknown_destination` when the base has none */
export function officialEntry(catalogs: CatalogEntries, base: BaseRow, destination: string): CatalogEntryRow {
  const entry = catalogs.entry(base.revision_id, destination);
  if (entry !== null) return entry;
  throw new TaskError(
    'unknown_destination',
    `the official release ${base.release_id} has no file ${JSON.stringify(destination)}; a localized release only replaces files`,
    { details: { destination } },
  );
}
