/** Exit codes of `slipway verify`. */
export const VERIFY_EXITS = {
  ok: 0,
  damaged: 1,
  usage: 2,
  /** All that was looked at is sound, and something could not be looked at. */
  incomplete: 3,
  /** A mirror gave no attestation, so nothing of it could be looked at. */
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
