import type { ReleaseParts } from '../release-parts.ts';
import { manifestDigestOf, type SnapshotId } from '../../domain/release/digest.ts';
import type { AttestationStatement } from '../../domain/verdict/attestation.ts';
import { namedReleases } from '../../domain/verdict/effective-attestation.ts';
import { manifestPath } from '../../snapshot/volume/layout.ts';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';

/**
 * Corrects rows of attested releases that contradict the volume, where the signed statement and the release record agree: then the
 * database is wrong, although each of its values could be right. A repair would otherwise change the volume to match it.
 *
 * @param statement of a validly signed attestation for this store
 */
export async function correctReleases(
  { root, releases, writer, logger }: ReleaseParts,
  statement: AttestationStatement,
): Promise<void> {
  for (const { channel, release } of namedReleases(statement)) {
    const { release_id: releaseId, snapshot_id, entry_count, total_bytes } = release;
    const row = releases.get(channel, releaseId);
    // A record that cannot be read is damage of the volume, which the check of the release reports.
    const record = await writer.readReleaseRecord(channel, releaseId).catch(() => null);
    if (row === null || record?.snapshot_id !== snapshot_id) continue;
    const { manifest } = record;
    if (manifest.entry_count !== entry_count || manifest.total_bytes !== total_bytes) continue;
    const right = { snapshot_id, manifest_sha256: manifest.sha256, entry_count, total_bytes };
    const wrong = Object.entries(right).filter(
      ([column, value]) => row[column as keyof typeof right] !== value,
    );
    if (wrong.length === 0 || manifest.sha256 !== (await manifestSha256(root, snapshot_id))) continue;
    releases.update(channel, releaseId, right);
    logger.error(
      { channel, release_id: releaseId, columns: wrong.map(([column]) => column) },
      'the database contradicted the signed attestation and the release record of the volume; its row is corrected',
    );
  }
}

async function manifestSha256(root: string, snapshotId: SnapshotId): Promise<string | null> {
  const digest = manifestDigestOf(snapshotId);
  if (digest === null) return null;
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(manifestPath(root, digest)), hash);
    return hash.digest('hex');
  } catch {
    return null;
  }
}
