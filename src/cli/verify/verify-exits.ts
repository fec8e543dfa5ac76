import type { MirrorReport } from './mirror/mirror-report.ts';

/** Exit codes of `slipway verify`. */
export const VERIFY_EXITS = {
  ok: 0,
  damaged: 1,
  usage: 2,
  /** All that was checked is sound, and something could not be checked. */
  incomplete: 3,
  /** A mirror is not a Slipway, gave no attestation or serves no release, so no file could be checked; or `--timeout` expired. */
  unchecked: 4,
} as const;

/** The exit code of a report that has an attestation to go by. */
export function exitCodeOf({
  sound,
  complete,
}: {
  readonly sound: boolean;
  readonly complete: boolean;
}): number {
  if (!sound) return VERIFY_EXITS.damaged;
  return complete ? VERIFY_EXITS.ok : VERIFY_EXITS.incomplete;
}

/**
 * The exit code of a report on a mirror. Damage that was found counts even if `--timeout` expired. A mirror without a release
 * serves no file that could be read.
 */
export function exitCodeOfMirror(report: MirrorReport): number {
  if (report.attestation.status === 'not_checked') return VERIFY_EXITS.unchecked;
  const isUnchecked = report.timed_out || report.releases.length === 0;
  return report.sound && isUnchecked ? VERIFY_EXITS.unchecked : exitCodeOf(report);
}
