import type { Channel } from '../../src/domain/release/channel.ts';
import type { Blake3Hex, SnapshotId } from '../../src/domain/release/digest.ts';
import type { ReleaseId } from '../../src/domain/release/release-id.ts';
import type { CurrentRelease } from '../../src/releases/records/release-repository.ts';
import type { ReleaseRow } from '../../src/releases/records/release-row.ts';

/** A sound release row, with the changes of a test. */
export function releaseRow(releaseId: string, change: Partial<ReleaseRow> = {}): ReleaseRow {
  const digest = Buffer.from(releaseId.padEnd(32, '.')).subarray(0, 32).toString('hex');
  return {
    channel: 'official',
    release_id: releaseId as ReleaseId,
    upstream_release_id: releaseId as ReleaseId,
    state: 'superseded',
    base_release_id: null,
    revision_id: null,
    content_digest: digest as Blake3Hex,
    snapshot_id: `blake3:${digest}` as SnapshotId,
    manifest_sha256: digest,
    entry_count: 1,
    total_bytes: 10,
    app_version: null,
    excluded_count: 0,
    server_info_blake3: null,
    server_info_size: null,
    created_at: 1000,
    published_at: 1000,
    superseded_at: null,
    verified_at: 1000,
    checked_at: 1000,
    damaged_at: null,
    damage_reason: null,
    damage_message: null,
    stale_since: null,
    deleted_at: null,
    pinned: false,
    ...change,
  };
}

/** Pointers to the current releases. */
export function pointers(
  official: string | null,
  localized: string | null = null,
): Record<Channel, CurrentRelease | null> {
  const pointer = (channel: Channel, id: string | null): CurrentRelease | null =>
    id === null ? null : { channel, release_id: id as ReleaseId, since: 1000 };
  return { official: pointer('official', official), localized: pointer('localized', localized) };
}
