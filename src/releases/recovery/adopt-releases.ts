import type { ReleaseParts } from '../release-parts.ts';
import type { ReleaseRecord } from '../../contract/formats/release-record.ts';
import { CHANNELS, type Channel } from '../../domain/release/channel.ts';
import type { ReleaseId } from '../../domain/release/release-id.ts';
import { messageOf } from '../../platform/errors.ts';
import type { ManifestIndex } from '../../snapshot/manifest/manifest-index.ts';
import { loadManifest } from '../../snapshot/manifest/manifest-loader.ts';
import { SnapshotFault } from '../../snapshot/volume/snapshot-fault.ts';
import { entryRowOf } from '../records/entry-row.ts';
import { documentColumns, type ReleaseProblem, type ReleaseRow } from '../records/release-row.ts';
import { problemOfFault } from '../checks/release-check.ts';
import { PAGE_ROWS } from '../records/sql.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** The upstream label of an adopted release's catalog, which came from no upstream. */
const ADOPTED_LABEL = 'adopted from the snapshot volume';

/**
 * Adds releases to the database that exist only on the volume, for example after the daemon's own volume was lost.
 * Their records are not trusted: they count as never verified, so they are attested only after a full verification.
 *
 * @returns the number of adopted releases
 */
export async function adoptReleases(parts: ReleaseParts, signal: AbortSignal): Promise<number> {
  const { releases, writer, logger } = parts;
  let adopted = 0;
  for (const channel of CHANNELS) {
    for (const releaseId of await writer.listReleaseIds(channel)) {
      if (releases.get(channel, releaseId) !== null) continue;
      const record = await readRecord(parts, channel, releaseId);
      if (record === null) continue;
      await adopt(parts, record, signal);
      logger.warn(
        { channel, release_id: releaseId },
        'adopted a release of the volume that was not in the database',
      );
      adopted += 1;
    }
  }
  return adopted;
}

async function readRecord(
  parts: ReleaseParts,
  channel: Channel,
  releaseId: ReleaseId,
): Promise<ReleaseRecord | null> {
  try {
    return await parts.writer.readReleaseRecord(channel, releaseId);
  } catch (error) {
    parts.logger.error(
      { channel, release_id: releaseId, error: messageOf(error) },
      'a release record of the volume cannot be read; the release is skipped',
    );
    return null;
  }
}

async function adopt(parts: ReleaseParts, record: ReleaseRecord, signal: AbortSignal): Promise<void> {
  let index: ManifestIndex | null = null;
  let problem: ReleaseProblem | null = null;
  try {
    ({ index } = await loadManifest({
      root: parts.root,
      snapshotId: record.snapshot_id,
      checkObjects: false,
      signal,
    }));
  } catch (error) {
    if (!(error instanceof SnapshotFault)) throw error;
    problem = problemOfFault(error);
  }
  const revisionId = index === null ? null : await importEntries(parts, record, index);
  parts.releases.insert(rowOf(record, revisionId, problem));
}

async function importEntries(
  parts: ReleaseParts,
  record: ReleaseRecord,
  index: ManifestIndex,
): Promise<number> {
  const { catalogs, objects, database } = parts;
  const revisionId = catalogs.begin({
    channel: record.channel,
    upstreamLabel: ADOPTED_LABEL,
    upstreamReleaseId: record.upstream_release_id ?? record.release_id,
    etag: null,
    taskId: 'recovery',
    appVersion: record.app_version ?? null,
    serverInfo: null,
    fetchedAt: record.created_at,
  });
  for (let offset = 0; offset < index.length; offset += PAGE_ROWS) {
    const entries = index.entries(offset, PAGE_ROWS);
    database.transaction(() => {
      for (const entry of entries) {
        // Never verified: zero is older than any limit.
        if (objects.get(entry.blake3) === null) {
          objects.record({ ...entry, blocks: entry.blocks ?? null }, 0);
        }
      }
      catalogs.addRows(
        revisionId,
        entries.map((entry) => entryRowOf(entry, { locator: '', blake3: entry.blake3 })),
      );
    });
    await nextTurn();
  }
  catalogs.complete(revisionId, record.manifest.blake3);
  return revisionId;
}

function rowOf(record: ReleaseRecord, revisionId: number | null, problem: ReleaseProblem | null): ReleaseRow {
  return {
    channel: record.channel,
    release_id: record.release_id,
    upstream_release_id: record.upstream_release_id ?? record.release_id,
    state: problem === null ? 'superseded' : 'damaged',
    base_release_id: record.base_release_id ?? null,
    revision_id: revisionId,
    content_digest: record.content_digest ?? null,
    snapshot_id: record.snapshot_id,
    manifest_sha256: record.manifest.sha256,
    entry_count: record.manifest.entry_count,
    total_bytes: record.manifest.total_bytes,
    app_version: record.app_version ?? null,
    // The attestation says both of a release that it names, and the next sync of the current one.
    excluded_count: 0,
    ...documentColumns(null),
    created_at: record.created_at,
    published_at: record.created_at,
    superseded_at: record.created_at,
    verified_at: null,
    checked_at: null,
    damaged_at: problem === null ? null : record.created_at,
    damage_reason: problem?.reason ?? null,
    damage_message: problem?.message ?? null,
    stale_since: null,
    deleted_at: null,
    pinned: false,
  };
}
