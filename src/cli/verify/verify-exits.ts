import type { MirrorReport } from './mirror/mirror-report.ts';

/** Exit codes of `slipway verify`. */
export const VERIFY_EXITS = {
  ok: 0,
  damaged: 1,
  usage: 2,
  /** All that was checked is sound, and something could not be checked. */
  incomplete: 3,
  /** A mirror gave no attestation or withholds a release, so files could not be checked; or `--timeout` expired. */
  unchecked: 4,
} as const;

/** What each exit code means, for the help; `docs/how-to/check-a-mirror.md` has the same. */
export const VERIFY_EXIT_MEANINGS: ReadonlyArray<readonly [string, string]> = [
  [String(VERIFY_EXITS.ok), 'everything that was checked is sound'],
  [
    String(VERIFY_EXITS.damaged),
    'something is damaged or missing, the attestation is not acceptable, the mirror of --against has another release, or the volume cannot be read',
  ],
  [String(VERIFY_EXITS.usage), 'wrong arguments'],
  [
    String(VERIFY_EXITS.incomplete),
    'all that was checked is sound, but a localized release could not be compared with its base, or a mirror with --against, or a static mirror has an expired attestation, and no --against shows that its release is current, or its release.json is of another release',
  ],
  [
    String(VERIFY_EXITS.unchecked),
    'a mirror could not be checked: it does not answer, is neither a Slipway nor a static mirror, refuses the request, has no attestation yet, serves no release or withholds one now, or --timeout expired; damage found before gives 1',
  ],
];

/** The exit code of a report that has an attestation to go by. */
export function exitCodeOf({ sound, complete }: { sound: boolean; complete: boolean }): number {
  if (!sound) return VERIFY_EXITS.damaged;
  return complete ? VERIFY_EXITS.ok : VERIFY_EXITS.incomplete;
}

/**
 * The exit code of a report on a mirror. Damage that was found counts even if `--timeout` expired. A mirror without a release
 * serves no file that could be read.
 */
export function exitCodeOfMirror(report: MirrorReport): number {
  if (report.attestation.status === 'not_checked') return VERIFY_EXITS.unchecked;
  const isWithheld = report.releases.some(({ withheld }) => withheld !== null);
  const isUnchecked = report.timed_out || isWithheld || report.releases.length === 0;
  return report.sound && isUnchecked ? VERIFY_EXITS.unchecked : exitCodeOf(report);
}
