import type { ReleaseParts } from '../release-parts.ts';
import { type SigningKey, trustedKeysOf } from '../../attestation/keys.ts';
import { verifyEnvelope } from '../../attestation/verify.ts';
import type {
  AttestationStatement,
  CurrentAttestedRelease,
  VerifiedAttestation,
} from '../../domain/verdict/attestation.ts';
import { announcedRelease } from '../../domain/verdict/announced.ts';
import { namedReleases } from '../../domain/verdict/effective-attestation.ts';
import { CHANNELS, type Channel } from '../../domain/release/channel.ts';
import { unixSeconds } from '../../platform/process/clock.ts';
import { describeStorageError, storageFailureOf } from '../../engine/database/storage-failure.ts';
import { tryToStore } from '../../engine/database/store-when-possible.ts';
import { adoptReleases } from './adopt-releases.ts';
import type { StoredAttestation } from '../records/attestation-repository.ts';
import { queueVerification } from '../checks/queue-verification.ts';
import { type ReleaseFindings, describe, isSound } from '../checks/release-check.ts';
import { type ReleaseRow, documentColumns } from '../records/release-row.ts';
import { isAnnouncedIn, selectRetained, situationOf } from '../records/retention-rules.ts';
import { currentOf } from '../attest/statement-rules.ts';
import type { EarlierVersions } from '../attest/version-counter.ts';
import { applySwitch, applyWithdrawal, planSwitch } from '../records/switch-rules.ts';
import { type SnapshotId, manifestDigestOf } from '../../domain/release/digest.ts';
import { manifestPath } from '../../snapshot/volume/layout.ts';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';

interface RecoveryParts extends ReleaseParts {
  readonly signingKeys: () => readonly SigningKey[];
  /** Whether a daemon with another database wrote to the volume before this one. */
  readonly otherWriter: boolean;
}

/**
 * Reconciles the database and the volume after a start, and attests the result. Persisted state is trusted only as far
 * as it was checked during this start: the newest validly signed attestation says which releases are current, their
 * manifests and objects are checked, and a release whose last full verification is old is verified again.
 */
export async function recoverReleases(parts: RecoveryParts, signal: AbortSignal): Promise<void> {
  const { attestor, check, logger } = parts;
  await tidyStaging(parts);
  await adoptReleases(parts, signal);
  await reconcile(parts);
  for (const release of offered(parts)) {
    const findings = await check.quick(release, signal);
    await recordFindings(parts, release, findings);
    if (isSound(findings)) continue;
    logger.error(
      { channel: release.channel, release_id: release.release_id },
      `a release that was attested is damaged: ${describe(findings)}`,
    );
  }
  await attestor.issue('boot');
  // The schedule of the channel verifies the releases later.
  const { verifyAtBootAfterSeconds: age } = parts.configuration();
  const tooOld = { current: age, announced: age };
  tryToStore(() => queueVerification(parts, tooOld), 'the verification after the start', logger);
}

/** A full data folder only refuses to store damage: without it, a sound release stays attested as the database has it. */
async function recordFindings(
  { check, logger }: RecoveryParts,
  release: ReleaseRow,
  findings: ReleaseFindings,
): Promise<void> {
  try {
    await check.record(release, findings, { bytes: false, finder: 'boot' });
  } catch (error) {
    if (!isSound(findings) || storageFailureOf(error) === null) throw error;
    logger.error(`the check of ${release.release_id} could not be stored: ${describeStorageError(error)}`);
  }
}

/**
 * Removes what no task will use again. After another writer that is everything: its process may still have staged files
 * open, and would write into objects that were made of them.
 */
async function tidyStaging(parts: RecoveryParts): Promise<void> {
  const { writer, staging, otherWriter, logger } = parts;
  try {
    if (otherWriter) for (const name of await writer.listStaging()) await writer.removeStaging(name);
    else await staging.sweep();
  } catch (error) {
    // A volume that cannot be written still has sound releases.
    if (storageFailureOf(error) === null) throw error;
    logger.error({ err: error }, 'staged files could not be removed from the volume; cleanup removes them');
  }
}

function offered({ releases, configuration, clock }: RecoveryParts): readonly ReleaseRow[] {
  const situation = situationOf(releases);
  const retained = selectRetained(situation, configuration().retention, unixSeconds(clock)).map(
    ({ release }) => release,
  );
  const current = CHANNELS.map((channel) => currentOf(situation, channel)).filter(
    (release) => release !== null,
  );
  const announced = situation.releases.filter((release) => isAnnouncedIn(situation, release));
  return [...new Set([...current, ...announced, ...retained])];
}

async function reconcile(parts: RecoveryParts): Promise<void> {
  const { attestations, attestor, writer, logger } = parts;
  const stored = attestations.get(writer.storeId);
  const found = await readAttestation(parts);
  if (found !== null) await correctReleases(parts, found.statement);
  const [newest = 0] = await writer.listAttestationVersions();
  const earlier: EarlierVersions = {
    database: stored === null ? null : Math.max(stored.version, stored.reserved_version),
    // An envelope may be in the history alone, and its version must not be used again either.
    volume: Math.max(found?.statement.version ?? 0, newest),
    otherWriter: parts.otherWriter,
  };
  attestor.continueFrom(earlier, stored?.payload_sha256 ?? null);
  if (found === null) return;
  const { version } = found.statement;
  if (version <= (stored?.version ?? 0)) {
    if (version < (stored?.version ?? 0)) {
      logger.warn(
        { on_volume: version, in_database: stored?.version },
        'the attestation on the volume is older than the one in the database',
      );
    }
    return;
  }
  logger.warn(
    { on_volume: version, in_database: stored?.version ?? null },
    'the attestation on the volume is newer than the database; the database is corrected',
  );
  attestor.continueFrom(earlier, found.payloadSha256);
  adoptSignedFacts(parts, found.statement);
  for (const channel of CHANNELS) {
    const attested = found.statement[channel];
    if (attested !== null) adoptPointer(parts, channel, attested);
  }
  adoptWithdrawal(parts, found.statement, stored);
  adoptAnnouncements(parts, found.statement);
}

function adoptAnnouncements({ releases, database }: RecoveryParts, statement: AttestationStatement): void {
  database.transaction(() => {
    for (const channel of CHANNELS) {
      const announced = announcedRelease(statement, channel);
      const held = announced === null ? null : releases.get(channel, announced.release_id);
      if (announced === null || held?.snapshot_id !== announced.snapshot_id) releases.clearAnnounced(channel);
      else releases.setAnnounced(channel, announced.release_id, announced.current_at);
    }
  });
}

/** What the record of a release does not say, because it can change while the release stays. */
function adoptSignedFacts({ releases }: RecoveryParts, statement: AttestationStatement): void {
  for (const { channel, release } of namedReleases(statement)) {
    if (releases.get(channel, release.release_id)?.snapshot_id !== release.snapshot_id) continue;
    releases.update(channel, release.release_id, {
      ...documentColumns(release.server_info),
      excluded_count: release.excluded_count ?? 0,
    });
  }
}

function adoptPointer(parts: RecoveryParts, channel: Channel, attested: CurrentAttestedRelease): void {
  const { releases, database, logger } = parts;
  const release = releases.get(channel, attested.release_id);
  if (release === null || release.snapshot_id !== attested.snapshot_id) {
    logger.error(
      { channel, release_id: attested.release_id },
      'the attested release is not on the volume as attested; sync again',
    );
    return;
  }
  const situation = situationOf(releases);
  const now = unixSeconds(parts.clock);
  const plan = planSwitch(situation, channel, release.release_id, now);
  const changes = plan.changes.map(({ release: changed, change: { state, ...rest } }) => {
    const keepsDamage = state === 'current' && changed.state === 'damaged';
    return { release: changed, change: keepsDamage || state === undefined ? rest : { state, ...rest } };
  });
  database.transaction(() => {
    applySwitch(parts, { ...plan, changes }, now);
    releases.setPointer(channel, release.release_id, attested.current_since);
    // The release was withdrawn, and the database that knew the reason is lost: only a check of its bytes can clear it.
    if (attested.result === 'FAILED') {
      releases.update(channel, release.release_id, { verified_at: null });
    }
  });
}

/**
 * A localized release that could be attested, and is not, was taken back after the database was written. One whose last full
 * verification was too old then only waits for the next one, unless it was attested as an earlier release. A release that was verified
 * and taken back since is attested as an earlier one for a time only, so a database from before that time does not show it.
 *
 * @param stored the last attestation that the database knows
 */
function adoptWithdrawal(
  parts: RecoveryParts,
  statement: AttestationStatement,
  stored: StoredAttestation | null,
): void {
  const { official, localized, retained, issued_at: issuedAt } = statement;
  const { releases, database, logger } = parts;
  const { maxVerifyAgeSeconds: maxAge, retention } = parts.configuration();
  const current = releases.current('localized');
  if (localized !== null || current === null || current.base_release_id !== official?.release_id) return;
  const wasFresh = (current.verified_at ?? 0) > issuedAt - maxAge;
  const isRecent = issuedAt - (stored?.issued_at ?? 0) < Math.min(maxAge, retention.maxAgeSeconds);
  const isEarlier = retained.some(
    ({ channel, release_id: id }) => channel === 'localized' && id === current.release_id,
  );
  if (!wasFresh && !isEarlier && isRecent) return;
  logger.warn(
    { channel: 'localized', release_id: current.release_id },
    'the attestation on the volume has no localized release any longer; the channel is withdrawn',
  );
  database.transaction(() => {
    applyWithdrawal(releases, 'localized', unixSeconds(parts.clock));
  });
}

async function readAttestation(parts: RecoveryParts): Promise<VerifiedAttestation | null> {
  const envelope = await parts.writer.readCurrentAttestation();
  if (envelope === null) return null;
  const verified = verifyEnvelope(envelope, trustedKeysOf(parts.signingKeys()));
  if (!verified.ok) {
    parts.logger.error(
      { reason: verified.error.reason },
      `the attestation on the volume is not from this daemon: ${verified.error.message}`,
    );
    return null;
  }
  if (verified.value.statement.store_id !== parts.writer.storeId) {
    parts.logger.error(
      { store_id: verified.value.statement.store_id },
      'the attestation on the volume is for another store',
    );
    return null;
  }
  return verified.value;
}

/**
 * Corrects rows of attested releases that contradict the volume, where the signed statement and the release record agree: then the
 * database is wrong, although each of its values could be right. A repair would otherwise change the volume to match it.
 *
 * @param statement of a validly signed attestation for this store
 */
async function correctReleases(
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
