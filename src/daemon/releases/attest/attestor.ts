import type { SigningKey } from '../../../attestation/keys.ts';
import { payloadSha256, signStatement } from '../../../attestation/sign.ts';
import { parseEnvelope } from '../../../contract/formats/attestation-format.ts';
import type { AttestationStatement } from '../../../domain/verdict/attestation.ts';
import type { Channel } from '../../../domain/release/channel.ts';
import type { SnapshotId } from '../../../domain/release/digest.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import type { Failpoints } from '../../../platform/files/failpoints.ts';
import type { Logger } from '../../../platform/logging/logging.ts';
import type { SnapshotWriter } from '../../../snapshot/volume/snapshot-writer.ts';
import type { AttestationSource } from '../../api/ports.ts';
import { TaskError } from '../../tasks/task.ts';
import type { AttestationRepository } from '../records/attestation-repository.ts';
import type { ReleaseFailpoint } from '../release-failpoints.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import type { ReleaseSituation } from '../cleanup/retention-rules.ts';
import { createSerial } from './serial.ts';
import type { SqlDatabase } from '../records/sql.ts';
import { planStatement, type StatementLimits } from './statement-rules.ts';
import { planSwitch } from '../publish/switch-rules.ts';
import { createWaiters } from './waiters.ts';

/** What the attestor is made of. */
export interface AttestorDependencies {
  readonly database: SqlDatabase;
  readonly releases: ReleaseRepository;
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
  /** How long an attestation is good for, in seconds. */
  readonly ttlSeconds: () => number;
  /** Called with every attestation issued: version, and expiry in Unix seconds. */
  readonly onIssued?: ((version: number, expiresAt: number) => void) | undefined;
}

/** How attesting goes, for the doctor report. */
export interface AttestorStatus {
  readonly ok: boolean;
  readonly message: string;
}

/** Issues the attestations of one store and keeps them fresh. */
export interface Attestor extends AttestationSource {
  /** Continues the counter after what an earlier process issued. */
  continueFrom(version: number, payloadSha256: string | null): void;
  /**
   * Attests the situation as the database has it.
   *
   * @returns the new version, or `null` when nothing may be attested (the reason is logged and in `status`)
   * @throws the file system error when the envelope cannot be written; what was attested before stays
   */
  issue(cause: string): Promise<number | null>;
  /**
   * Makes a release current: signs and publishes the attestation that says so, then writes the database. Nothing
   * changes when it throws before the envelope is on the volume.
   */
  switchTo(channel: Channel, releaseId: string): Promise<number>;
  /** Renews at a third of the validity until `stop`. */
  startRenewal(): void;
  /** Counts a third of the validity anew from now on, because the validity may have changed. */
  reschedule(): void;
  stop(): Promise<void>;
  /** The newest statement, or `null` when this process issued none yet. */
  attested(): AttestationStatement | null;
  status(): AttestorStatus;
}

interface Issued {
  readonly version: number;
  readonly envelope: Buffer;
  readonly statement: AttestationStatement;
}

/** Who says so, in every statement. */
const VERIFIER_ID = 'https://slipway.dev/daemon';

/** Most releases one situation holds; cleanup keeps far fewer. */
const SITUATION_RELEASES_MAX = 10_000;

/** Creates the attestor; it attests nothing before it is told to. */
export function createAttestor(deps: AttestorDependencies): Attestor {
  const { database, releases, attestations, writer, clock, logger } = deps;
  const serial = createSerial();
  const changed = createWaiters(clock);
  const stopping = new AbortController();
  let highestVersion: number | null = null;
  let previousPayload: string | null = null;
  let issued: Issued | null = null;
  let trouble: string | null = 'no attestation was issued since the daemon started';
  let renewal: Promise<void> = Promise.resolve();
  let rescheduled = new AbortController();

  const seconds = (): number => Math.floor(clock.now() / 1000);
  const hit = (name: ReleaseFailpoint): void => {
    deps.failpoints.hit(name);
  };
  const situation = (): ReleaseSituation => ({
    releases: releases.list(null, SITUATION_RELEASES_MAX),
    pointers: { official: releases.pointer('official'), localized: releases.pointer('localized') },
  });

  /** Signs and publishes a statement over `of`, then runs `record` in the transaction that stores the envelope. */
  const publish = async (of: ReleaseSituation, cause: string, record: () => void): Promise<number | null> => {
    const now = seconds();
    const plan = planStatement(of, deps.limits(), now);
    if (!plan.ok) {
      if (trouble !== plan.message) logger.warn({ cause }, plan.message);
      trouble = plan.message;
      return null;
    }
    for (const note of plan.notes) logger.debug({ cause }, note);
    if (highestVersion === null)
      throw new Error('attesting begins after the recovery has found the last version');
    // The number is used up even when publishing fails: a version must never name two statements.
    highestVersion += 1;
    const statement: AttestationStatement = {
      version: highestVersion,
      issued_at: now,
      expires_at: now + deps.ttlSeconds(),
      store_id: writer.storeId,
      verifier: { id: VERIFIER_ID, version: deps.version, boot_id: deps.bootId },
      ...plan.content,
      previous_payload_sha256: previousPayload,
    };
    const envelope = signStatement(statement, deps.signingKeys(), manifestDigests(of));
    hit('release.attestation.signed');
    try {
      await writer.publishAttestation(envelope, statement.version);
    } catch (error) {
      trouble = `attestation version ${statement.version} could not be written to the volume: ${String(error)}`;
      throw error;
    }
    hit('release.attestation.published');
    const digest = payloadDigest(envelope);
    previousPayload = digest;
    issued = { version: statement.version, envelope, statement };
    trouble = null;
    changed.notify();
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
    deps.onIssued?.(statement.version, statement.expires_at);
    logger.info(
      {
        cause,
        version: statement.version,
        expires_at: statement.expires_at,
        official: statement.official?.release_id ?? null,
        official_result: statement.official?.result ?? null,
        localized: statement.localized?.release_id ?? null,
        retained: statement.retained.length,
      },
      'attestation issued',
    );
    return statement.version;
  };

  const issue = (cause: string): Promise<number | null> =>
    serial(() => publish(situation(), cause, () => undefined));

  const renewForever = async (): Promise<void> => {
    let failed = false;
    while (!stopping.signal.aborted) {
      const regular = (deps.ttlSeconds() * 1000) / 3;
      rescheduled = new AbortController();
      const woken = AbortSignal.any([stopping.signal, rescheduled.signal]);
      await clock.sleep(failed ? regular / 4 : regular, woken).catch(() => undefined);
      if (stopping.signal.aborted) return;
      // The validity changed: the wait begins anew.
      if (rescheduled.signal.aborted) continue;
      try {
        await issue('renewal');
        failed = false;
      } catch (error) {
        logger.error({ err: error }, 'the attestation could not be renewed; trying again soon');
        failed = true;
      }
    }
  };

  return {
    current: () => issued,
    waitForChange: async (knownVersion, timeoutMs, signal) => {
      if ((issued?.version ?? null) !== knownVersion) return;
      await changed.wait(timeoutMs, signal);
    },
    continueFrom: (version, payloadSha256) => {
      highestVersion = Math.max(highestVersion ?? 0, version);
      previousPayload = payloadSha256;
    },
    issue,
    switchTo: (channel, releaseId) =>
      serial(async () => {
        const target = releases.get(channel, releaseId);
        if (target === null || !['verified', 'current', 'superseded'].includes(target.state)) {
          throw new TaskError(
            'release_damaged',
            `release ${releaseId} cannot become current: it is ${target?.state ?? 'not registered'}`,
            { retryable: target?.state === 'damaged' },
          );
        }
        const plan = planSwitch(situation(), channel, releaseId, seconds());
        const version = await publish(plan.after, `switch to ${releaseId}`, () => {
          for (const { release, change } of plan.changes) {
            releases.update(release.channel, release.release_id, change);
          }
          const pointer = plan.after.pointers[channel];
          if (pointer !== null) releases.setPointer(channel, pointer.release_id, pointer.since);
        });
        if (version === null) {
          throw new TaskError('not_attestable', trouble ?? `release ${releaseId} may not be attested`);
        }
        hit('release.database.current');
        return version;
      }),
    startRenewal: () => {
      renewal = renewForever();
    },
    reschedule: () => {
      rescheduled.abort();
    },
    stop: async () => {
      stopping.abort();
      await renewal;
      await serial(() => Promise.resolve());
    },
    attested: () => issued?.statement ?? null,
    status: () => {
      const expired = issued !== null && issued.statement.expires_at <= seconds();
      return {
        ok: trouble === null && !expired,
        message:
          trouble ?? (expired ? 'the last attestation has expired' : 'attestations are issued and renewed'),
      };
    },
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
