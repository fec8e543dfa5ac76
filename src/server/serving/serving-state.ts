import { CHANNELS } from '../../domain/release/channel.ts';
import type { SnapshotId } from '../../domain/release/digest.ts';
import type { AttestationStatement } from '../../domain/verdict/attestation.ts';
import type { Evidence } from '../../domain/verdict/evidence.ts';
import { isManifestOf, releaseEvidence, type Subject } from '../../domain/verdict/release-evidence.ts';
import type { ManifestIndex } from '../../snapshot/manifest/manifest-index.ts';
import type { PendingRelease, ServedRelease, ServingState } from './serving.ts';

/** A state in which nothing is served. */
export const NOTHING_SERVED: ServingState = {
  generation: 0,
  current: { official: null, localized: null },
  byReleaseId: new Map(),
  pending: new Map(),
};

/**
 * The state that follows from the evidence: for each channel, the release that its attestation names and the retained
 * ones, if their manifests are loaded. The cost grows with the number of releases, not of entries.
 *
 * @returns `state` itself when the same bytes are served under the same names with the same metadata
 */
export function nextServingState(
  state: ServingState,
  evidence: Evidence,
  indexOf: (snapshotId: SnapshotId) => ManifestIndex | null,
): ServingState {
  const serve = (subject: Subject): ServedRelease | null => {
    const { authorized } = releaseEvidence(evidence, subject);
    if (authorized === null) return null;
    const snapshot = evidence.snapshots.get(authorized.snapshot_id);
    const index = indexOf(authorized.snapshot_id);
    if (index === null || snapshot?.manifest !== 'ok' || !isManifestOf(snapshot, subject, authorized))
      return null;
    return {
      channel: subject.channel,
      role: subject.release === undefined ? 'current' : 'retained',
      releaseId: authorized.release_id,
      snapshotId: authorized.snapshot_id,
      attested: authorized,
      currentSince: 'current_since' in authorized ? authorized.current_since : null,
      document: authorized.server_info,
      index,
    };
  };

  const { effective, newest } = evidence;
  const retained = effective?.statement.retained ?? [];
  const current = { official: serve({ channel: 'official' }), localized: serve({ channel: 'localized' }) };
  // A release that is both current and retained is served as the current one.
  const served = [
    ...retained.map((release) => serve({ channel: release.channel, release })),
    ...CHANNELS.map((channel) => current[channel]),
  ];
  const byReleaseId = new Map(
    served.flatMap((release) => (release === null ? [] : [[release.releaseId, release]])),
  );
  const named = newest === null ? [] : namedReleases(newest.statement);
  const pending = new Map(
    named.flatMap((release) => (byReleaseId.has(release.releaseId) ? [] : [[release.releaseId, release]])),
  );
  const next = { generation: state.generation + 1, current, byReleaseId, pending };
  return isSameState(state, next) ? state : next;
}

function namedReleases(statement: AttestationStatement): readonly PendingRelease[] {
  const current = CHANNELS.flatMap((channel) => {
    const release = statement[channel];
    return release === null ? [] : [{ ...release, channel }];
  });
  return [...statement.retained, ...current].map(({ channel, release_id, snapshot_id }) => ({
    role: 'pending',
    channel,
    releaseId: release_id,
    snapshotId: snapshot_id,
  }));
}

function isSameState(left: ServingState, right: ServingState): boolean {
  if (left.byReleaseId.size !== right.byReleaseId.size) return false;
  if (new Set(left.pending.keys()).symmetricDifference(right.pending).size > 0) return false;
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
