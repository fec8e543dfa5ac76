import { CHANNELS } from '../release/channel.ts';
import type { SnapshotId } from '../release/digest.ts';
import { CLOCK_SKEW_SECONDS, FAILURE_REASONS } from './attestation.ts';
import { damageFinder, type Evidence } from './evidence.ts';
import type { Reason } from './reasons.ts';
import { releaseEvidence, type Subject } from './release-evidence.ts';
import { isSameOutcome, type CheckResult, type Verdict } from './verdict.ts';
import { CHECKS } from './verdict-checks.ts';

/**
 * Decides whether a release may be served. Pure: the same evidence and the same instant give the same verdict. Nothing
 * else decides, neither for the current release of a channel nor for a retained one.
 *
 * The first check that fails decides. Later checks that have something to check run and are also reported.
 *
 * @param nowMs the one instant of this evaluation, Unix milliseconds
 */
export function evaluate(evidence: Evidence, subject: Subject, nowMs: number): Verdict {
  const found = releaseEvidence(evidence, subject);
  const checks = CHECKS.map(({ name, run }): CheckResult => {
    const finding = run(found, nowMs);
    return typeof finding === 'object' && finding !== null
      ? { name, ok: false, ...finding }
      : { name, ok: finding };
  });
  const failed = checks.find(({ ok }) => ok === false);
  const { named, statement } = found;
  const verdict: Verdict = {
    channel: subject.channel,
    distributable: failed === undefined,
    reason: failed?.reason ?? null,
    message: failed?.message ?? `release ${named?.release_id ?? ''} is attested and fully represented`,
    since: nowMs,
    release_id: named?.release_id ?? null,
    snapshot_id: named?.snapshot_id ?? null,
    attestation:
      statement === null
        ? null
        : { version: statement.version, issued_at: statement.issued_at, expires_at: statement.expires_at },
    checks,
    ...finderOf(evidence, named?.snapshot_id ?? null, failed?.reason ?? null),
  };
  const previous = evidence.verdicts[subject.channel];
  return previous !== null && isSameOutcome(previous, verdict)
    ? { ...verdict, since: previous.since }
    : verdict;
}

const DAMAGED: Readonly<Record<(typeof FAILURE_REASONS)[number], Parameters<typeof damageFinder>[2]>> = {
  SnapshotMissing: 'manifest',
  ManifestDamaged: 'manifest',
  EntryMissing: 'missing',
  EntryDamaged: 'damaged',
};

function finderOf(evidence: Evidence, snapshotId: SnapshotId | null, reason: Reason | null) {
  const known = FAILURE_REASONS.find((each) => each === reason);
  if (snapshotId === null || known === undefined) return {};
  const foundBy = damageFinder(evidence, snapshotId, DAMAGED[known]);
  return foundBy === undefined ? {} : { found_by: foundBy };
}

/** The verdicts on the current releases of all channels. */
export function evaluateChannels(evidence: Evidence, nowMs: number): Evidence['verdicts'] {
  const [official, localized] = CHANNELS.map((channel) => evaluate(evidence, { channel }, nowMs));
  return { official: official ?? null, localized: localized ?? null };
}

/**
 * The interval `[from, until)` around an instant, Unix milliseconds, in which time alone changes no verdict on any
 * release.
 */
export function steadyInterval(
  { newest, effective }: Evidence,
  nowMs: number,
): { readonly from: number; readonly until: number } {
  let [from, until] = [-Infinity, Infinity];
  for (const attestation of [newest, effective]) {
    if (attestation === null) continue;
    const { issued_at, expires_at, retained } = attestation.statement;
    const ends = retained.map(({ retained_until }) => retained_until);
    for (const seconds of [issued_at - CLOCK_SKEW_SECONDS, expires_at, ...ends]) {
      const instant = seconds * 1000;
      if (instant <= nowMs) from = Math.max(from, instant);
      else until = Math.min(until, instant);
    }
  }
  return { from, until };
}
