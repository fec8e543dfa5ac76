import { trustedKeysOf, type SigningKey } from '../../../attestation/keys.ts';
import { verifyEnvelope } from '../../../attestation/verify.ts';
import type {
  AttestationStatement,
  AttestedRelease,
  VerifiedAttestation,
} from '../../../domain/verdict/attestation.ts';
import { announcedRelease } from '../../../domain/verdict/announced.ts';
import { CHANNELS, type Channel } from '../../../domain/release/channel.ts';
import { unixSeconds } from '../../../platform/process/clock.ts';
import type { SnapshotWriter } from '../../../snapshot/snapshot-writer.ts';
import { describeStorageError, storageFailureOf } from '../../database/storage-failure.ts';
import { tryToStore } from '../../database/store-when-possible.ts';
import type { ReleaseEvents } from '../../events/release-events.ts';
import type { TaskEngine } from '../../tasks/task-engine.ts';
import { adoptReleases, type AdoptDependencies } from './adopt-releases.ts';
import type { AttestationRepository, StoredAttestation } from '../records/attestation-repository.ts';
import type { Attestor } from '../attest/attestor.ts';
import { queueVerification } from '../checks/queue-verification.ts';
import { describe, isSound, type ReleaseCheck, type ReleaseFindings } from '../checks/release-check.ts';
import { documentColumns, type ReleaseRow } from '../records/release-row.ts';
import { isAnnouncedIn, selectRetained, type RetentionLimits } from '../records/retention-rules.ts';
import { removeDeadStaging } from '../sync/staging.ts';
import { currentOf } from '../attest/statement-rules.ts';
import type { EarlierVersions } from '../attest/version-counter.ts';
import { applySwitch, applyWithdrawal } from '../records/apply-switch.ts';
import { planSwitch } from '../records/switch-rules.ts';
import { situationOf } from '../records/release-situation.ts';

export interface RecoveryDependencies extends AdoptDependencies {
  readonly writer: SnapshotWriter;
  readonly attestations: AttestationRepository;
  readonly attestor: Attestor;
  readonly events: Pick<ReleaseEvents, 'append'>;
  readonly check: ReleaseCheck;
  readonly engine: Pick<TaskEngine, 'submit' | 'get' | 'list'>;
  readonly signingKeys: readonly SigningKey[];
  readonly retention: RetentionLimits;
  /** Age of the last full verification, in seconds, from which a current or announced release is verified again at boot. */
  readonly verifyAfterSeconds: number;
  /** Age of the last full verification, in seconds, from which a release is no longer attested. */
  readonly maxVerifyAgeSeconds: number;
  /** Whether a daemon with another database wrote to the volume before this one. */
  readonly otherWriter: boolean;
}

/**
 * Reconciles the database and the volume after a start, and attests the result. Persisted state is trusted only as far
 * as it was checked during this start: the newest validly signed attestation says which releases are current, their
 * manifests and objects are checked, and a release whose last full verification is old is verified again.
 */
export async function recoverReleases(deps: RecoveryDependencies, signal: AbortSignal): Promise<void> {
  const { attestor, check, logger } = deps;
  await tidyStaging(deps);
  await adoptReleases(deps, signal);
  await reconcile(deps);
  for (const release of offered(deps)) {
    const findings = await check.look(release, signal);
    await recordFindings(deps, release, findings);
    if (isSound(findings)) continue;
    logger.error(
      { channel: release.channel, release_id: release.release_id },
      `a release that was attested is damaged: ${describe(findings)}`,
    );
  }
  await attestor.issue('boot');
  // The schedule of the channel verifies the releases later.
  const tooOld = { current: deps.verifyAfterSeconds, announced: deps.verifyAfterSeconds };
  tryToStore(() => queueVerification(deps, tooOld), 'the verification after the start', logger);
}

/** A full data folder only refuses to store damage: without it, a sound release stays attested as the database has it. */
async function recordFindings(
  { check, logger }: RecoveryDependencies,
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
async function tidyStaging(deps: RecoveryDependencies): Promise<void> {
  const { writer, otherWriter, logger } = deps;
  try {
    if (otherWriter) for (const name of await writer.listStaging()) await writer.removeStaging(name);
    else await removeDeadStaging(deps);
  } catch (error) {
    // A volume that cannot be written still has sound releases.
    if (storageFailureOf(error) === null) throw error;
    logger.error({ err: error }, 'staged files could not be removed from the volume; cleanup removes them');
  }
}

/** The releases that the next attestation would name. */
function offered({ releases, retention, clock }: RecoveryDependencies): readonly ReleaseRow[] {
  const situation = situationOf(releases);
  const retained = selectRetained(situation, retention, unixSeconds(clock)).map(({ release }) => release);
  const current = CHANNELS.map((channel) => currentOf(situation, channel)).filter(
    (release) => release !== null,
  );
  const announced = situation.releases.filter((release) => isAnnouncedIn(situation, release));
  return [...new Set([...current, ...announced, ...retained])];
}

/** Reconciles the pointers: the newest validly signed attestation of file and database wins. */
async function reconcile(deps: RecoveryDependencies): Promise<void> {
  const { attestations, attestor, writer, logger } = deps;
  const stored = attestations.get(writer.storeId);
  const found = await readAttestation(deps);
  const [newest = 0] = await writer.listAttestationVersions();
  const earlier: EarlierVersions = {
    database: stored === null ? null : Math.max(stored.version, stored.reserved_version),
    // An envelope may be in the history alone, and its version must not be used again either.
    volume: Math.max(found?.statement.version ?? 0, newest),
    otherWriter: deps.otherWriter,
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
  adoptDocuments(deps, found.statement);
  for (const channel of CHANNELS) {
    const attested = found.statement[channel];
    if (attested !== null) adoptPointer(deps, channel, attested);
  }
  adoptWithdrawal(deps, found.statement, stored);
  adoptAnnouncements(deps, found.statement);
}

/** The announcement of each channel is that of the attestation. */
function adoptAnnouncements(
  { releases, database }: RecoveryDependencies,
  statement: AttestationStatement,
): void {
  database.transaction(() => {
    for (const channel of CHANNELS) {
      const announced = announcedRelease(statement, channel);
      const held = announced === null ? null : releases.get(channel, announced.release_id);
      if (announced === null || held?.snapshot_id !== announced.snapshot_id) releases.clearAnnounced(channel);
      else releases.setAnnounced(channel, announced.release_id, announced.current_at);
    }
  });
}

/** A release keeps the server-info document that the attestation names. */
function adoptDocuments({ releases }: RecoveryDependencies, statement: AttestationStatement): void {
  const named = [
    ...CHANNELS.map((channel) => ({ channel, release: statement[channel] })),
    ...statement.retained.map((release) => ({ channel: release.channel, release })),
  ];
  for (const { channel, release } of named) {
    if (release?.server_info === undefined) continue;
    if (releases.get(channel, release.release_id)?.snapshot_id !== release.snapshot_id) continue;
    releases.update(channel, release.release_id, documentColumns(release.server_info));
  }
}

function adoptPointer(deps: RecoveryDependencies, channel: Channel, attested: AttestedRelease): void {
  const { releases, database, logger } = deps;
  const release = releases.get(channel, attested.release_id);
  if (release === null || release.snapshot_id !== attested.snapshot_id) {
    logger.error(
      { channel, release_id: attested.release_id },
      'the attested release is not on the volume as attested; sync again',
    );
    return;
  }
  const situation = situationOf(releases);
  const now = unixSeconds(deps.clock);
  const plan = planSwitch(situation, channel, release.release_id, now);
  const changes = plan.changes.map(({ release: changed, change: { state, ...rest } }) => {
    const keepsDamage = state === 'current' && changed.state === 'damaged';
    return { release: changed, change: keepsDamage || state === undefined ? rest : { state, ...rest } };
  });
  database.transaction(() => {
    applySwitch(deps, { ...plan, changes }, now);
    // The release was withdrawn, and the database that knew the reason is lost: only a check of its bytes can clear it.
    if (attested.result === 'FAILED') {
      releases.update(channel, release.release_id, { verified_at: null });
    }
  });
}

/**
 * A localized release that could be attested, and is not, was taken back after the database was written. One whose last full
 * verification was too old then only waits for the next one, unless it was attested as an earlier release. A release that was verified
 * and taken back since is attested as an earlier one for a time only, so a database from before that time does not tell.
 *
 * @param stored the last attestation that the database knows
 */
function adoptWithdrawal(
  deps: RecoveryDependencies,
  statement: AttestationStatement,
  stored: StoredAttestation | null,
): void {
  const { official, localized, retained, issued_at: issuedAt } = statement;
  const { releases, database, logger, maxVerifyAgeSeconds: maxAge, retention } = deps;
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
    applyWithdrawal(releases, 'localized', unixSeconds(deps.clock));
  });
}

async function readAttestation(deps: RecoveryDependencies): Promise<VerifiedAttestation | null> {
  const envelope = await deps.writer.readCurrentAttestation();
  if (envelope === null) return null;
  const verified = verifyEnvelope(envelope, trustedKeysOf(deps.signingKeys));
  if (!verified.ok) {
    deps.logger.error(
      { reason: verified.error.reason },
      `the attestation on the volume is not from this daemon: ${verified.error.message}`,
    );
    return null;
  }
  if (verified.value.statement.store_id !== deps.writer.storeId) {
    deps.logger.error(
      { store_id: verified.value.statement.store_id },
      'the attestation on the volume is for another store',
    );
    return null;
  }
  return verified.value;
}
