import type { ReleaseRecord } from '../../contract/formats/release-record.ts';
import { manifestDigestOf, type SnapshotId } from '../../domain/release/digest.ts';
import type { ManifestHeader } from '../../domain/release/manifest.ts';
import { documentColumns, UNDAMAGED, type ReleaseRow } from './release-row.ts';
import type { Destination } from '../../domain/release/destination.ts';
import type { Channel } from '../../domain/release/channel.ts';
import type { ReleaseId } from '../../domain/release/release-id.ts';
import type { ServerInfoDocument } from '../../domain/release/server-info-document.ts';
import type { ContentSummary } from './content-digest.ts';

/** The row of a new release. */
export function newRelease(draft: ReleaseDraft, nowSeconds: number): ReleaseRow {
  return {
    channel: draft.channel,
    release_id: draft.releaseId,
    upstream_release_id: draft.upstreamReleaseId,
    state: 'staging',
    base_release_id: draft.baseReleaseId,
    revision_id: draft.revisionId,
    content_digest: draft.content.digest,
    snapshot_id: null,
    manifest_sha256: null,
    entry_count: draft.content.entryCount,
    total_bytes: draft.content.totalBytes,
    app_version: draft.appVersion,
    excluded_count: draft.excludedCount,
    ...documentColumns(draft.serverInfo),
    created_at: draft.origin?.createdAt ?? nowSeconds,
    published_at: null,
    superseded_at: null,
    verified_at: null,
    checked_at: null,
    ...UNDAMAGED,
    stale_since: null,
    deleted_at: null,
    pinned: false,
  };
}

/** Line 1 of the manifest of a release. */
export function headerOf(release: ReleaseRow): ManifestHeader {
  return {
    format: 'slipway-manifest',
    version: 1,
    channel: release.channel,
    release_id: release.release_id,
    ...(release.base_release_id === null ? {} : { base_release_id: release.base_release_id }),
    entry_count: release.entry_count,
    total_bytes: release.total_bytes,
    ...(release.app_version === null ? {} : { app_version: release.app_version }),
  };
}

/** The immutable record of a release on the volume. */
export function recordOf(release: ReleaseRow): ReleaseRecord {
  const { snapshot_id, manifest_sha256 } = release;
  const digest = snapshot_id === null ? null : manifestDigestOf(snapshot_id);
  if (snapshot_id === null || digest === null || manifest_sha256 === null) {
    throw new Error(`release ${release.release_id} has no manifest yet`);
  }
  return {
    format: 'slipway-release',
    version: 1,
    channel: release.channel,
    release_id: release.release_id,
    ...(release.upstream_release_id === release.release_id
      ? {}
      : { upstream_release_id: release.upstream_release_id }),
    ...(release.base_release_id === null ? {} : { base_release_id: release.base_release_id }),
    snapshot_id,
    manifest: {
      blake3: digest,
      sha256: manifest_sha256,
      entry_count: release.entry_count,
      total_bytes: release.total_bytes,
    },
    ...(release.content_digest === null ? {} : { content_digest: release.content_digest }),
    ...(release.app_version === null ? {} : { app_version: release.app_version }),
    created_at: release.created_at,
  };
}

/** A release whose objects are all in the store and whose entries are all in a catalog revision. */
export interface ReleaseDraft {
  readonly channel: Channel;
  readonly releaseId: ReleaseId;
  readonly upstreamReleaseId: ReleaseId;
  readonly baseReleaseId: ReleaseId | null;
  readonly revisionId: number;
  readonly content: ContentSummary;
  readonly serverInfo: ServerInfoDocument | null;
  readonly appVersion: string | null;
  /** Files that upstream lists and that are left out on purpose. */
  readonly excludedCount: number;
  /** Only for a release that is copied from an origin, which stays byte for byte as it was signed there. */
  readonly origin?: OriginOfDraft;
}

interface OriginOfDraft {
  /** The digest that the manifest must have. */
  readonly snapshotId: SnapshotId;
  /** When the origin registered it, Unix seconds: every edge tells clients the same date of its files. */
  readonly createdAt: number;
  /** How it was copied from another release that is here; absent where all its entries were read. */
  readonly changed?: ChangedCopy;
}

/** A release whose entries are those of another one here, but for some changes. */
export interface ChangedCopy {
  /** The snapshot of the other release, whose objects were all hashed at `verifiedAt` (Unix seconds) or later. */
  readonly since: SnapshotId;
  /** The catalog of the other release. */
  readonly revisionId: number;
  readonly verifiedAt: number;
  /** Where they differ, in manifest order. */
  readonly destinations: readonly Destination[];
  readonly content: ContentSummary;
}
