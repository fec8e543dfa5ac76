import type {
  AttestationStatement,
  AttestedRelease,
  VerifiedAttestation,
} from '../../domain/verdict/attestation.ts';
import { CHANNELS, type Channel } from '../../domain/release/channel.ts';

/** Which attestation answers for which channel while the releases of a newer one are still being read. */
export interface AttestationChoice {
  /** The one whose releases are served. */
  readonly effective: VerifiedAttestation | null;
  /** The newest accepted one; differs from `effective` only while its releases are being read. */
  readonly newest: VerifiedAttestation | null;
  /** No version between the two was skipped, so an unnamed release was superseded, not withdrawn in between. */
  readonly unbroken: boolean;
}

/** Nothing accepted. */
export const NO_ATTESTATION: AttestationChoice = { effective: null, newest: null, unbroken: true };

/**
 * Takes a newly accepted attestation in.
 *
 * @param held whether the older one may go on answering until the releases of the new one are read
 */
export function chooseAttestation(
  choice: AttestationChoice,
  newest: VerifiedAttestation | null,
  held: (next: AttestationChoice) => boolean,
): AttestationChoice {
  if (newest === null) return NO_ATTESTATION;
  const next = {
    effective: choice.effective,
    newest,
    unbroken:
      newest === choice.newest
        ? choice.unbroken
        : choice.unbroken &&
          choice.newest !== null &&
          newest.statement.version === choice.newest.statement.version + 1,
  };
  if (next.effective !== null && next.effective !== newest && held(next)) return next;
  return { effective: newest, newest, unbroken: true };
}

/**
 * Whether the newest attestation takes a channel's release away that the effective one authorizes. That holds at
 * once, however long the next release takes to be read.
 */
export function isWithdrawn(choice: AttestationChoice, channel: Channel): boolean {
  const { effective, newest, unbroken } = choice;
  if (effective === null || newest === null || effective === newest) return false;
  const before = effective.statement[channel];
  const after = newest.statement[channel];
  if (after === null || after.result !== 'PASSED') return true;
  if (channel === 'localized' && isWithdrawn(choice, 'official')) return true;
  return before !== null && !unbroken && !isNamed(newest.statement, before);
}

/** The attestation that answers for a channel now. */
export function attestationFor(choice: AttestationChoice, channel: Channel): VerifiedAttestation | null {
  return isWithdrawn(choice, channel) ? choice.newest : choice.effective;
}

/** Whether a statement still authorizes this release, as current or retained. */
export function isNamed(statement: AttestationStatement, release: AttestedRelease): boolean {
  const named: readonly (AttestedRelease | null)[] = [
    statement.official,
    statement.localized,
    ...statement.retained,
  ];
  return named.some(
    (candidate) =>
      candidate?.result === 'PASSED' &&
      candidate.release_id === release.release_id &&
      candidate.snapshot_id === release.snapshot_id,
  );
}

/** Every release of a statement that may be served, current ones first. */
export function releasesOf(statement: AttestationStatement): readonly AttestedRelease[] {
  const current = CHANNELS.map((channel) => statement[channel]);
  return [...current, ...statement.retained].filter(
    (release): release is AttestedRelease => release?.result === 'PASSED',
  );
}
