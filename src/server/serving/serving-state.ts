import type { AttestedRelease } from '../../domain/verdict/attestation.ts';
import { CHANNELS, type Channel } from '../../domain/release/channel.ts';
import type { SnapshotId } from '../../domain/release/digest.ts';
import { attestationFor, isNamed, releasesOf, type AttestationChoice } from './attestation-choice.ts';
import type { ServedRelease, ServingState } from './serving.ts';
import type { BoundSnapshot } from './snapshot-binder.ts';

/** A state in which nothing is served. */
export const NOTHING_SERVED: ServingState = {
  generation: 0,
  current: { official: null, localized: null },
  byReleaseId: new Map(),
  pendingReleaseIds: new Set(),
};

/**
 * Puts together what is served: for each channel the release that its attestation names, and the retained ones, as far
 * as their manifests are loaded. The cost grows with the number of releases, not of entries.
 */
export function buildServingState(
  generation: number,
  choice: AttestationChoice,
  boundSnapshot: (snapshotId: SnapshotId) => BoundSnapshot | null,
): ServingState {
  const byReleaseId = new Map<string, ServedRelease>();

  const serve = (
    attested: AttestedRelease | null,
    channel: Channel,
    role: ServedRelease['role'],
  ): ServedRelease | null => {
    if (attested?.result !== 'PASSED') return null;
    const index = boundSnapshot(attested.snapshot_id)?.index ?? null;
    if (index === null || index.header.release_id !== attested.release_id || index.header.channel !== channel)
      return null;
    return {
      channel,
      role,
      releaseId: attested.release_id,
      snapshotId: attested.snapshot_id,
      attested,
      index,
    };
  };

  const { effective, newest } = choice;
  for (const retained of effective?.statement.retained ?? []) {
    const release = serve(retained, retained.channel, 'retained');
    const authorized = newest === effective || (newest !== null && isNamed(newest.statement, retained));
    if (release !== null && authorized) byReleaseId.set(release.releaseId, release);
  }
  const current: Record<Channel, ServedRelease | null> = { official: null, localized: null };
  for (const channel of CHANNELS) {
    const statement = attestationFor(choice, channel)?.statement;
    const release = serve(statement?.[channel] ?? null, channel, 'current');
    current[channel] = release;
    if (release !== null) byReleaseId.set(release.releaseId, release);
  }
  const named = newest === null ? [] : releasesOf(newest.statement).map(({ release_id }) => release_id);
  const pendingReleaseIds = new Set(named.filter((releaseId) => !byReleaseId.has(releaseId)));
  return { generation, current, byReleaseId, pendingReleaseIds };
}

/** Whether two states serve the same bytes under the same names with the same metadata, so that no switch is needed. */
export function isSameState(left: ServingState, right: ServingState): boolean {
  if (left.byReleaseId.size !== right.byReleaseId.size) return false;
  if (left.pendingReleaseIds.symmetricDifference(right.pendingReleaseIds).size > 0) return false;
  if (CHANNELS.some((channel) => left.current[channel]?.releaseId !== right.current[channel]?.releaseId))
    return false;
  for (const [releaseId, release] of left.byReleaseId) {
    const other = right.byReleaseId.get(releaseId);
    if (other === undefined || !isSameRelease(release, other)) return false;
  }
  return true;
}

function isSameRelease(left: ServedRelease, right: ServedRelease): boolean {
  return (
    left.index === right.index &&
    left.role === right.role &&
    left.channel === right.channel &&
    JSON.stringify(left.attested) === JSON.stringify(right.attested)
  );
}
