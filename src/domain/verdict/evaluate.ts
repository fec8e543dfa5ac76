import { authorizedRelease, type CheckResult, type Evidence, type Verdict } from './verdict.ts';
import { CHECKS } from './verdict-checks.ts';

/**
 * Decides whether bytes of a channel may leave. Pure: the same evidence and the same instant give the same verdict.
 *
 * Every check runs and is reported; the first that fails decides.
 *
 * @param evidence what is known
 * @param nowMs the one instant of this evaluation, Unix milliseconds
 */
export function evaluate(evidence: Evidence, nowMs: number): Verdict {
  const checks: CheckResult[] = CHECKS.map((check) => {
    const finding = check.run(evidence, nowMs);
    return finding === null ? { name: check.name, ok: true } : { name: check.name, ok: false, ...finding };
  });
  const failed = checks.find((check) => !check.ok);
  const release = authorizedRelease(evidence);
  const statement = evidence.attestation.accepted?.statement ?? null;
  const state = {
    channel: evidence.channel,
    distributable: failed === undefined,
    reason: failed?.reason ?? null,
    message: failed?.message ?? `release ${release?.release_id ?? ''} is attested and fully represented`,
    release_id: release?.release_id ?? null,
    snapshot_id: release?.snapshot_id ?? null,
  };
  const { previous } = evidence;
  const unchanged =
    previous !== null &&
    previous.distributable === state.distributable &&
    previous.reason === state.reason &&
    previous.release_id === state.release_id;
  return {
    ...state,
    since: unchanged ? previous.since : nowMs,
    attestation:
      statement === null
        ? null
        : { version: statement.version, issued_at: statement.issued_at, expires_at: statement.expires_at },
    checks,
  };
}
