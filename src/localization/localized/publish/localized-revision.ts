import { setImmediate as nextTurn } from 'node:timers/promises';
import { unixSeconds } from '../../../platform/process/clock.ts';
import type { CatalogStore } from '../../../releases/catalog/catalog-store.ts';
import type { LocalizedChannel } from '../channel.ts';
import { manifestEntries } from '../../../releases/catalog/catalog-entries.ts';
import { summarizeContent, type ContentSummary } from '../../../releases/records/content-digest.ts';
import type { Destination } from '../../../domain/release/destination.ts';
import type { CatalogEntryRow, KnownObject } from '../../../releases/records/entry-row.ts';
import { PAGE_ROWS } from '../../../releases/records/sql.ts';
import { TaskError, type TaskContext } from '../../../engine/tasks/task.ts';
import type { BaseRow } from './base-release.ts';
import type { Replacements } from './stage-patches.ts';

/** The upstream label of catalogs that were made here: no upstream has them. */
const LOCALIZED_LABEL = 'localized';

export interface LocalizedRevision {
  readonly revisionId: number;
  readonly content: ContentSummary;
}

/**
 * Writes the entries of a localized release: those of the base, of which the replaced ones have other objects.
 *
 * @throws TaskError `unknown_destination` when the base does not have a replaced destination
 */
export async function writeLocalizedRevision(
  { catalogs, clock }: LocalizedChannel,
  base: BaseRow,
  replaced: Replacements,
  context: TaskContext,
): Promise<LocalizedRevision> {
  for await (const page of pagesOf(replaced, context)) requireKnown(catalogs, base, page);
  const revisionId = catalogs.begin({
    channel: 'localized',
    upstreamLabel: LOCALIZED_LABEL,
    upstreamReleaseId: base.release_id,
    etag: null,
    taskId: context.taskId,
    appVersion: base.app_version,
    serverInfo: null,
    fetchedAt: unixSeconds(clock),
  });
  let copied = 0;
  for await (const entries of catalogs.copyRows(base.revision_id, { revisionId, withObjects: true })) {
    context.signal.throwIfAborted();
    copied += entries;
    context.progress(copied, base.entry_count, 'entries', 'catalog');
  }
  for await (const page of pagesOf(replaced, context)) {
    catalogs.replaceRows(revisionId, replacedRows(catalogs, base, page));
  }
  const content = await summarizeContent(manifestEntries(catalogs, revisionId), base.app_version);
  catalogs.complete(revisionId, content.digest);
  return { revisionId, content };
}

/** The replaced files in pages, with a turn of the event loop after each: there can be as many as the release has files. */
async function* pagesOf(
  replaced: Replacements,
  { signal }: TaskContext,
): AsyncGenerator<readonly ReplacedFile[]> {
  const files = [...replaced];
  for (let at = 0; at < files.length; at += PAGE_ROWS) {
    signal.throwIfAborted();
    yield files.slice(at, at + PAGE_ROWS);
    await nextTurn();
  }
}

type ReplacedFile = readonly [Destination, KnownObject];

/**
 * Refuses destinations that the base does not have.
 *
 * @param files each begins with its destination
 * @throws TaskError `unknown_destination`
 */
export function requireKnown(
  catalogs: CatalogStore,
  base: BaseRow,
  files: readonly (readonly [string, ...unknown[]])[],
): void {
  const [unknown] =
    files.find(([destination]) => catalogs.entry(base.revision_id, destination) === null) ?? [];
  if (unknown === undefined) return;
  throw new TaskError(
    'unknown_destination',
    `the official release ${base.release_id} has no file ${JSON.stringify(unknown)}; a localized release only replaces files`,
    { details: { destination: unknown } },
  );
}

/** The rows of the entries that differ. An object with the official bytes leaves its entry official. */
function replacedRows(
  catalogs: CatalogStore,
  base: BaseRow,
  replaced: readonly ReplacedFile[],
): readonly CatalogEntryRow[] {
  return replaced.flatMap(([destination, object]): CatalogEntryRow[] => {
    const row = catalogs.entry(base.revision_id, destination);
    if (row === null || object.blake3 === row.blake3) return [];
    const localized = {
      source: 'localized' as const,
      stated_size: object.size,
      stated_blake3: object.blake3,
      stated_sha256: null,
      stated_md5: null,
      stated_crc32: null,
      locator: '',
      blake3: object.blake3,
    };
    return [{ ...row, ...localized }];
  });
}
