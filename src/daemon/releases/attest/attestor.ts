import type { AttestationStatement } from '../../../domain/verdict/attestation.ts';
import type { Channel } from '../../../domain/release/channel.ts';
import { unixSeconds } from '../../../platform/process/clock.ts';
import type { AttestationSource } from '../../api/attestation-source.ts';
import type { ReleaseEvents } from '../../events/release-events.ts';
import { TaskError } from '../../tasks/task.ts';
import type { ReleaseSituation } from '../records/retention-rules.ts';
import { applySwitch, applyWithdrawal } from '../records/apply-switch.ts';
import { planSwitch } from '../records/switch-rules.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import { situationOf } from '../records/release-situation.ts';
import type { ReleaseFailpoint } from '../jobs/release-failpoints.ts';
import { createAnnouncer, type Announcer } from './announcer.ts';
import { createRenewal } from './renewal.ts';
import { requireSwitchable } from './require-switchable.ts';
import { createSerial } from './serial.ts';
import {
  createStatementIssuer,
  type StatementIssuer,
  type StatementIssuerOptions,
} from './statement-issuer.ts';
import { createVerificationDates } from './verification-dates.ts';
import type { EarlierVersions } from './version-counter.ts';
import { createWaiters } from './waiters.ts';

export interface AttestorOptions extends StatementIssuerOptions {
  readonly releases: ReleaseRepository;
  readonly events: Pick<ReleaseEvents, 'append'>;
  /** Called after each attempt to renew. */
  readonly onRenewal?: () => void;
}

/** State of the attestor, for the doctor report: `degraded` when envelopes are issued, but cannot be stored. */
export interface AttestorStatus {
  readonly status: 'ok' | 'degraded' | 'failing';
  readonly message: string;
}

/** Issues the attestations of one store and keeps them fresh. */
export interface Attestor extends AttestationSource, Announcer {
  /** Continues the version counter of earlier processes. */
  continueFrom(earlier: EarlierVersions, payloadSha256: string | null): void;
  /**
   * Attests the situation that the database holds. A volume that cannot be written does not prevent it.
   *
   * @returns the new version, or `null` when nothing may be attested (the reason is logged and in `status`)
   * @throws the file system error when the envelope can be written nowhere; the previous attestation stays in force
   */
  issue(cause: string): Promise<number | null>;
  /**
   * Makes a release current: signs and publishes the new attestation, then writes the database. If it throws before the
   * envelope is on the volume, nothing has changed.
   */
  switchTo(channel: Channel, releaseId: string): Promise<number>;
  /**
   * Leaves a channel without a current release: first the database, then the attestation. A failure after the first step is made
   * up for by the next attestation, which follows the database.
   *
   * @returns the new version, or `null` when nothing may be attested; the previous attestation then expires
   */
  withdraw(channel: Channel): Promise<number | null>;
  /** Renews after a third of the validity, and when the wall clock is moved, until `stop`. */
  startRenewal(): void;
  /** Restarts the wait for the next renewal, because the validity may have changed. */
  reschedule(): void;
  stop(): Promise<void>;
  /** The newest statement, or `null` when this process has issued none. */
  attested(): AttestationStatement | null;
  status(): AttestorStatus;
  /** The error with which the volume refused the newest envelope, or `null`: readers of the volume see an older one. */
  volumeError(): unknown;
}

/** Creates the attestor. It attests nothing until `issue` or `switchTo` is called. */
export function createAttestor(options: AttestorOptions): Attestor {
  const { releases, clock, logger } = options;
  const serial = createSerial();
  const changed = createWaiters(clock);
  const issuer = createStatementIssuer(options, () => {
    changed.notify();
  });
  const situation = datedSituation(options);
  const issue = (cause: string): Promise<number | null> => serial(() => issuer.publish(situation(), cause));
  const renewal = createRenewal({
    clock,
    logger,
    ttlSeconds: options.ttlSeconds,
    isLate: () => issuer.isLate(),
    storeLate: () =>
      serial(async () => {
        if (await issuer.storeAgain()) await issuer.publish(situation(), 'a version that was not written');
      }),
    renew: async () => {
      await issue('renewal');
      options.onRenewal?.();
    },
  });

  const switchTo = async (channel: Channel, releaseId: string): Promise<number> => {
    const target = releases.get(channel, releaseId);
    requireSwitchable(releases, releaseId, target);
    const now = unixSeconds(clock);
    const plan = planSwitch(situation(), channel, releaseId, now);
    const version = await issuer.publishChange(plan.after, `switch to ${releaseId}`, () => {
      applySwitch(options, plan, now);
    });
    if (version === null) {
      throw new TaskError('not_attestable', issuer.trouble() ?? `release ${releaseId} may not be attested`);
    }
    const reached: ReleaseFailpoint = 'release.database.current';
    options.failpoints.hit(reached);
    return version;
  };

  const announcer = createAnnouncer({ ...options, situation, issuer, switchTo });

  const withdraw = async (channel: Channel): Promise<number | null> => {
    options.database.transaction(() => {
      applyWithdrawal(releases, channel, unixSeconds(clock));
    });
    return await issuer.publish(situation(), `withdrawal of the ${channel} channel`);
  };

  return {
    current: () => issuer.issued(),
    waitForChange: async (knownVersion, timeoutMs, signal) => {
      if ((issuer.issued()?.version ?? null) !== knownVersion) return;
      await changed.wait(timeoutMs, signal);
    },
    continueFrom: (earlier, payloadSha256) => {
      issuer.continueFrom(earlier, payloadSha256);
    },
    issue,
    switchTo: (channel, releaseId) => serial(() => switchTo(channel, releaseId)),
    announce: (channel, releaseId, currentAt) =>
      serial(() => announcer.announce(channel, releaseId, currentAt)),
    restate: (announced, currentAt) => serial(() => announcer.restate(announced, currentAt)),
    switchToAnnounced: (announced) => serial(() => announcer.switchToAnnounced(announced)),
    cancelAnnouncement: (channel) => serial(() => announcer.cancelAnnouncement(channel)),
    withdraw: (channel) => serial(() => withdraw(channel)),
    startRenewal: () => {
      renewal.start();
    },
    reschedule: () => {
      renewal.reschedule();
    },
    stop: async () => {
      await renewal.stop();
      await serial(() => {
        issuer.stop();
        return Promise.resolve();
      });
    },
    volumeError: () => issuer.volumeError(),
    attested: () => issuer.issued()?.statement ?? null,
    status: () => statusOf(issuer, unixSeconds(clock)),
  };
}

/** The situation for the next attestation. A wall clock that was set back must not take anything back. */
function datedSituation(options: AttestorOptions): () => ReleaseSituation {
  const dates = createVerificationDates(options);
  return () => {
    dates.followClock();
    return situationOf(options.releases);
  };
}

/** @param now Unix seconds */
function statusOf(issuer: Pick<StatementIssuer, 'issued' | 'trouble' | 'lag'>, now: number): AttestorStatus {
  const issued = issuer.issued();
  const expired = issued !== null && issued.statement.expires_at <= now;
  const failure = issuer.trouble() ?? (expired ? 'the last attestation has expired' : null);
  if (failure !== null) return { status: 'failing', message: failure };
  const lag = issuer.lag();
  if (lag !== null) return { status: 'degraded', message: `attestations are renewed, but ${lag}` };
  return { status: 'ok', message: 'attestations are issued and renewed' };
}
