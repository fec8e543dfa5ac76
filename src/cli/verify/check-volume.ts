import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { verifyEnvelope } from '../../attestation/verify.ts';
import type { TrustedKey } from '../../attestation/keys.ts';
import { parseEnvelope, parseStatement } from '../../contract/formats/attestation-format.ts';
import { CHANNELS } from '../../domain/release/channel.ts';
import { isBlake3Hex } from '../../domain/release/digest.ts';
import type { ReleaseId } from '../../domain/release/release-id.ts';
import type { AttestedRelease } from '../../domain/verdict/attestation.ts';
import { namedReleases } from '../../domain/verdict/effective-attestation.ts';
import { readCurrentAttestation } from '../../snapshot/volume/attestation-files.ts';
import { listReleaseIds } from '../../snapshot/volume/release-records.ts';
import { readStoreFormat } from '../../snapshot/volume/snapshot-store.ts';
import { checkRelease, type ReleaseCheckOptions } from './check-release.ts';
import { isSound, type AttestationReport, type ReleaseReport, type VolumeReport } from './volume-report.ts';
import { messageOf } from '../../platform/errors.ts';

interface VolumeCheckOptions extends Omit<ReleaseCheckOptions, 'attestedAs'> {
  /** Only the release of this id; `null` for all. */
  readonly releaseId: ReleaseId | null;
  /** `null` to leave the signature of the attestation alone. */
  readonly keys: readonly TrustedKey[] | null;
}

/** Checks a snapshot volume and continues after damage. Rejects with the signal's reason, or when it cannot continue. */
export async function checkVolume(options: VolumeCheckOptions): Promise<VolumeReport> {
  const { root, releaseId, signal } = options;
  const problems: string[] = [];
  const storeId = await readStoreId(root, problems);
  const attestedAs = await readAttested(root);
  const releases: ReleaseReport[] = [];
  for (const channel of CHANNELS) {
    for (const id of await listReleaseIds(root, channel)) {
      signal.throwIfAborted();
      if (releaseId === null || releaseId === id)
        releases.push(await checkRelease({ ...options, attestedAs }, channel, id));
    }
  }
  if (releaseId !== null && releases.length === 0) problems.push(`the store has no release ${releaseId}`);
  const attestation = await checkAttestation(options, storeId, releases);
  return {
    root,
    store_id: storeId,
    mode: options.quick ? 'quick' : 'full',
    sound: isSound(problems, attestation, releases),
    complete: releases.every(({ base }) => base?.status !== 'not_checked'),
    problems,
    attestation,
    releases,
    objects: releaseId === null ? await countOrphans(options, releases) : null,
  };
}

async function readStoreId(root: string, problems: string[]): Promise<string | null> {
  try {
    return (await readStoreFormat(root)).store_id;
  } catch (error) {
    problems.push(`FORMAT: ${messageOf(error)}`);
    return null;
  }
}

/**
 * Reads what the attestation says of releases. Its signature is checked elsewhere: without keys, documents and bases are
 * still compared with what the attestation states.
 */
async function readAttested(root: string): Promise<ReleaseCheckOptions['attestedAs']> {
  const envelope = await readCurrentAttestation(root).catch(() => null);
  const parsed = envelope === null ? null : parseEnvelope(envelope);
  const statement = parsed?.ok === true ? parseStatement(Buffer.from(parsed.value.payload, 'base64')) : null;
  const releases = statement?.ok === true ? namedReleases(statement.value) : [];
  const named = new Map(
    releases.map(({ channel, release }) => [`${channel}/${release.release_id}`, release]),
  );
  return (channel, id) => named.get(`${channel}/${id}`);
}

async function checkAttestation(
  { root, keys, releaseId }: VolumeCheckOptions,
  storeId: string | null,
  releases: readonly ReleaseReport[],
): Promise<AttestationReport> {
  const none = { version: null, expires_at: null };
  let envelope: Buffer | null;
  try {
    envelope = await readCurrentAttestation(root);
  } catch (error) {
    return { ...none, status: 'invalid', problems: [messageOf(error)] };
  }
  if (envelope === null) return { ...none, status: 'none', problems: [] };
  if (keys === null) return { ...none, status: 'not_checked', problems: [] };
  const verified = verifyEnvelope(envelope, keys);
  if (!verified.ok) return { ...none, status: 'invalid', problems: [verified.error.message] };
  const { statement } = verified.value;
  const problems: string[] = [];
  if (statement.store_id !== storeId)
    problems.push(`it is for store ${statement.store_id}, not for this one`);
  for (const { channel, release } of namedReleases(statement)) {
    const { release_id: id, snapshot_id: snapshotId, result } = release;
    if (result !== 'PASSED' || (releaseId !== null && releaseId !== id)) continue;
    const found = releases.find(
      (report) => report.channel === channel && report.release_id === id && report.snapshot_id === snapshotId,
    );
    if (found === undefined)
      problems.push(`it attests ${channel} release ${id} as ${snapshotId}, which is not on the volume`);
    else problems.push(...differencesOf(release, found));
  }
  return {
    status: problems.length === 0 ? 'ok' : 'invalid',
    version: statement.version,
    expires_at: statement.expires_at,
    problems,
  };
}

function differencesOf(attested: AttestedRelease, found: ReleaseReport): readonly string[] {
  const compare = (name: string, inAttestation: number, inManifest: number): readonly string[] =>
    inAttestation === inManifest
      ? []
      : [
          `${name} of ${found.channel} release ${found.release_id} is ${inAttestation} in the attestation and ${inManifest} in the manifest`,
        ];
  return [
    ...compare('entry_count', attested.entry_count, found.entries),
    ...compare('total_bytes', attested.total_bytes, found.bytes),
  ];
}

async function countOrphans(
  { root, ledger, signal }: VolumeCheckOptions,
  releases: readonly ReleaseReport[],
): Promise<NonNullable<VolumeReport['objects']>> {
  let orphans = 0;
  let bytes = 0;
  for (const shard of await namesIn(join(root, 'objects'))) {
    for (const name of await namesIn(join(root, 'objects', shard))) {
      signal.throwIfAborted();
      const blake3 = `${shard}${name}`;
      if (!isBlake3Hex(blake3) || ledger.find(blake3) >= 0) continue;
      orphans += 1;
      bytes += (await lstat(join(root, 'objects', shard, name))).size;
    }
  }
  const known = new Set(
    releases.map((release) => `${release.snapshot_id?.slice('blake3:'.length) ?? ''}.ndjson`),
  );
  const manifests = (await namesIn(join(root, 'manifests'))).filter((name) => !known.has(name));
  return {
    referenced: ledger.length,
    orphans,
    orphan_bytes: bytes,
    orphan_manifests: manifests.length,
  };
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch {
    // A missing directory has no orphans; what it should hold was reported with the releases.
    return [];
  }
}
