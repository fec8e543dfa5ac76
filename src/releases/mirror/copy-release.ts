import type { TaskParts } from '../release-parts.ts';
import type { ConnectedUpstream } from '../../upstream/adapters/upstream-source.ts';
import { manifestDigestOf, type Blake3Hex } from '../../domain/release/digest.ts';
import type { SourceRelease } from '../../mirror/attested-source.ts';
import type { TaskContext } from '../../engine/tasks/task.ts';
import type { AttestedUpstream } from '../../upstream/attested/attested-upstream.ts';
import type { RevisionRow } from '../catalog/catalog-store.ts';
import { manifestEntries } from '../catalog/catalog-entries.ts';
import { downloadUnresolved } from '../download/download-run.ts';
import { summarizeContent } from '../records/content-digest.ts';
import type { HeldOrigin } from '../records/origin-repository.ts';
import type { ReleaseDraft } from '../records/release-record-of.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import { fetchObjects, workingRevision } from '../sync/sync-steps.ts';
import { unixSeconds } from '../../platform/process/clock.ts';
import { readManifest } from '../../mirror/read-manifest.ts';
import { entryRowOf } from '../records/entry-row.ts';

/** What a copy from the origin works with. */
export interface MirrorParts extends TaskParts {
  readonly upstream: ConnectedUpstream & { readonly attested: AttestedUpstream };
}

export interface CopiedRelease {
  readonly release: ReleaseRow;
  readonly downloadedEntries: number;
  readonly downloadedBytes: number;
  readonly reusedEntries: number;
}

/**
 * Copies a release of the origin byte for byte: its id, its manifest and the objects that the store lacks. Clients notice
 * no difference.
 *
 * @throws MirrorError, UpstreamError, the storage error; TaskError `no_space`, `release_conflict`, `release_damaged`,
 *   `origin_manifest_differs`
 */
export async function copyRelease(
  parts: MirrorParts,
  origin: HeldOrigin,
  wanted: SourceRelease,
  context: TaskContext,
): Promise<CopiedRelease> {
  const mirrored = await mirroredRevision(parts, origin, wanted, context);
  const revision = await workingRevision(parts, mirrored, false, context.taskId);
  const { channel, attested } = wanted;
  const { source } = parts.upstream.attested;
  const fields = { channel, release_id: attested.release_id };
  const { plan, downloaded, serverInfo } = await fetchObjects(
    parts,
    revision,
    { what: 'manifest', fields, force: false },
    context,
    async (...download) => {
      await source.prepare?.(missingObjects(parts, revision.revision_id));
      try {
        return await downloadUnresolved(...download);
      } finally {
        await source.prepare?.([]);
      }
    },
  );
  const draft = await draftOf(parts, wanted, revision, serverInfo);
  return {
    release: await parts.publisher.register(draft, context),
    downloadedEntries: downloaded.entries,
    downloadedBytes: downloaded.bytes,
    reusedEntries: plan.reused,
  };
}

async function* missingObjects({ catalogs }: MirrorParts, revisionId: number): AsyncGenerator<Blake3Hex> {
  for await (const { stated_blake3: blake3 } of catalogs.rows(revisionId, 'unresolved')) {
    if (blake3 !== null) yield blake3 as Blake3Hex;
  }
}

async function draftOf(
  parts: MirrorParts,
  { channel, attested }: SourceRelease,
  revision: RevisionRow,
  serverInfo: ReleaseDraft['serverInfo'],
): Promise<ReleaseDraft> {
  const content = await summarizeContent(
    manifestEntries(parts.catalogs, revision.revision_id),
    revision.app_version,
  );
  return {
    channel,
    releaseId: attested.release_id,
    upstreamReleaseId: attested.release_id,
    baseReleaseId: attested.base_release_id ?? null,
    revisionId: revision.revision_id,
    content,
    serverInfo,
    appVersion: revision.app_version,
    excludedCount: attested.excluded_count ?? 0,
    origin: { snapshotId: attested.snapshot_id, createdAt: attested.created_at },
  };
}

/**
 * The entries of a release of the origin: those that an earlier attempt stored, or those that it offers now.
 *
 * @throws MirrorError, UpstreamError; TaskError `destination_duplicate`
 */
async function mirroredRevision(
  parts: MirrorParts,
  origin: HeldOrigin,
  release: SourceRelease,
  context: TaskContext,
): Promise<RevisionRow> {
  const known = parts.catalogs.find({
    upstreamLabel: parts.upstream.attested.source.label,
    fingerprint: fingerprintOf(origin, release),
    upstreamReleaseId: release.attested.release_id,
  });
  return known ?? (await writeRevision(parts, origin, release, context));
}

/**
 * Identifies a manifest together with what can be replaced while the release stays: the document beside it, and the host in the
 * paths of its files.
 */
function fingerprintOf({ cdnHost }: HeldOrigin, { attested }: SourceRelease): string {
  const document = attested.server_info?.blake3 ?? 'none';
  return `${manifestDigestOf(attested.snapshot_id) ?? ''} ${document} ${cdnHost ?? ''}`;
}

/**
 * Stores the entries of a release of the origin as a catalog revision. It is complete only when they rebuild the signed
 * manifest; otherwise nothing of them is kept.
 *
 * @throws MirrorError, UpstreamError; TaskError `destination_duplicate`
 */
async function writeRevision(
  { catalogs, clock, upstream, waits }: MirrorParts,
  origin: HeldOrigin,
  release: SourceRelease,
  context: TaskContext,
): Promise<RevisionRow> {
  const { channel, attested } = release;
  const { source } = upstream.attested;
  const manifest = await source.manifest(release, context.signal, waits.of(context));
  const revisionId = catalogs.begin({
    channel,
    upstreamLabel: source.label,
    upstreamReleaseId: attested.release_id,
    etag: null,
    taskId: context.taskId,
    appVersion: manifest.header.app_version ?? null,
    serverInfo: manifest.serverInfo,
    fetchedAt: unixSeconds(clock),
  });
  try {
    let entries = 0;
    for await (const page of readManifest(manifest, release)) {
      context.signal.throwIfAborted();
      catalogs.addRows(
        revisionId,
        page.map((entry) =>
          entryRowOf(entry, { locator: source.locatorOf(origin, release, entry), blake3: null }),
        ),
      );
      entries += page.length;
      context.progress(entries, attested.entry_count, 'entries', 'catalog');
    }
  } catch (error) {
    await catalogs.drop(revisionId);
    throw error;
  }
  context.log('info', 'the signed manifest of the origin was rebuilt', {
    channel,
    release_id: attested.release_id,
    entries: attested.entry_count,
  });
  return catalogs.complete(revisionId, fingerprintOf(origin, release));
}
