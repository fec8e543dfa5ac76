import { manifestDigestOf } from '../../../domain/release/digest.ts';
import type { ServerInfoDocument } from '../../../domain/release/server-info-document.ts';
import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import type { SourceRelease } from '../../../mirror/attested-source.ts';
import { readManifest } from '../../../mirror/read-manifest.ts';
import type { TaskContext } from '../../tasks/task.ts';
import type { AttestedUpstream } from '../../upstream/attested/attested-upstream.ts';
import type { CatalogStore, RevisionRow } from '../catalog/catalog-store.ts';
import { createWaitLog } from '../download/wait-log.ts';
import { entryRowOf } from '../records/entry-row.ts';
import type { HeldOrigin } from '../records/origin-repository.ts';

/** The entries of a release of the origin in the database. */
export interface MirroredRevision {
  readonly revision: RevisionRow;
  /** The server-info document that the manifest names. Only manifests of earlier versions do. */
  readonly manifestDocument: ServerInfoDocument | null;
}

interface RevisionDependencies {
  readonly catalogs: CatalogStore;
  readonly clock: Clock;
}

/**
 * The entries of a release of the origin: those that an earlier attempt stored, or those that the origin tells now.
 *
 * @throws MirrorError, UpstreamError; TaskError `destination_duplicate`
 */
export async function mirroredRevision(
  deps: RevisionDependencies,
  upstream: AttestedUpstream,
  origin: HeldOrigin,
  release: SourceRelease,
  context: TaskContext,
): Promise<MirroredRevision> {
  const known = deps.catalogs.find({
    upstreamLabel: upstream.source.label,
    fingerprint: fingerprintOf(origin, release, null),
    upstreamReleaseId: release.attested.release_id,
  });
  if (known !== null) return { revision: known, manifestDocument: null };
  return await writeRevision(deps, upstream, origin, release, context);
}

/**
 * Identifies a manifest together with what can be replaced while the release stays: the document beside it, and the host in the
 * paths of its files.
 */
function fingerprintOf(
  { cdnHost }: Pick<HeldOrigin, 'cdnHost'>,
  { attested }: SourceRelease,
  inManifest: ServerInfoDocument | null,
): string {
  const beside = attested.server_info?.blake3 ?? 'none';
  const own = inManifest === null ? '' : ` ${inManifest.blake3}`;
  return `${manifestDigestOf(attested.snapshot_id) ?? ''} ${beside}${own} ${cdnHost ?? ''}`;
}

/**
 * Stores the entries of a release of the origin as a catalog revision. It is complete only when they rebuild the signed
 * manifest; otherwise nothing of them is kept.
 *
 * @throws MirrorError, UpstreamError; TaskError `destination_duplicate`
 */
async function writeRevision(
  { catalogs, clock }: RevisionDependencies,
  { source }: AttestedUpstream,
  origin: HeldOrigin,
  release: SourceRelease,
  context: TaskContext,
): Promise<MirroredRevision> {
  const { channel, attested } = release;
  const manifest = await source.manifest(release, context.signal, createWaitLog(clock, context));
  const { header } = manifest;
  const revisionId = catalogs.begin({
    channel,
    upstreamLabel: source.label,
    upstreamReleaseId: attested.release_id,
    etag: null,
    taskId: context.taskId,
    appVersion: header.app_version ?? null,
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
  const manifestDocument = header.server_info ?? null;
  return {
    revision: catalogs.complete(revisionId, fingerprintOf(origin, release, manifestDocument)),
    manifestDocument,
  };
}
