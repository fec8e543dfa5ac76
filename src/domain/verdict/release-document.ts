import type { Blake3Hex } from '../release/digest.ts';
import type { ServerInfoDocument } from '../release/server-info-document.ts';
import type { AttestedRelease } from './attestation.ts';
import type { Evidence, SnapshotEvidence } from './evidence.ts';
import { authorizedReleases } from './effective-attestation.ts';

/**
 * The server-info document of an attested release. A daemon of an earlier version does not attest the document; then it
 * is the one that the manifest names.
 *
 * @param snapshot the snapshot of the release, if it was read
 * @returns `null` when the release has none
 */
export function documentOf(
  release: AttestedRelease,
  snapshot: SnapshotEvidence | null | undefined,
): ServerInfoDocument | null {
  if (release.server_info !== undefined) return release.server_info;
  return snapshot?.manifest === 'ok' ? (snapshot.document ?? null) : null;
}

/** The documents of all releases that the attestations authorize, by digest. */
export function wantedDocuments({
  newest,
  effective,
  snapshots,
}: Pick<Evidence, 'newest' | 'effective' | 'snapshots'>): ReadonlyMap<Blake3Hex, ServerInfoDocument> {
  const documents = [newest, effective].flatMap((attestation) =>
    attestation === null
      ? []
      : authorizedReleases(attestation.statement).map((release) =>
          documentOf(release, snapshots.get(release.snapshot_id)),
        ),
  );
  return new Map(documents.flatMap((document) => (document === null ? [] : [[document.blake3, document]])));
}
