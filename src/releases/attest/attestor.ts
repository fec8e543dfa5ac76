import pLimit from 'p-limit';
import { RENEWALS_PER_VALIDITY, type AttestationStatement } from '../../domain/verdict/attestation.ts';
import type { Channel } from '../../domain/release/channel.ts';
import { type Clock, unixSeconds } from '../../platform/process/clock.ts';
import { pause } from '../../platform/process/pause.ts';
import type { ReleaseEvents } from '../../engine/events/release-events.ts';
import { TaskError } from '../../engine/tasks/task.ts';
import { type ReleaseSituation, isStale, situationOf } from '../records/retention-rules.ts';
import { applySwitch, applyWithdrawal, planSwitch } from '../records/switch-rules.ts';
import type { Announcement, ReleaseRepository } from '../records/release-repository.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import type { AnnouncementFailpoint, ReleaseFailpoint } from '../jobs/release-failpoints.ts';
import {
  type StatementIssuer,
  type StatementIssuerOptions,
  createStatementIssuer,
} from './statement-issuer.ts';
import { createVerificationDates } from './verification-dates.ts';
import type { EarlierVersions } from './version-counter.ts';
import { CLOCK_SHIFT_TOLERANCE_MS, measureClockShift } from '../../platform/process/clock-shift.ts';
import { createLoop } from '../../platform/process/loop.ts';

export interface AttestationSource {
  current(): { readonly version: number; readonly envelope: Buffer } | null;
  /** Resolves when the version is no longer `knownVersion`, or after `timeoutMs`, or when the signal is aborted. */
  waitForChange(knownVersion: number | null, timeoutMs: number, signal: AbortSignal): Promise<void>;
}

interface AttestorStatus {
  readonly status: 'ok' | 'degraded' | 'failing';
  readonly message: string;
}

/** Issues the attestations of one store and keeps them fresh. Times are Unix seconds. */
export interface Attestor extends AttestationSource {
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
  /**
   * Announces a release: its bytes are served under their own path, and it becomes current at the stated time. Like a switch, it changes
   * nothing if it throws before the envelope is on the volume.
   */
  announce(channel: Channel, releaseId: string, currentAt: number): Promise<number>;
  /**
   * States another time for an announced release.
   *
   * @returns the new version, or `null` when exactly this is not announced any longer
   */
  restate(announced: Announcement, currentAt: number): Promise<number | null>;
  /** Makes an announced release current, like `switchTo`; returns as `restate`. */
  switchToAnnounced(announced: Announcement): Promise<number | null>;
  /**
   * Takes the announcement of a channel back, if there is one.
   *
   * @returns the new version, or `null` when there was no announcement or nothing may be attested
   */
  cancelAnnouncement(channel: Channel): Promise<number | null>;
  startRenewal(): void;
  reschedule(): void;
  stop(): Promise<void>;
  attested(): AttestationStatement | null;
  status(): AttestorStatus;
  /** The error with which the volume refused the newest envelope, or `null`: readers of the volume see an older one. */
  volumeError(): unknown;
}

interface AttestorOptions extends StatementIssuerOptions {
  readonly events: ReleaseEvents;
  readonly onRenewal: () => void;
}

/**
 * Creates the attestor. It attests nothing until `issue` or `switchTo` is called.
 *
 * @param options.onRenewal called after each attempt to renew
 */
export function createAttestor(options: AttestorOptions): Attestor {
  const { releases, clock } = options;
  const serial = pLimit(1);
  const waiting = new Set<() => void>();
  const issuer = createStatementIssuer(options, () => {
    for (const wake of waiting) wake();
  });
  const dates = createVerificationDates(options);
  const situation = (): ReleaseSituation => {
    // A wall clock that was set back must not take anything back.
    dates.followClock();
    return situationOf(releases);
  };
  const issue = (cause: string): Promise<number | null> => serial(() => issuer.publish(situation(), cause));
  const storeLate = (): Promise<void> =>
    serial(async () => {
      if (await issuer.storeAgain()) await issuer.publish(situation(), 'a version that was not written');
    });
  const renewal = createRenewal(options, issuer, storeLate, async () => {
    await issue('renewal');
    options.onRenewal();
  });

  const { switchTo, announce, isAnnounced, cancelAnnouncement, withdraw } = createChanges(
    options,
    issuer,
    situation,
  );

  return {
    current: issuer.issued,
    waitForChange: async (knownVersion, timeoutMs, signal) => {
      if ((issuer.issued()?.version ?? null) === knownVersion)
        await nextWake(waiting, clock, timeoutMs, signal);
    },
    continueFrom: issuer.continueFrom,
    issue,
    switchTo: (channel, releaseId) => serial(() => switchTo(channel, releaseId)),
    announce: (channel, releaseId, currentAt) => serial(() => announce(channel, releaseId, currentAt)),
    restate: (announced, currentAt) =>
      serial(async () =>
        isAnnounced(announced) ? await announce(announced.channel, announced.release_id, currentAt) : null,
      ),
    switchToAnnounced: (announced) =>
      serial(async () =>
        isAnnounced(announced) ? await switchTo(announced.channel, announced.release_id) : null,
      ),
    cancelAnnouncement: (channel) => serial(() => cancelAnnouncement(channel)),
    withdraw: (channel) => serial(() => withdraw(channel)),
    startRenewal: renewal.start,
    reschedule: renewal.reschedule,
    stop: async () => {
      await renewal.stop();
      await serial(issuer.stop);
    },
    volumeError: issuer.volumeError,
    attested: () => issuer.issued()?.statement ?? null,
    status: () => statusOf(issuer, unixSeconds(clock)),
  };
}

/** The changes of the current and announced releases. Calls must not overlap. */
function createChanges(
  { releases, clock, database, events, failpoints }: AttestorOptions,
  issuer: StatementIssuer,
  situation: () => ReleaseSituation,
) {
  const requireAttested = (version: number | null, releaseId: string): number => {
    if (version !== null) return version;
    throw new TaskError('not_attestable', issuer.trouble() ?? `release ${releaseId} may not be attested`);
  };

  const switchTo = async (channel: Channel, releaseId: string): Promise<number> => {
    requireSwitchable(releases, releaseId, releases.get(channel, releaseId));
    const now = unixSeconds(clock);
    const plan = planSwitch(situation(), channel, releaseId, now);
    const published = await issuer.publishChange(plan.after, `switch to ${releaseId}`, () => {
      applySwitch({ releases, events }, plan, now);
    });
    const version = requireAttested(published, releaseId);
    failpoints.hit('release.database.current' satisfies ReleaseFailpoint);
    return version;
  };

  const announce = async (channel: Channel, releaseId: string, currentAt: number): Promise<number> => {
    const target = releases.get(channel, releaseId);
    requireSwitchable(releases, releaseId, target);
    const before = situation();
    const announcement = { channel, release_id: target.release_id, current_at: currentAt };
    const announced = [...before.announced.filter((one) => one.channel !== channel), announcement];
    const published = await issuer.publishChange(
      { ...before, announced },
      `announcement of ${releaseId}`,
      () => {
        releases.setAnnounced(channel, releaseId, currentAt);
      },
    );
    const version = requireAttested(published, releaseId);
    failpoints.hit('release.database.announced' satisfies AnnouncementFailpoint);
    return version;
  };

  const isAnnounced = ({ channel, release_id: id, current_at: at }: Announcement): boolean => {
    const announced = releases.announcedOf(channel);
    return announced?.release_id === id && announced.current_at === at;
  };

  const cancelAnnouncement = async (channel: Channel): Promise<number | null> => {
    if (releases.announcedOf(channel) === null) return null;
    releases.clearAnnounced(channel);
    failpoints.hit('release.announcement.cancelled' satisfies AnnouncementFailpoint);
    return await issuer.publish(situation(), `end of the announcement of the ${channel} channel`);
  };

  const withdraw = async (channel: Channel): Promise<number | null> => {
    database.transaction(() => {
      applyWithdrawal(releases, channel, unixSeconds(clock));
    });
    return await issuer.publish(situation(), `withdrawal of the ${channel} channel`);
  };

  return { switchTo, announce, isAnnounced, cancelAnnouncement, withdraw };
}

/** Resolves when one of the waiting functions is called, after `timeoutMs`, or when the signal is aborted. */
async function nextWake(
  waiting: Set<() => void>,
  clock: Clock,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  const woken = new AbortController();
  const wake = (): void => woken.abort();
  waiting.add(wake);
  try {
    await pause(clock, timeoutMs, AbortSignal.any([signal, woken.signal]));
  } finally {
    waiting.delete(wake);
  }
}

/** @param now Unix seconds */
function statusOf(issuer: StatementIssuer, now: number): AttestorStatus {
  const issued = issuer.issued();
  const expired = issued !== null && issued.statement.expires_at <= now;
  const failure = issuer.trouble() ?? (expired ? 'the last attestation has expired' : null);
  if (failure !== null) return { status: 'failing', message: failure };
  const lag = issuer.lag();
  if (lag !== null) return { status: 'degraded', message: `attestations are renewed, but ${lag}` };
  return { status: 'ok', message: 'attestations are issued and renewed' };
}

/**
 * Refuses releases that must not become current.
 *
 * @throws TaskError `release_damaged`, `base_mismatch`
 */
function requireSwitchable(
  releases: ReleaseRepository,
  releaseId: string,
  target: ReleaseRow | null,
): asserts target is ReleaseRow {
  if (target === null || !['verified', 'current', 'superseded'].includes(target.state)) {
    throw new TaskError(
      'release_damaged',
      `release ${releaseId} cannot become current: it is ${target?.state ?? 'not registered'}`,
      { retryable: target?.state === 'damaged' },
    );
  }
  const officialId = releases.pointer('official')?.release_id ?? null;
  if (isStale(target, officialId)) {
    throw new TaskError(
      'base_mismatch',
      `localized release ${releaseId} was made for ${target.base_release_id ?? 'no release'}, and the current official one is ${officialId ?? 'none'}`,
    );
  }
}

/** Milliseconds between two checks of the wall clock: a shift makes the attestation invalid for at most this long. */
const CLOCK_CHECK_MS = 2000;

function createRenewal(
  { clock, logger, ttlSeconds }: AttestorOptions,
  issuer: StatementIssuer,
  storeLate: () => Promise<void>,
  renew: () => Promise<void>,
) {
  const regularMs = (): number => (ttlSeconds() * 1000) / RENEWALS_PER_VALIDITY;
  let dueAt = 0;
  let shiftMs = measureClockShift(clock);

  const loop = createLoop({
    clock,
    turn: async () => {
      const shift = shiftMs();
      const isShifted = Math.abs(shift) > CLOCK_SHIFT_TOLERANCE_MS;
      const left = dueAt - clock.monotonic();
      if (left > 0 && !isShifted) {
        if (issuer.isLate()) await storeLate();
        return Math.min(left, CLOCK_CHECK_MS);
      }
      if (isShifted)
        logger.warn(
          { shift_seconds: Math.round(shift / 1000) },
          'the wall clock was moved; renewing the attestation',
        );
      const shiftSinceRenewal = measureClockShift(clock);
      await renew();
      shiftMs = shiftSinceRenewal;
      dueAt = clock.monotonic() + regularMs();
      return Math.min(regularMs(), CLOCK_CHECK_MS);
    },
    onFailure: (error) => {
      logger.error({ err: error }, 'the attestation could not be renewed; retrying soon');
      return regularMs() / 4;
    },
  });

  return {
    start: () => {
      dueAt = clock.monotonic() + regularMs();
      loop.start();
    },
    reschedule: () => {
      dueAt = clock.monotonic() + regularMs();
      loop.wake();
    },
    stop: async () => await loop.stop(),
  };
}
