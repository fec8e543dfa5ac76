import { parseEnvelope, parseStatement } from '../../contract/formats/attestation-format.ts';
import type { NamedSnapshot } from '../../contract/formats/bundle-format.ts';
import { CHANNELS } from '../../domain/release/channel.ts';
import type { ReleaseId } from '../../domain/release/release-id.ts';
import type { AttestationStatement, AttestedRelease } from '../../domain/verdict/attestation.ts';
import {
  listAttestationVersions,
  readAttestation,
  readCurrentAttestation,
} from '../../snapshot/volume/attestation-files.ts';
import { readReleaseRecord } from '../../snapshot/volume/release-records.ts';
import { BundleError } from './bundle-error.ts';

interface FoundRelease {
  readonly release: NamedSnapshot;
  readonly attested: AttestedRelease;
  readonly envelope: Buffer;
}

/**
 * Finds a release of a store with the newest attestation under which it was current in its channel; if it is only
 * retained, with the newest that retains it. The signature is for the reader of the bundle to check.
 *
 * @throws BundleError when no attestation authorizes it; the file system error
 */
export async function findRelease(root: string, releaseId: ReleaseId): Promise<FoundRelease> {
  let retained: FoundRelease | null = null;
  for await (const envelope of envelopes(root)) {
    const statement = readStatement(envelope);
    if (statement === null) continue;
    const current = currentIn(statement, releaseId);
    if (current !== null) return { ...current, envelope };
    retained ??= retainedIn(statement, releaseId, envelope);
  }
  if (retained !== null) return retained;
  throw new BundleError(
    `no attestation in ${root} authorizes release ${releaseId}; slipway ctl releases shows which releases are distributable`,
  );
}

/**
 * Finds the content of a release that a reader has already.
 *
 * @throws BundleError when the store does not know it
 */
export async function findSnapshot(root: string, releaseId: ReleaseId): Promise<NamedSnapshot> {
  for (const channel of CHANNELS) {
    const record = await readReleaseRecord(root, channel, releaseId);
    if (record !== null) return { channel, release_id: releaseId, snapshot_id: record.snapshot_id };
  }
  try {
    return (await findRelease(root, releaseId)).release;
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    throw new BundleError(
      `--since: the store in ${root} does not have release ${releaseId}; name a release that both sides have`,
    );
  }
}

async function* envelopes(root: string): AsyncGenerator<Buffer, void> {
  const current = await readCurrentAttestation(root);
  if (current !== null) yield current;
  for (const version of await listAttestationVersions(root)) {
    const envelope = await readAttestation(root, version);
    if (envelope !== null) yield envelope;
  }
}

function readStatement(envelope: Buffer): AttestationStatement | null {
  const parsed = parseEnvelope(envelope);
  const statement = parsed.ok ? parseStatement(Buffer.from(parsed.value.payload, 'base64')) : null;
  return statement?.ok === true ? statement.value : null;
}

function currentIn(
  statement: AttestationStatement,
  releaseId: ReleaseId,
): Omit<FoundRelease, 'envelope'> | null {
  for (const channel of CHANNELS) {
    const attested = statement[channel];
    if (attested?.release_id !== releaseId || attested.result !== 'PASSED') continue;
    return { release: { channel, release_id: releaseId, snapshot_id: attested.snapshot_id }, attested };
  }
  return null;
}

function retainedIn(
  statement: AttestationStatement,
  releaseId: ReleaseId,
  envelope: Buffer,
): FoundRelease | null {
  const attested = statement.retained.find(({ release_id: id }) => id === releaseId);
  if (attested === undefined) return null;
  const { channel, snapshot_id: snapshotId } = attested;
  return { release: { channel, release_id: releaseId, snapshot_id: snapshotId }, attested, envelope };
}
