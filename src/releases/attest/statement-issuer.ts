import type { SigningKey } from '../../attestation/keys.ts';
import { payloadSha256, signStatement } from '../../attestation/sign.ts';
import { parseEnvelope } from '../../contract/formats/attestation-format.ts';
import type { AttestationStatement } from '../../domain/verdict/attestation.ts';
import type { SnapshotId } from '../../domain/release/digest.ts';
import { type Clock, unixSeconds } from '../../platform/process/clock.ts';
import type { Failpoints } from '../../platform/files/failpoints.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { SnapshotWriter } from '../../snapshot/snapshot-writer.ts';
import { messageOf } from '../../platform/errors.ts';
import { failureOf } from '../records/release-failure.ts';
import type { ReleaseSituation } from '../records/retention-rules.ts';
import type { AttestationRepository } from '../records/attestation-repository.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import type { SqlDatabase } from '../records/sql.ts';
import type { ReleaseFailpoint } from '../jobs/release-failpoints.ts';
import { type StatementLimits, type StatementPlan, planStatement } from './statement-rules.ts';
import { type EarlierVersions, type VersionCounter, createVersionCounter } from './version-counter.ts';
import { StoreLeaseLostError } from '../../snapshot/volume/lease-errors.ts';
import { describeStorageError } from '../../engine/database/storage-failure.ts';

export interface StatementIssuerOptions {
  readonly database: SqlDatabase;
  readonly releases: ReleaseRepository;
  readonly attestations: AttestationRepository;
  readonly writer: SnapshotWriter;
  readonly signingKeys: () => readonly SigningKey[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly failpoints: Failpoints;
  readonly bootId: string;
  readonly version: string;
  readonly limits: () => StatementLimits;
  readonly ttlSeconds: () => number;
}

interface IssuedAttestation {
  readonly version: number;
  readonly envelope: Buffer;
  readonly statement: AttestationStatement;
}

/** Signs statements, writes them to the volume and to the database. Calls must not overlap. */
export interface StatementIssuer {
  readonly continueFrom: (earlier: EarlierVersions, payloadSha256: string | null) => void;
  /**
   * Attests a situation. When the volume cannot be written, the envelope is still issued and the one on the volume
   * lags.
   *
   * @returns the new version, or `null` when nothing may be attested; `trouble` then says why
   * @throws the error of the volume when the version is reserved nowhere; the previous attestation stays in force
   */
  readonly publish: (of: ReleaseSituation, cause: string) => Promise<number | null>;
  /**
   * Attests a situation that changes the database. The envelope must be on the volume first.
   *
   * @param record makes the change, in the transaction that stores the envelope
   * @throws the error of the volume or of the database
   */
  readonly publishChange: (of: ReleaseSituation, cause: string, record: () => void) => Promise<number | null>;
  /** Whether the newest envelope is missing on the volume or in the database, or could not be issued without the volume. */
  readonly isLate: () => boolean;
  /**
   * Stores the newest envelope where it is missing, so that a volume or a database that takes writes again is noticed before the
   * next renewal.
   *
   * @returns whether the situation must be attested instead, because its envelope could not be written and was not issued
   */
  readonly storeAgain: () => Promise<boolean>;
  readonly stop: () => void;
  readonly lag: () => string | null;
  readonly volumeError: () => unknown;
  readonly issued: () => IssuedAttestation | null;
  readonly trouble: () => string | null;
}

/** The signer named in every statement. */
const VERIFIER_ID = 'https://slipway.dev/daemon';

/**
 * Creates the issuer.
 *
 * @param onChange called after a newer attestation is on the volume
 */
export function createStatementIssuer(
  options: StatementIssuerOptions,
  onChange: () => void,
): StatementIssuer {
  const { writer, attestations, logger } = options;
  const versions = createVersionCounter(writer.storeId, attestations, logger);
  let previousPayload: string | null = null;
  let issued: IssuedAttestation | null = null;
  let trouble: string | null = 'no attestation has been issued since the daemon started';
  let isUnwritten = false;
  const storage = createEnvelopeStorage(options, versions);

  const nextStatement = (plan: Extract<StatementPlan, { ok: true }>, now: number): AttestationStatement => ({
    // The number is used up even when publishing fails: a version must never name two statements.
    version: versions.next(),
    issued_at: now,
    expires_at: Math.min(now + options.ttlSeconds(), plan.expiresBy ?? Infinity),
    store_id: writer.storeId,
    verifier: { id: VERIFIER_ID, version: options.version, boot_id: options.bootId },
    ...plan.content,
    previous_payload_sha256: previousPayload,
  });

  const write = async (envelope: Buffer, version: number, mustWrite: boolean): Promise<void> => {
    options.failpoints.hit('release.attestation.signed' satisfies ReleaseFailpoint);
    try {
      await storage.publish(envelope, version, mustWrite);
    } catch (error) {
      trouble = `attestation version ${version} could not be written to the volume: ${messageOf(error)}`;
      isUnwritten = true;
      throw error;
    }
    options.failpoints.hit('release.attestation.published' satisfies ReleaseFailpoint);
  };

  const publish = async (
    of: ReleaseSituation,
    cause: string,
    record: (() => void) | null,
  ): Promise<number | null> => {
    isUnwritten = false;
    const now = unixSeconds(options.clock);
    const plan = planStatement(of, options.limits(), now, (release) => failureOf(options.releases, release));
    if (!plan.ok) {
      if (trouble !== plan.message) logger.warn({ cause }, plan.message);
      trouble = plan.message;
      return null;
    }
    for (const note of plan.notes) logger.debug({ cause }, note);
    const statement = nextStatement(plan, now);
    const envelope = signStatement(statement, options.signingKeys(), manifestDigests(of));
    await write(envelope, statement.version, record !== null);
    const digest = payloadDigest(envelope);
    previousPayload = digest;
    issued = { version: statement.version, envelope, statement };
    trouble = null;
    onChange();
    storage.record(envelope, statement, digest, record);
    logger.info(logFieldsOf(statement, cause), 'attestation issued');
    return statement.version;
  };

  return {
    issued: () => issued,
    trouble: () => trouble,
    lag: () => storage.lag(),
    volumeError: () => storage.volumeError(),
    continueFrom: (earlier, payload) => {
      versions.continueFrom(earlier);
      previousPayload = payload;
    },
    publish: (of, cause) => publish(of, cause, null),
    publishChange: publish,
    isLate: () => issued !== null && (isUnwritten || storage.lag() !== null),
    storeAgain: async () => {
      if (isUnwritten && issued !== null) return true;
      if (storage.lag() !== null && issued !== null) await storeIssued(storage, issued);
      return false;
    },
    stop: () => versions.release(),
  };
}

async function storeIssued(
  storage: EnvelopeStorage,
  { envelope, statement }: IssuedAttestation,
): Promise<void> {
  await storage.publish(envelope, statement.version, false);
  storage.record(envelope, statement, payloadDigest(envelope), null);
}

function logFieldsOf(statement: AttestationStatement, cause: string): Record<string, unknown> {
  const { version, expires_at, official, localized, retained } = statement;
  return {
    cause,
    version,
    expires_at,
    official: official?.release_id ?? null,
    official_result: official?.result ?? null,
    ...(official?.failure === undefined ? {} : { official_failure: official.failure }),
    localized: localized?.release_id ?? null,
    retained: retained.length,
  };
}

function payloadDigest(envelope: Buffer): string {
  const parsed = parseEnvelope(envelope);
  if (!parsed.ok) throw new Error(`an envelope that was just signed cannot be read back: ${parsed.error}`);
  return payloadSha256(Buffer.from(parsed.value.payload, 'base64'));
}

function manifestDigests(situation: ReleaseSituation): ReadonlyMap<SnapshotId, string> {
  return new Map(
    situation.releases.flatMap(({ snapshot_id, manifest_sha256 }): [SnapshotId, string][] =>
      snapshot_id === null || manifest_sha256 === null ? [] : [[snapshot_id, manifest_sha256]],
    ),
  );
}

/** Stores signed envelopes on the volume and in the database. Either of them may be unable to. */
interface EnvelopeStorage {
  /**
   * Writes an envelope to the volume.
   *
   * @param mustWrite whether the envelope may not be issued without the volume
   * @throws the error of the volume, when the envelope must not be issued
   */
  publish(envelope: Buffer, version: number, mustWrite: boolean): Promise<void>;
  /**
   * Stores an issued envelope in the database.
   *
   * @param record a change in the same transaction, or `null`
   * @throws the error of the database when there is a change
   */
  record(
    envelope: Buffer,
    statement: AttestationStatement,
    payloadSha256: string,
    record: (() => void) | null,
  ): void;
  lag(): string | null;
  volumeError(): unknown;
}

function createEnvelopeStorage(
  { database, attestations, writer, logger }: StatementIssuerOptions,
  versions: VersionCounter,
): EnvelopeStorage {
  const lags: { volume: string | null; database: string | null } = { volume: null, database: null };

  let volumeError: unknown = null;

  const noteLag = (where: keyof typeof lags, message: string | null): void => {
    if (message !== null && lags[where] === null) logger.error(message);
    if (message === null && lags[where] !== null) logger.info(`the ${where} has the newest envelope again`);
    lags[where] = message;
  };

  return {
    publish: async (envelope, version, mustWrite) => {
      try {
        await writer.publishAttestation(envelope, version);
        versions.noteOnVolume(version);
        volumeError = null;
        noteLag('volume', null);
      } catch (error) {
        volumeError = error;
        if (mustWrite || error instanceof StoreLeaseLostError || !versions.isSafe(version)) throw error;
        const reason = describeStorageError(error);
        noteLag('volume', `the envelope on the volume is version ${versions.onVolume()} and lags: ${reason}`);
      }
    },
    record: (envelope, { version, issued_at, expires_at }, payload_sha256, record) => {
      try {
        database.transaction(() => {
          attestations.set(writer.storeId, { version, payload_sha256, envelope, issued_at, expires_at });
          record?.();
        });
        noteLag('database', null);
      } catch (error) {
        if (record !== null) throw error;
        noteLag('database', `the database cannot store the envelope: ${describeStorageError(error)}`);
      }
    },
    volumeError: () => volumeError,
    lag: () => [lags.volume, lags.database].filter((lag) => lag !== null).join('; ') || null,
  };
}
