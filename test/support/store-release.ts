import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReleaseRecord } from '../../src/contract/formats/release-record.ts';
import { manifestDigestOf, type SnapshotId } from '../../src/domain/release/digest.ts';
import { compareDestinations, type Destination } from '../../src/domain/release/destination.ts';
import type { ManifestEntry, ManifestHeader } from '../../src/domain/release/manifest.ts';
import type { ReleaseId } from '../../src/domain/release/release-id.ts';
import type { CurrentAttestedRelease } from '../../src/domain/verdict/attestation.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import type { FileDigests, HashPool } from '../../src/platform/hashing/digests.ts';
import type { SnapshotWriter } from '../../src/snapshot/snapshot-writer.ts';
import { sampleHeader } from './sample-entries.ts';

/** Stages bytes, hashes them with the pool and commits them. */
export async function commitBytes(
  writer: SnapshotWriter,
  pool: HashPool,
  bytes: Uint8Array,
  name = 'staged',
): Promise<FileDigests> {
  const stagedPath = join(await writer.stagingDirectory('task-1'), name);
  await writeFile(stagedPath, bytes);
  const file = await open(stagedPath);
  try {
    const digests = await pool.hashFile(file.fd, { blocks: true, extra: [] });
    await writer.commitObject({ stagedPath, digests });
    return digests;
  } finally {
    await file.close();
  }
}

/** A release that {@link storeRelease} put on the volume. */
export interface StoredSample {
  readonly snapshotId: SnapshotId;
  readonly header: ManifestHeader;
  readonly entries: readonly ManifestEntry[];
  readonly record: ReleaseRecord;
}

/** The release as an attestation names it after its full verification. */
export function attestedSample({ record, snapshotId }: StoredSample): CurrentAttestedRelease {
  return {
    release_id: record.release_id,
    snapshot_id: snapshotId,
    entry_count: record.manifest.entry_count,
    total_bytes: record.manifest.total_bytes,
    created_at: record.created_at,
    current_since: record.created_at,
    verified_at: 1_760_000_000,
    verification: 'full',
    result: 'PASSED',
    server_info: null,
  };
}

/**
 * Writes objects, manifest and record of a release with the writer, in the order of the write protocol. A release with a
 * base is a localized one; the entries of `patched` are marked as such.
 */
export async function storeRelease(
  writer: SnapshotWriter,
  pool: HashPool,
  release: {
    readonly id: string;
    readonly files: ReadonlyMap<string, Buffer>;
    readonly baseId?: string;
    readonly patched?: readonly string[];
  },
): Promise<StoredSample> {
  const entries: ManifestEntry[] = [];
  for (const [name, bytes] of [...release.files].sort(([left], [right]) =>
    compareDestinations(left, right),
  )) {
    const digests = await commitBytes(writer, pool, bytes);
    entries.push({
      destination: name as Destination,
      size: digests.size,
      blake3: digests.blake3,
      crc64: digests.crc64,
      source: release.patched?.includes(name) === true ? 'localized' : 'official',
      media_type: 'application/octet-stream',
      ...(digests.blocks === null ? {} : { blocks: blake3Hex(digests.blocks) }),
    });
  }
  const releaseId = release.id as ReleaseId;
  const channel = release.baseId === undefined ? 'official' : 'localized';
  const base = release.baseId === undefined ? {} : { base_release_id: release.baseId as ReleaseId };
  const header = sampleHeader(entries, {
    release_id: releaseId,
    channel,
    ...base,
  });
  const written = await writer.writeManifest('task-1', header, entries);
  const blake3 = manifestDigestOf(written.snapshotId);
  if (blake3 === null) throw new Error('the writer gave no snapshot id');
  const record: ReleaseRecord = {
    format: 'slipway-release',
    version: 1,
    channel,
    release_id: releaseId,
    ...base,
    snapshot_id: written.snapshotId,
    manifest: {
      blake3,
      sha256: written.sha256,
      entry_count: entries.length,
      total_bytes: header.total_bytes,
    },
    created_at: 1_760_000_000,
  };
  await writer.writeReleaseRecord(record);
  return { snapshotId: written.snapshotId, header, entries, record };
}
