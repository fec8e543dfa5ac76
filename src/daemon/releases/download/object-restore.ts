import { open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Blake3Hex } from '../../../domain/release/digest.ts';
import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import type { Failpoints } from '../../../platform/files/failpoints.ts';
import type { FileDigests, HashPool } from '../../../platform/hashing/digests.ts';
import { SERVER_INFO_NAME } from '../../../domain/release/server-info-document.ts';
import type { SnapshotWriter } from '../../../snapshot/snapshot-writer.ts';
import type { TaskContext } from '../../tasks/task.ts';
import type { Downloader } from '../../upstream/http/downloader.ts';
import { UpstreamError, type UpstreamAdapter, type UpstreamEntry } from '../../upstream/upstream.ts';
import type { CatalogStore } from '../catalog/catalog-store.ts';
import { commitDownloaded } from './download-run.ts';
import { restoreIntact } from './intact-object.ts';
import { upstreamEntryOf, type CatalogEntryRow } from '../records/entry-row.ts';
import type { ObjectRegistry } from '../records/object-registry.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import type { ReleaseRow } from '../records/release-row.ts';

export interface RestoreDependencies {
  /** Root of the snapshot volume. */
  readonly root: string;
  readonly releases: ReleaseRepository;
  readonly catalogs: CatalogStore;
  readonly objects: ObjectRegistry;
  readonly adapter: UpstreamAdapter | null;
  readonly downloader: Downloader | null;
  readonly pool: HashPool;
  readonly writer: SnapshotWriter;
  readonly clock: Clock;
  readonly failpoints: Failpoints;
}

/** The result of restoring one object. */
export type RestoreOutcome =
  | { readonly ok: true; readonly from: 'database' | 'store' | 'upstream' }
  | {
      readonly ok: false;
      readonly destination: string;
      readonly reason: string;
      readonly retryable: boolean;
    };

interface Restore {
  readonly release: ReleaseRow;
  readonly blake3: Blake3Hex;
  /** A directory of the store. */
  readonly staging: string;
  readonly context: TaskContext;
  readonly signal: AbortSignal;
}

/** Maximum number of destinations tried for one object. */
const DESTINATIONS_TRIED = 3;

/**
 * Brings back one object of a release: the server-info document from the database, an object whose bytes are intact from
 * the store, other official entries from upstream. No upstream has localized entries, so others cannot be brought back.
 * Bytes with another BLAKE3 than the manifest's are refused.
 *
 * @throws the storage error, or the signal's reason
 */
export async function restoreObject(deps: RestoreDependencies, restore: Restore): Promise<RestoreOutcome> {
  const { release, blake3 } = restore;
  const stagedPath = join(restore.staging, blake3);
  if (release.server_info_blake3 === blake3) {
    const digests = await stageServerInfo(deps, release, stagedPath, restore.signal);
    if (digests?.blake3 === blake3) {
      await commit(deps, restore, stagedPath, digests);
      return { ok: true, from: 'database' };
    }
  }
  if (await restoreIntact(deps, restore)) return { ok: true, from: 'store' };
  const destinations = deps.releases.destinationsOf(release, blake3, DESTINATIONS_TRIED);
  let problem = originProblem(deps, release, destinations);
  let retryable = false;
  for (const candidate of candidates(deps, release, destinations)) {
    try {
      const digests = await fetchCandidate(deps, restore, candidate, stagedPath);
      if (digests.blake3 === blake3) {
        await commit(deps, restore, stagedPath, digests);
        return { ok: true, from: 'upstream' };
      }
      problem = 'the available bytes do not match the manifest';
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      problem = error.message;
      retryable ||= error.retryable;
    }
  }
  return { ok: false, destination: destinations[0] ?? SERVER_INFO_NAME, reason: problem, retryable };
}

/** Whether an entry was patched by this daemon, so that no upstream has its bytes. An edge gets those of its origin. */
function isMadeHere({ source, locator }: CatalogEntryRow): boolean {
  return source === 'localized' && locator === '';
}

/** Why nothing is known to fetch an object from. */
function originProblem(
  { catalogs, releases }: RestoreDependencies,
  { channel, release_id: releaseId, revision_id: revisionId }: ReleaseRow,
  destinations: readonly string[],
): string {
  const isPatched =
    revisionId !== null &&
    destinations.some((destination) => {
      const entry = catalogs.entry(revisionId, destination);
      return entry !== null && isMadeHere(entry);
    });
  if (!isPatched) return 'the origin of its bytes is unknown';
  const isCurrent = releases.pointer(channel)?.release_id === releaseId;
  return isCurrent
    ? 'the file was patched, and no upstream has it; run localized-publish with what the release was made of: the texts, or the same translation file or patch manifest'
    : 'the file was patched, and no upstream has it; the release is not current, so no client misses it; it cannot become current again, and release-cleanup deletes it in time';
}

async function commit(
  deps: RestoreDependencies,
  { context }: Restore,
  stagedPath: string,
  digests: FileDigests,
): Promise<void> {
  const object = await context.commit(async () => {
    // An object of the right size would be kept, and the registry does not know every object that was found damaged.
    await deps.writer.quarantine(digests.blake3, context.taskId);
    return await commitDownloaded(deps, stagedPath, digests, context.taskId);
  });
  deps.objects.record(object, unixSeconds(deps.clock));
}

/** The catalog entries that may lead to the bytes: of each destination first the release's own, then the newest. */
function* candidates(
  deps: RestoreDependencies,
  release: ReleaseRow,
  destinations: readonly string[],
): Generator<CatalogEntryRow> {
  const newest = deps.adapter === null ? null : deps.catalogs.newest(deps.adapter.label);
  const revision = release.revision_id === null ? null : deps.catalogs.get(release.revision_id);
  // A locator is valid only for the upstream that issued it.
  const isReachable = revision !== null && revision.upstream_label === deps.adapter?.label;
  for (const destination of destinations) {
    const own = release.revision_id === null ? null : deps.catalogs.entry(release.revision_id, destination);
    if (own !== null && isMadeHere(own)) continue;
    if (own !== null && isReachable) yield own;
    if (newest === null || newest.revision_id === release.revision_id) continue;
    const now = deps.catalogs.entry(newest.revision_id, destination);
    if (now !== null && !(isReachable && now.locator === own?.locator)) yield now;
  }
}

async function fetchCandidate(
  deps: RestoreDependencies,
  { blake3, signal }: Restore,
  candidate: CatalogEntryRow,
  stagedPath: string,
): Promise<FileDigests> {
  if (deps.downloader === null) {
    throw new UpstreamError('upstream_unreachable', 'no upstream is configured to fetch the bytes from', {
      retryable: false,
    });
  }
  const known = deps.objects.get(blake3);
  const entry: UpstreamEntry = {
    ...upstreamEntryOf(candidate),
    size: known?.size ?? candidate.stated_size,
    digests: { blake3 },
  };
  return await deps.downloader.download(entry, stagedPath, signal, () => undefined);
}

async function stageServerInfo(
  deps: RestoreDependencies,
  release: ReleaseRow,
  stagedPath: string,
  signal: AbortSignal,
): Promise<FileDigests | null> {
  const bytes = release.revision_id === null ? null : deps.catalogs.serverInfo(release.revision_id);
  return bytes === null ? null : await stageBytes(deps.pool, stagedPath, bytes, signal);
}

/** Writes bytes durably to a staged file and hashes it. */
export async function stageBytes(
  pool: HashPool,
  stagedPath: string,
  bytes: Uint8Array,
  signal: AbortSignal,
): Promise<FileDigests> {
  // A file of an interrupted attempt may already be read-only.
  await rm(stagedPath, { force: true });
  await writeFile(stagedPath, bytes);
  const file = await open(stagedPath, 'r');
  try {
    return await pool.hashFile(file.fd, { blocks: true, extra: [] }, signal);
  } finally {
    await file.close();
  }
}
