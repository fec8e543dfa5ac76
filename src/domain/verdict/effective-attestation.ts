import { CHANNELS, type Channel } from '../release/channel.ts';
import type { SnapshotId } from '../release/digest.ts';
import type { AttestationStatement, AttestedRelease, VerifiedAttestation } from './attestation.ts';
import type { Evidence } from './evidence.ts';

type Attestations = Evidence;

/**
 * The attestation that answers for a channel now. It is the effective one, which may be older than the newest while the
 * releases of the newest are read; but a release that the newest one withdraws is withdrawn immediately.
 */
export function attestationFor(evidence: Attestations, channel: Channel): VerifiedAttestation | null {
  return isWithdrawn(evidence, channel) ? evidence.newest : evidence.effective;
}

/** Whether the newest attestation takes a channel's release away that the effective one authorizes. */
function isWithdrawn(evidence: Attestations, channel: Channel): boolean {
  const { effective, newest, isContiguous } = evidence;
  if (effective === null || newest === null || effective === newest) return false;
  const before = effective.statement[channel];
  const after = newest.statement[channel];
  if (after === null || after.result !== 'PASSED') return true;
  if (channel === 'localized' && isWithdrawn(evidence, 'official')) return true;
  return before !== null && !isContiguous && !isNamed(newest.statement, before);
}

/** Whether a statement authorizes this release, as current or retained. */
export function isNamed(statement: AttestationStatement, release: AttestedRelease): boolean {
  return authorizedReleases(statement).some(
    ({ release_id, snapshot_id }) => release_id === release.release_id && snapshot_id === release.snapshot_id,
  );
}

/** Every release that a statement names, with its channel, current ones first. */
export function namedReleases(
  statement: AttestationStatement,
): ReadonlyArray<{ readonly channel: Channel; readonly release: AttestedRelease }> {
  const current = CHANNELS.flatMap((channel) => {
    const release = statement[channel];
    return release === null ? [] : [{ channel, release }];
  });
  return [...current, ...statement.retained.map((release) => ({ channel: release.channel, release }))];
}

/** Every release of a statement that passed its verification, current ones first. */
export function authorizedReleases(statement: AttestationStatement): readonly AttestedRelease[] {
  return namedReleases(statement)
    .map(({ release }) => release)
    .filter(({ result }) => result === 'PASSED');
}

/** The snapshots that must be read for the evidence to be complete, most urgent first. */
export function wantedSnapshots({ newest, effective }: Attestations): ReadonlySet<SnapshotId> {
  return new Set(
    [newest, effective].flatMap((attestation) =>
      attestation === null
        ? []
        : authorizedReleases(attestation.statement).map(({ snapshot_id }) => snapshot_id),
    ),
  );
}
