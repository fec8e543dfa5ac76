import type { SigningKey } from '../../../attestation/keys.ts';
import { payloadSha256, signStatement } from '../../../attestation/sign.ts';
import { parseEnvelope } from '../../../contract/formats/attestation-format.ts';
import type { AttestationStatement } from '../../../domain/verdict/attestation.ts';
import type { SnapshotId } from '../../../domain/release/digest.ts';
import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import type { Failpoints } from '../../../platform/files/failpoints.ts';
import type { Logger } from '../../../platform/logging/logging.ts';
import type { SnapshotWriter } from '../../../snapshot/snapshot-writer.ts';
import { failureOf } from '../records/release-failure.ts';
import type { ReleaseSituation } from '../records/retention-rules.ts';
import type { AttestationRepository } from '../records/attestation-repository.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import type { SqlDatabase } from '../records/sql.ts';
import type { ReleaseFailpoint } from '../jobs/release-failpoints.ts';
import { planStatement, type StatementLimits, type StatementPlan } from './statement-rules.ts';

export interface StatementIssuerOptions {
  readonly database: SqlDatabase;
  readonly releases: Pick<ReleaseRepository, 'damageOf' | 'damageCounts'>;
  readonly attestations: AttestationRepository;
  readonly writer: Pick<SnapshotWriter, 'storeId' | 'publishAttestation'>;
  /** The keys that sign now. */
  readonly signingKeys: () => readonly SigningKey[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly failpoints: Failpoints;
  readonly bootId: string;
  readonly version: string;
  readonly limits: () => StatementLimits;
  /** Validity of an attestation, in seconds. */
  readonly ttlSeconds: () => number;
}

/** An attestation that this process issued. */
export interface IssuedAttestation {
  readonly version: number;
  readonly envelope: Buffer;
  readonly statement: AttestationStatement;
}

/** Signs statements, writes them to the volume and to the database. Calls must not overlap. */
export interface StatementIssuer {
  /** Continues the version counter of an earlier process. */
  continueFrom(version: number, payloadSha256: string | null): void;
  /**
   * Attests a situation.
   *
   * @param record runs in the transaction that stores the envelope
   * @returns the new version, or `null` when nothing may be attested; `trouble` then says why
   * @throws the file system error when the envelope cannot be written; the previous attestation stays in force
   */
  publish(of: ReleaseSituation, cause: string, record: () => void): Promise<number | null>;
  /** The newest attestation of this process. */
  issued(): IssuedAttestation | null;
  /** Why the last call issued nothing, or `null`. */
  trouble(): string | null;
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
  const { database, attestations, writer, logger } = options;
  let highestVersion: number | null = null;
  let previousPayload: string | null = null;
  let issued: IssuedAttestation | null = null;
  let trouble: string | null = 'no attestation has been issued since the daemon started';
  const hit = (name: ReleaseFailpoint): void => {
    options.failpoints.hit(name);
  };

  const nextStatement = (plan: Extract<StatementPlan, { ok: true }>, now: number): AttestationStatement => {
    if (highestVersion === null) {
      throw new Error('nothing is attested before the recovery has found the last version');
    }
    // The number is used up even when publishing fails: a version must never name two statements.
    highestVersion += 1;
    return {
      version: highestVersion,
      issued_at: now,
      expires_at: now + options.ttlSeconds(),
      store_id: writer.storeId,
      verifier: { id: VERIFIER_ID, version: options.version, boot_id: options.bootId },
      ...plan.content,
      previous_payload_sha256: previousPayload,
    };
  };

  const write = async (envelope: Buffer, statement: AttestationStatement): Promise<void> => {
    hit('release.attestation.signed');
    try {
      await writer.publishAttestation(envelope, statement.version);
    } catch (error) {
      trouble = `attestation version ${statement.version} could not be written to the volume: ${String(error)}`;
      throw error;
    }
    hit('release.attestation.published');
  };

  return {
    issued: () => issued,
    trouble: () => trouble,
    continueFrom: (version, payload) => {
      highestVersion = Math.max(highestVersion ?? 0, version);
      previousPayload = payload;
    },
    publish: async (of, cause, record) => {
      const now = unixSeconds(options.clock);
      const plan = planStatement(of, options.limits(), now, (release) =>
        failureOf(options.releases, release),
      );
      if (!plan.ok) {
        if (trouble !== plan.message) logger.warn({ cause }, plan.message);
        trouble = plan.message;
        return null;
      }
      for (const note of plan.notes) logger.debug({ cause }, note);
      const statement = nextStatement(plan, now);
      const envelope = signStatement(statement, options.signingKeys(), manifestDigests(of));
      await write(envelope, statement);
      const digest = payloadDigest(envelope);
      previousPayload = digest;
      issued = { version: statement.version, envelope, statement };
      trouble = null;
      onChange();
      database.transaction(() => {
        attestations.set(writer.storeId, {
          version: statement.version,
          payload_sha256: digest,
          envelope,
          issued_at: now,
          expires_at: statement.expires_at,
        });
        record();
      });
      logger.info(logFieldsOf(statement, cause), 'attestation issued');
      return statement.version;
    },
  };
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
