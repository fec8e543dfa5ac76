import { both } from '../../platform/process/concurrently.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { SourceManifest, SourceRelease } from '../../mirror/attested-source.ts';
import type { TaskContext } from '../../engine/tasks/task.ts';
import type { RevisionRow } from '../catalog/catalog-store.ts';
import { manifestEntries } from '../catalog/catalog-entries.ts';
import { downloadUnresolved } from '../download/download-run.ts';
import { summarizeContent } from '../records/content-digest.ts';
import type { HeldOrigin } from '../records/origin-repository.ts';
import type { ChangedCopy, ReleaseDraft } from '../records/release-record-of.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import { fetchObjects, logFailedCheck, workingRevision } from '../sync/sync-steps.ts';
import { askDifference } from './copy-difference.ts';
import { beginRevision, fingerprintOf, type MirrorParts } from './mirror-parts.ts';
import { readManifest } from '../../mirror/read-manifest.ts';
import { entryRowOf } from '../records/entry-row.ts';

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
 * @param checking the check of the current release, which may still run: its objects are taken once it has ended
 * @throws MirrorError, UpstreamError, the storage error; TaskError `no_space`, `release_conflict`, `release_damaged`,
 *   `origin_manifest_differs`
 */
export async function copyRelease(
  parts: MirrorParts,
  origin: HeldOrigin,
  wanted: SourceRelease,
  context: TaskContext,
  checking: Promise<unknown> = Promise.resolve(),
): Promise<CopiedRelease> {
  const [{ revision: mirrored, changed }] = await both(
    mirroredRevision(parts, origin, wanted, context),
    checking,
    logFailedCheck(context),
  );
  const revision = await workingRevision(parts, mirrored, false, context.taskId);
  const { channel, attested } = wanted;
  const { source } = parts.upstream.attested;
  const fields = { channel, release_id: attested.release_id };
  const { plan, downloaded, serverInfo } = await fetchObjects(
    parts,
    revision,
    { what: 'manifest', fields, force: false, checked: changed?.revisionId ?? null },
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
  const draft = await draftOf(parts, wanted, { revision, serverInfo, changed });
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
  of: {
    readonly revision: RevisionRow;
    readonly serverInfo: ReleaseDraft['serverInfo'];
    readonly changed: ChangedCopy | null;
  },
): Promise<ReleaseDraft> {
  const { revision, changed } = of;
  const content =
    changed?.content ??
    (await summarizeContent(manifestEntries(parts.catalogs, revision.revision_id), revision.app_version));
  return {
    channel,
    releaseId: attested.release_id,
    upstreamReleaseId: attested.release_id,
    baseReleaseId: attested.base_release_id ?? null,
    revisionId: revision.revision_id,
    content,
    serverInfo: of.serverInfo,
    appVersion: revision.app_version,
    excludedCount: attested.excluded_count ?? 0,
    origin: {
      snapshotId: attested.snapshot_id,
      createdAt: attested.created_at,
      ...(changed === null ? {} : { changed }),
    },
  };
}

/**
 * The entries of a release of the origin: those that an earlier attempt stored, or those that it offers now, which are read as a
 * difference from a release that is here.
 *
 * @throws MirrorError, UpstreamError; TaskError `destination_duplicate`
 */
async function mirroredRevision(
  parts: MirrorParts,
  origin: HeldOrigin,
  release: SourceRelease,
  context: TaskContext,
): Promise<{ readonly revision: RevisionRow; readonly changed: ChangedCopy | null }> {
  const { catalogs, upstream, waits } = parts;
  const { source } = upstream.attested;
  const known = catalogs.find({
    upstreamLabel: source.label,
    fingerprint: fingerprintOf(origin, release.attested),
    upstreamReleaseId: release.attested.release_id,
  });
  if (known !== null) return { revision: known, changed: null };
  const noteWait = waits.of(context);
  const asked = await askDifference(parts, origin, release, { context, noteWait });
  if (asked.copied !== null) return asked.copied;
  const manifest = asked.manifest ?? (await source.manifest(release, context.signal, noteWait));
  return { revision: await writeRevision(parts, origin, release, { manifest, context }), changed: null };
}

/**
 * Stores the entries of a release of the origin as a catalog revision. It is complete only when they rebuild the signed
 * manifest; otherwise nothing of them is kept.
 *
 * @throws MirrorError, UpstreamError; TaskError `destination_duplicate`
 */
async function writeRevision(
  parts: MirrorParts,
  origin: HeldOrigin,
  release: SourceRelease,
  { manifest, context }: { readonly manifest: SourceManifest; readonly context: TaskContext },
): Promise<RevisionRow> {
  const { catalogs, upstream } = parts;
  const { channel, attested } = release;
  const { source } = upstream.attested;
  const revisionId = beginRevision(parts, release, manifest, context.taskId);
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
  return catalogs.complete(revisionId, fingerprintOf(origin, attested));
}
