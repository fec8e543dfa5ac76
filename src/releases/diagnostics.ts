import { instant } from '../domain/instant.ts';
import type { ReleaseParts } from './release-parts.ts';
import type { SyncState } from './sync/sync-state.ts';
import { isInFuture } from '../domain/verdict/attestation.ts';
import { unixSeconds, type Clock } from '../platform/process/clock.ts';
import type { UpstreamAdapter } from '../upstream/upstream.ts';
import type { ProbeResult } from './records/probe-repository.ts';
import { describeTrouble, type OriginTrouble } from './mirror/origin-trouble.ts';
import type { ReleaseRow } from './records/release-row.ts';
import type { ReleaseRepository } from './records/release-repository.ts';
import type { RepairAttempts } from './records/repair-attempts.ts';
import { describeFailure, failureOf } from './records/release-failure.ts';

export interface ReleaseDiagnosis {
  readonly id: 'attestation' | 'upstream' | 'sync' | 'verification';
  readonly status: 'ok' | 'degraded' | 'failing';
  readonly message: string;
  /** When this status began, Unix seconds, if it is known. */
  readonly since?: number;
  /** False while nothing has happened that it judges. */
  readonly evaluated?: boolean;
}

/** The release findings of the doctor report. Uses only facts already known and waits for nothing. */
export function diagnoseReleases(
  parts: ReleaseParts,
  adapter: UpstreamAdapter | null,
  {
    sync,
    trouble,
    shortAge,
  }: {
    readonly sync: SyncState;
    readonly trouble: OriginTrouble | null;
    /** Why the limit on the age of attestations of the origin is too short; `null` where it is not. */
    readonly shortAge: string | null;
  },
): readonly ReleaseDiagnosis[] {
  const probe = parts.probes.list().find(({ label }) => label === adapter?.label) ?? null;
  return [
    { id: 'attestation', ...parts.attestor.status() },
    trouble === null
      ? warnedOf(shortAge, upstreamDiagnosis(adapter, probe))
      : originDiagnosis(trouble, upstreamDiagnosis(adapter, probe), unixSeconds(parts.clock)),
    syncDiagnosis(sync, {
      hasRelease: parts.releases.current('official') !== null,
      probe,
      now: unixSeconds(parts.clock),
    }),
    verificationDiagnosis(parts),
  ];
}

function upstreamDiagnosis(adapter: UpstreamAdapter | null, last: ProbeResult | null): ReleaseDiagnosis {
  if (adapter === null) {
    return {
      id: 'upstream',
      status: 'degraded',
      message: 'no upstream is configured; nothing can be synced',
    };
  }
  if (last === null) {
    const message = `${adapter.label} has not been contacted yet`;
    return { id: 'upstream', status: 'ok', message, evaluated: false };
  }
  const when = instant(last.checkedAt);
  return {
    id: 'upstream',
    status: last.ok ? 'ok' : 'degraded',
    message: `${last.message.startsWith(adapter.label) ? '' : `${adapter.label}: `}${last.message} (${when})`,
  };
}

function warnedOf(warning: string | null, diagnosis: ReleaseDiagnosis): ReleaseDiagnosis {
  if (warning === null) return diagnosis;
  return { ...diagnosis, status: 'degraded', message: `${warning}. ${diagnosis.message}` };
}

/** An edge serves what it has for some time without its origin, and then nothing. */
function originDiagnosis(
  trouble: OriginTrouble,
  { message: last }: ReleaseDiagnosis,
  now: number,
): ReleaseDiagnosis {
  return {
    id: 'upstream',
    status: trouble.servedUntil !== null && trouble.servedUntil > now ? 'degraded' : 'failing',
    message: `${describeTrouble(trouble, now)}. The last poll: ${last}`,
    since: trouble.since,
  };
}

function syncDiagnosis(
  {
    report: { last, next_at: nextAt, consecutive_failures: failures },
    failingSince,
    retriedCode,
    wait,
  }: SyncState,
  {
    hasRelease,
    probe,
    now,
  }: { readonly hasRelease: boolean; readonly probe: ProbeResult | null; readonly now: number },
): ReleaseDiagnosis {
  const next = nextAt === null ? 'none is planned' : `the next one starts at ${instant(nextAt)}`;
  if (wait !== null) {
    const message = `a sync waits for upstream until ${instant(wait.until / 1000)}: ${wait.why}`;
    return { id: 'sync', status: hasRelease ? 'ok' : 'degraded', message };
  }
  if (last === null && probe !== null && !probe.ok) {
    // The first sync repeats its request for a while before it fails.
    return {
      id: 'sync',
      status: 'degraded',
      message: `the first sync does not get through: ${probe.message}; ${next}`,
    };
  }
  if (last === null)
    return { id: 'sync', status: 'ok', message: `no sync has ended yet; ${next}`, evaluated: false };
  const end = instant(last.finished_at);
  if (isInFuture(last.finished_at, now)) {
    const message = `the last sync is dated in the future (${end}), so its age is not known; see the check clock; ${next}`;
    return { id: 'sync', status: 'degraded', message };
  }
  if (failures > 0 && failingSince !== null) {
    const count = failures === 1 ? 'the last sync failed' : `${failures} syncs in a row failed, the last`;
    return {
      id: 'sync',
      status: hasRelease ? 'degraded' : 'failing',
      message: `${count} at ${end}: ${last.message ?? last.status} (${last.code ?? last.status}); ${next}`,
      since: failingSince,
    };
  }
  const retried =
    retriedCode === null ? '' : ` (an attempt failed: ${probe?.ok === false ? probe.message : retriedCode})`;
  return { id: 'sync', status: 'ok', message: `${last.result ?? last.status} at ${end}; ${next}${retried}` };
}

function verificationDiagnosis({ releases, attempts, clock, configuration }: ReleaseParts): ReleaseDiagnosis {
  const damaged = damageDiagnosis(releases, (release) =>
    configuration().automaticRepair ? repairState(attempts, release, clock) : 'Run repair.',
  );
  if (damaged !== null) return damaged;
  const official = releases.current('official');
  if (official === null) {
    return {
      id: 'verification',
      status: 'degraded',
      message: 'there is no current official release; run sync',
    };
  }
  const now = unixSeconds(clock);
  if (official.verified_at !== null && isInFuture(official.verified_at, now)) {
    return {
      id: 'verification',
      status: 'degraded',
      message: `the last full verification of release ${official.release_id} is dated in the future (${instant(official.verified_at)}), so it does not count; see the check clock, then run verify`,
    };
  }
  const age = now - (official.verified_at ?? 0);
  const oldAfter = Math.floor(configuration().maxVerifyAgeSeconds / 2);
  const old = age > oldAfter;
  return {
    id: 'verification',
    status: old ? 'degraded' : 'ok',
    ...(old && official.verified_at !== null ? { since: official.verified_at + oldAfter } : {}),
    message:
      official.verified_at === null
        ? `release ${official.release_id} was never fully verified; run verify`
        : `release ${official.release_id} was last fully verified at ${instant(official.verified_at)}`,
  };
}

/**
 * Names the first damaged release, current ones first; `null` when none is damaged.
 *
 * @param adviceOn says what happens to the damage of a release, or what to do
 */
function damageDiagnosis(
  releases: ReleaseRepository,
  adviceOn: (release: ReleaseRow) => string,
): ReleaseDiagnosis | null {
  const damaged = releases.kept().filter((release) => release.state === 'damaged');
  const current = damaged.find(
    (release) => releases.pointer(release.channel)?.release_id === release.release_id,
  );
  const first = current ?? damaged[0];
  if (first === undefined) return null;
  const others = damaged.length - 1;
  const also =
    others === 0 ? '' : ` ${others} other ${others === 1 ? 'release is' : 'releases are'} also damaged.`;
  return {
    id: 'verification',
    status: current === undefined ? 'degraded' : 'failing',
    message: `${describeFailure(first, failureOf(releases, first))}.${also} ${adviceOn(first)}`,
  };
}

function repairState(attempts: RepairAttempts, release: ReleaseRow, clock: Clock): string {
  const failed = attempts.lastFailureOf(release);
  if (failed === null) {
    const waitsUntil = attempts.nextAtMs() ?? 0;
    if (waitsUntil <= clock.now()) return 'It is being repaired.';
    return `It was repaired before and is damaged again; the next repair is at ${instant(waitsUntil / 1000)}.`;
  }
  const of = failed.destination === null ? '' : ` of ${failed.destination}`;
  return `The last repair${of} failed at ${instant(failed.tried_at)}: ${failed.problem}; the next one is at ${instant(failed.next_at_ms / 1000)}.`;
}
