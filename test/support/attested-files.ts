import { expect } from 'vitest';
import { parseEnvelope, parseStatement } from '../../src/contract/formats/attestation-format.ts';
import type { AttestationStatement } from '../../src/domain/verdict/attestation.ts';
import { createHashPool } from '../../src/platform/hashing/hash-pool.ts';
import { loadManifest } from '../../src/snapshot/manifest/manifest-loader.ts';
import { verifyRelease } from '../../src/snapshot/release-verifier.ts';

/** One thread for all checks of a test file; an idle pool does not keep the process alive. */
const pool = createHashPool({ threads: 1 });

/** The BLAKE3 digests of the files of a release by destination; `null`: nothing is offered. */
export type AttestedFiles = Readonly<Record<string, string>> | null;

/** The statement of an envelope as it is on the volume. */
export function statementOf(envelope: Uint8Array): AttestationStatement {
  const parsed = parseEnvelope(envelope);
  if (!parsed.ok) throw new Error(parsed.error);
  const statement = parseStatement(Buffer.from(parsed.value.payload, 'base64'));
  if (!statement.ok) throw new Error(statement.error);
  return statement.value;
}

/** Releases that are retained, newest first, and hashed again; each older one was hashed when it was newer. */
const HASHED_AGAIN = 4;

/**
 * Hashes what is attested, and expects it to be whole.
 *
 * @param root of the snapshot volume
 * @param officialId the official release that must be current
 * @returns the files of the localized release
 */
export async function attestedFiles(
  root: string,
  statement: AttestationStatement | undefined,
  officialId = 'r1',
): Promise<AttestedFiles> {
  if (statement === undefined) throw new Error('nothing is attested');
  expect(statement.official).toMatchObject({ release_id: officialId, result: 'PASSED' });
  let found: AttestedFiles = null;
  for (const release of [
    statement.official,
    statement.localized,
    ...statement.retained.slice(0, HASHED_AGAIN),
  ]) {
    if (release === null) continue;
    expect(release.result).toBe('PASSED');
    const { index } = await loadManifest({ root, snapshotId: release.snapshot_id, checkObjects: true });
    expect((await verifyRelease({ root, index, pool, concurrency: 2 })).damagedCount).toBe(0);
    if (release !== statement.localized) continue;
    const entries = index.entries(0, index.length);
    found = Object.fromEntries(entries.map(({ destination, blake3 }) => [destination, blake3]));
  }
  return found;
}
