import type { TaskParts } from '../release-parts.ts';
import { unixSeconds } from '../../platform/process/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { countText } from '../../domain/count-text.ts';
import { TaskError, type TaskContext } from '../../engine/tasks/task.ts';
import { redactUrl } from '../../upstream/upstream-location.ts';
import {
  UpstreamError,
  type UpstreamAdapter,
  type UpstreamCatalog,
  type UpstreamEntry,
} from '../../upstream/upstream.ts';
import { DoubleEntryError, WRITTEN_ROWS } from './catalog-entries.ts';
import type { RevisionRow } from './catalog-store.ts';

/** Maximum number of case conflicts named in a task log. */
const CASE_CONFLICTS_LOGGED = 20;

/**
 * Fetches the current catalog from upstream and stores it as a revision. When the catalog is already stored (same
 * validator or same fingerprint), the result is the stored revision with its known objects, so that an interrupted sync
 * resumes where it stopped. Entries that state what those of the current release state get the objects of these.
 *
 * @param force reads the catalog even when upstream says that it has not changed
 * @returns the complete revision
 * @throws UpstreamError; TaskError `destination_duplicate`, `catalog_empty`
 */
export async function fetchCatalog(
  parts: TaskParts,
  adapter: UpstreamAdapter,
  context: TaskContext,
  force: boolean,
): Promise<RevisionRow> {
  const { catalogs, clock } = parts;
  const now = (): number => unixSeconds(clock);
  const held = catalogs.newest(adapter.label);
  const usable = held !== null && (!force || held.task_id === context.taskId) ? held : null;
  let catalog: UpstreamCatalog | null;
  try {
    catalog = await adapter.fetchCatalog(usable?.etag ?? null, context.signal);
    parts.probes.record({
      label: adapter.label,
      ok: true,
      message: 'the catalog was fetched',
      checkedAt: now(),
    });
  } catch (error) {
    if (!context.signal.aborted) {
      parts.probes.record({ label: adapter.label, ok: false, message: messageOf(error), checkedAt: now() });
    }
    throw error;
  }
  if (catalog === null) {
    if (usable === null) {
      throw new TaskError(
        'catalog_invalid',
        `${adapter.label} answered "not modified" to an unconditional request`,
      );
    }
    catalogs.touch(usable.revision_id, usable.etag, now());
    context.log('info', 'the catalog has not changed', { release_id: usable.upstream_release_id });
    return catalogs.get(usable.revision_id) ?? usable;
  }
  // A forced sync fetches what is known as well.
  const before = force ? null : (parts.releases.current('official')?.revision_id ?? null);
  const revisionId = await importCatalog(parts, adapter, { catalog, before }, context);
  const known = catalogs.find({
    upstreamLabel: adapter.label,
    fingerprint: catalog.fingerprint(),
    upstreamReleaseId: catalog.releaseId,
  });
  if (known !== null) {
    await catalogs.drop(revisionId);
    catalogs.touch(known.revision_id, catalog.etag, now());
    return catalogs.get(known.revision_id) ?? known;
  }
  return catalogs.complete(revisionId, catalog.fingerprint(), catalog.excluded?.() ?? 0);
}

/**
 * Checks that upstream still has the catalog of a revision.
 *
 * @throws UpstreamError; TaskError `catalog_changed` (retryable) when upstream has a different one
 */
export async function confirmCatalog(
  adapter: UpstreamAdapter,
  revision: RevisionRow,
  signal: AbortSignal,
): Promise<void> {
  const catalog = await adapter.fetchCatalog(revision.etag, signal);
  if (catalog === null) return;
  let entries = 0;
  // The fingerprint is known only after the last entry; nothing is stored.
  for await (const _ of catalog.entries(signal)) entries += 1;
  if (catalog.fingerprint() === revision.fingerprint && catalog.releaseId === revision.upstream_release_id)
    return;
  throw new TaskError(
    'catalog_changed',
    `upstream published another catalog (release ${catalog.releaseId}, ${countText(entries, 'entry', 'entries')}) while release ` +
      `${revision.upstream_release_id} was fetched; the next attempt fetches the new one`,
    { retryable: true },
  );
}

async function importCatalog(
  parts: TaskParts,
  adapter: UpstreamAdapter,
  { catalog, before }: { readonly catalog: UpstreamCatalog; readonly before: number | null },
  context: TaskContext,
): Promise<number> {
  const { catalogs, clock } = parts;
  const revisionId = catalogs.begin({
    channel: 'official',
    upstreamLabel: adapter.label,
    upstreamReleaseId: catalog.releaseId,
    etag: catalog.etag,
    taskId: context.taskId,
    appVersion: catalog.appVersion,
    serverInfo: catalog.serverInfo,
    fetchedAt: unixSeconds(clock),
  });
  try {
    let entries = 0;
    let repeats = 0;
    let batch: UpstreamEntry[] = [];
    const flush = (): void => {
      const added = catalogs.add(revisionId, batch, before);
      entries += added;
      repeats += batch.length - added;
      batch = [];
      context.progress(entries, null, 'entries', 'catalog');
    };
    for await (const entry of catalog.entries(context.signal)) {
      batch.push(entry);
      if (batch.length >= WRITTEN_ROWS) flush();
    }
    if (batch.length > 0) flush();
    if (entries === 0) {
      const excluded = catalog.excluded?.() ?? 0;
      const what =
        excluded === 0
          ? 'has no entries'
          : `has no entries beside the ${excluded} that upstream.exclude leaves out`;
      throw new TaskError(
        'catalog_empty',
        `the catalog of release ${catalog.releaseId} ${what}; the current release stays`,
      );
    }
    for (const names of catalogs.caseConflicts(revisionId, CASE_CONFLICTS_LOGGED)) {
      context.log(
        'warn',
        'destinations differ only in case; case-insensitive file systems cannot store both',
        {
          destinations: names,
        },
      );
    }
    const excluded = catalog.excluded?.() ?? 0;
    context.log('info', 'the catalog was read', {
      release_id: catalog.releaseId,
      entries,
      ...(repeats === 0 ? {} : { listed_twice: repeats }),
      ...(excluded === 0 ? {} : { excluded }),
    });
    return revisionId;
  } catch (error) {
    await catalogs.drop(revisionId);
    throw error instanceof DoubleEntryError ? await describeDouble(adapter, error, context) : error;
  }
}

/** Reads the catalog again for the places and the facts of an entry that it lists twice. Nobody can keep the places of all. */
async function describeDouble(
  adapter: UpstreamAdapter,
  error: DoubleEntryError,
  { signal }: TaskContext,
): Promise<DoubleEntryError> {
  const facts: string[] = [];
  try {
    const catalog = await adapter.fetchCatalog(null, signal);
    if (catalog === null) return error;
    for await (const entry of catalog.entries(signal)) {
      const fact = entry.destination === error.destination ? factOf(entry) : null;
      if (fact !== null && !facts.includes(fact)) facts.push(fact);
      if (facts.length === 2) break;
    }
  } catch (failure) {
    signal.throwIfAborted();
    if (!(failure instanceof UpstreamError)) throw failure;
  }
  return facts.length < 2 ? error : new DoubleEntryError(error.destination, facts);
}

function factOf({ place, size, digests, locator }: UpstreamEntry): string {
  const stated = Object.entries(digests).map(([kind, digest]) => `${kind} ${digest}`);
  const what = [size === null ? 'no size' : countText(size, 'byte'), ...stated].join(', ');
  return `${place ?? redactUrl(locator)} (${what})`;
}
