import { setImmediate as nextTurn } from 'node:timers/promises';
import { unixSeconds } from '../../../platform/process/clock.ts';
import type { CatalogStore } from '../../../releases/catalog/catalog-store.ts';
import type { LocalizedChannel } from '../channel.ts';
import { manifestEntries } from '../../../releases/catalog/catalog-entries.ts';
import { summarizeContent, type ContentSummary } from '../../../releases/records/content-digest.ts';
import type { Destination } from '../../../domain/release/destination.ts';
import type { CatalogEntryRow, KnownObject } from '../../../releases/records/entry-row.ts';
import { PAGE_ROWS } from '../../../releases/records/sql.ts';
import type { TaskContext } from '../../../engine/tasks/task.ts';
import { officialEntry, type BaseRow } from './base-release.ts';
import type { Replacements } from './stage-patches.ts';

/** The upstream label of catalogs that were made here: no upstream has them. */
const LOCALIZED_LABEL = 'localized';

export interface LocalizedRevision {
  readonly revisionId: number;
  readonly content: ContentSummary;
}

/**
 * Writes the entries of a localized release: those of the base, of which the replaced ones have other objects. Those of the base
 * are copied while the replaced ones are built, mostly by other processes.
 *
 * @param building the files that replace files of the base; the copy ends early when it fails
 * @throws what `building` rejects with
 */
export async function writeLocalizedRevision(
  { catalogs, clock }: LocalizedChannel,
  base: BaseRow,
  building: Promise<Replacements>,
  context: TaskContext,
): Promise<LocalizedRevision> {
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
  let build: 'runs' | 'failed' | 'done' = 'runs';
  const copyBase = async (): Promise<void> => {
    let copied = 0;
    for await (const entries of catalogs.copyRows(base.revision_id, { revisionId, withObjects: true })) {
      context.signal.throwIfAborted();
      copied += entries;
      // Until then, the build reports its own progress.
      if (build === 'done') context.progress(copied, base.entry_count, 'entries', 'catalog');
      if (build === 'failed') return;
    }
  };
  const copying = copyBase();
  // Awaited below; until then, a failure must not count as unhandled.
  copying.catch(() => undefined);
  const replaced = await building.catch(async (error: unknown) => {
    build = 'failed';
    await copying.catch(() => undefined);
    throw error;
  });
  build = 'done';
  await copying;
  for await (const page of pagesOf(replaced, context)) {
    catalogs.replaceRows(revisionId, replacedRows(catalogs, base, page));
  }
  const content = await summarizeContent(manifestEntries(catalogs, revisionId), base.app_version);
  catalogs.complete(revisionId, content.digest);
  return { revisionId, content };
}

/** The replaced files in pages, with a turn of the event loop after each: there can be as many as the release has files. */
export async function* pagesOf<Name extends string>(
  replaced: ReadonlyMap<Name, KnownObject>,
  { signal }: TaskContext,
): AsyncGenerator<readonly (readonly [Name, KnownObject])[]> {
  const files = [...replaced];
  for (let at = 0; at < files.length; at += PAGE_ROWS) {
    signal.throwIfAborted();
    yield files.slice(at, at + PAGE_ROWS);
    await nextTurn();
  }
}

/** The rows of the entries that differ. An object with the official bytes leaves its entry official. */
function replacedRows(
  catalogs: CatalogStore,
  base: BaseRow,
  replaced: readonly (readonly [Destination, KnownObject])[],
): readonly CatalogEntryRow[] {
  return replaced.flatMap(([destination, object]): CatalogEntryRow[] => {
    const row = officialEntry(catalogs, base, destination);
    if (object.blake3 === row.blake3) return [];
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
