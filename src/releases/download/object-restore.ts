import type { TaskParts } from '../release-parts.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import { unixSeconds } from '../../platform/process/clock.ts';
import type { ContentDigests, FileDigests, HashPool } from '../../platform/hashing/digests.ts';
import { SERVER_INFO_NAME } from '../../domain/release/server-info-document.ts';
import type { TaskContext } from '../../engine/tasks/task.ts';
import { UpstreamError, type UpstreamEntry } from '../../upstream/upstream.ts';
import { commitDownloaded } from './download-run.ts';
import { upstreamEntryOf, type CatalogEntryRow, type KnownObject } from '../records/entry-row.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import { blake3Hex } from '../../platform/hashing/blake3.ts';
import { objectDamageOf } from '../../snapshot/objects/object-fault.ts';
import { hashObject } from '../../snapshot/objects/object-verifier.ts';
import { join } from 'node:path';
import { open, rm, writeFile } from '../../platform/files/file-changes.ts';

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
  readonly staging: string;
  readonly context: TaskContext;
  readonly signal: AbortSignal;
}

const DESTINATIONS_TRIED = 3;

/**
 * Brings back one object of a release: the server-info document from the database, an object whose bytes are intact from
 * the store, other official entries from upstream. No upstream has localized entries, so others cannot be brought back.
 * Bytes with another BLAKE3 than the manifest's are refused.
 *
 * @throws the storage error, or the signal's reason
 */
export async function restoreObject(parts: TaskParts, restore: Restore): Promise<RestoreOutcome> {
  const { release, blake3 } = restore;
  const stagedPath = join(restore.staging, blake3);
  if (release.server_info_blake3 === blake3) {
    const digests = await stageServerInfo(parts, release, stagedPath, restore.signal);
    if (digests?.blake3 === blake3) {
      await commit(parts, restore, stagedPath, digests);
      return { ok: true, from: 'database' };
    }
  }
  if (await restoreIntact(parts, restore)) return { ok: true, from: 'store' };
  const destinations = parts.releases.destinationsOf(release, blake3, DESTINATIONS_TRIED);
  let problem = originProblem(parts, release, destinations);
  let retryable = false;
  for (const candidate of candidates(parts, release, destinations)) {
    try {
      const digests = await fetchCandidate(parts, restore, candidate, stagedPath);
      if (digests.blake3 === blake3) {
        await commit(parts, restore, stagedPath, digests);
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

function originProblem(
  { catalogs, releases }: TaskParts,
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
  parts: TaskParts,
  { context }: Restore,
  stagedPath: string,
  digests: FileDigests,
): Promise<void> {
  const object = await context.commit(async () => {
    // An object of the right size would be kept, and the registry does not know every object that was found damaged.
    await parts.writer.quarantine(digests.blake3, context.taskId);
    const committed = await commitDownloaded(parts, stagedPath, digests, context.taskId);
    await parts.writer.flush();
    return committed;
  });
  parts.objects.record(object, unixSeconds(parts.clock));
}

function* candidates(
  parts: TaskParts,
  release: ReleaseRow,
  destinations: readonly string[],
): Generator<CatalogEntryRow> {
  const label = parts.upstream?.adapter.label ?? null;
  const newest = label === null ? null : parts.catalogs.newest(label);
  const revision = release.revision_id === null ? null : parts.catalogs.get(release.revision_id);
  // A locator is valid only for the upstream that issued it.
  const isReachable = revision !== null && revision.upstream_label === label;
  for (const destination of destinations) {
    const own = release.revision_id === null ? null : parts.catalogs.entry(release.revision_id, destination);
    if (own !== null && isMadeHere(own)) continue;
    if (own !== null && isReachable) yield own;
    if (newest === null || newest.revision_id === release.revision_id) continue;
    const now = parts.catalogs.entry(newest.revision_id, destination);
    if (now !== null && !(isReachable && now.locator === own?.locator)) yield now;
  }
}

async function fetchCandidate(
  parts: TaskParts,
  { blake3, signal }: Restore,
  candidate: CatalogEntryRow,
  stagedPath: string,
): Promise<FileDigests> {
  if (parts.upstream === null) {
    throw new UpstreamError('upstream_unreachable', 'no upstream is configured to fetch the bytes from');
  }
  const known = parts.objects.get(blake3);
  const entry: UpstreamEntry = {
    ...upstreamEntryOf(candidate),
    size: known?.size ?? candidate.stated_size,
    digests: { blake3 },
  };
  return await parts.upstream.downloader.download(entry, stagedPath, signal, () => undefined);
}

async function stageServerInfo(
  parts: TaskParts,
  release: ReleaseRow,
  stagedPath: string,
  signal: AbortSignal,
): Promise<FileDigests | null> {
  const bytes = release.revision_id === null ? null : parts.catalogs.serverInfo(release.revision_id);
  return bytes === null ? null : await stageBytes(parts.pool, stagedPath, bytes, signal);
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

/**
 * Keeps an object that was found damaged, but whose bytes match its name: computes its block list from them, compares it
 * with the known digest of the list, and writes it again if it is lost or wrong.
 *
 * @returns whether the object is whole again
 * @throws the storage error, an error that says nothing of the object, or the signal's reason
 */
async function restoreIntact(
  parts: TaskParts,
  { blake3, staging, context, signal }: Restore,
): Promise<boolean> {
  const known = parts.objects.get(blake3);
  const digests = known === null ? null : await hashIntact(parts, known, signal);
  if (digests === null) return false;
  const object = { stagedPath: join(staging, blake3), digests };
  const isWhole = await context.commit(async () => {
    const isThere = await parts.writer.restoreBlockList(object);
    await parts.writer.flush();
    return isThere;
  });
  if (isWhole) parts.objects.confirm(blake3, unixSeconds(parts.clock));
  return isWhole;
}

/** The digests of a stored object; `null` when its bytes, or the block list made of them, are not the known ones. */
async function hashIntact(
  { root, pool }: TaskParts,
  { blake3, size, blocks }: KnownObject,
  signal: AbortSignal,
): Promise<ContentDigests | null> {
  try {
    const found = await hashObject({
      root,
      part: { blake3, size },
      pool,
      signal,
      blocks: true,
      alsoCached: true,
    });
    const list = found.blocks === null ? null : blake3Hex(found.blocks);
    return found.blake3 === blake3 && found.size === size && list === blocks ? found : null;
  } catch (error) {
    signal.throwIfAborted();
    if (objectDamageOf(error) === null) throw error;
    return null;
  }
}
