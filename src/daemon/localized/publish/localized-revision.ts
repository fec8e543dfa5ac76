import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import type { CatalogStore } from '../../releases/catalog/catalog-store.ts';
import { manifestEntries } from '../../releases/catalog/release-entries.ts';
import { summarizeContent, type ContentSummary } from '../../releases/records/content-digest.ts';
import type { CatalogEntryRow, KnownObject } from '../../releases/records/entry-row.ts';
import type { ObjectRegistry } from '../../releases/records/object-registry.ts';
import { TaskError, type TaskContext } from '../../tasks/task.ts';
import type { BaseRow } from './base-release.ts';
import type { Replacements } from './stage-patches.ts';

/** The upstream label of catalogs that were made here: no upstream has them. */
export const LOCALIZED_LABEL = 'localized';

/** The entries of a localized release, written to the database. */
export interface LocalizedRevision {
  readonly revisionId: number;
  readonly content: ContentSummary;
}

/**
 * Writes the entries of a localized release: those of the base, of which the replaced ones have other objects.
 *
 * @throws TaskError `unknown_destination` when the base lacks a replaced destination
 */
export async function writeLocalizedRevision(
  deps: { readonly catalogs: CatalogStore; readonly objects: ObjectRegistry; readonly clock: Clock },
  base: BaseRow,
  replaced: Replacements,
  context: TaskContext,
): Promise<LocalizedRevision> {
  const { catalogs } = deps;
  requireKnown(catalogs, base, [...replaced.keys()]);
  const revisionId = catalogs.begin({
    channel: 'localized',
    upstreamLabel: LOCALIZED_LABEL,
    upstreamReleaseId: base.release_id,
    etag: null,
    taskId: context.taskId,
    appVersion: base.app_version,
    serverInfo: null,
    fetchedAt: unixSeconds(deps.clock),
  });
  let copied = 0;
  for await (const page of catalogs.pages(base.revision_id, 'all')) {
    context.signal.throwIfAborted();
    catalogs.addRows(
      revisionId,
      page.map((row) => replace(row, replaced.get(row.destination))),
    );
    copied += page.length;
    context.progress(copied, base.entry_count, 'entries', 'catalog');
  }
  const content = await summarizeContent(
    manifestEntries(deps, revisionId),
    base.app_version === null ? {} : { app_version: base.app_version },
  );
  catalogs.complete(revisionId, content.digest);
  return { revisionId, content };
}

/**
 * Refuses destinations that the base does not have.
 *
 * @throws TaskError `unknown_destination`
 */
export function requireKnown(
  catalogs: Pick<CatalogStore, 'entry'>,
  base: BaseRow,
  destinations: readonly string[],
): void {
  const unknown = destinations.find((destination) => catalogs.entry(base.revision_id, destination) === null);
  if (unknown === undefined) return;
  throw new TaskError(
    'unknown_destination',
    `the official release ${base.release_id} has no file ${JSON.stringify(unknown)}; a localized release only replaces files`,
    { details: { destination: unknown } },
  );
}

/** An object with the official bytes leaves the entry official. */
function replace(row: CatalogEntryRow, object: KnownObject | undefined): CatalogEntryRow {
  if (object === undefined || object.blake3 === row.blake3) return row;
  return {
    ...row,
    source: 'localized',
    stated_size: object.size,
    stated_blake3: object.blake3,
    stated_sha256: null,
    stated_md5: null,
    stated_crc32: null,
    locator: '',
    blake3: object.blake3,
  };
}
