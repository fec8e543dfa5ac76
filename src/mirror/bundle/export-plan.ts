import type { NamedSnapshot } from '../../contract/formats/bundle-format.ts';
import type { SnapshotId } from '../../domain/release/digest.ts';
import type { ReleaseId } from '../../domain/release/release-id.ts';
import { loadManifest } from '../../snapshot/manifest/manifest-loader.ts';
import type { ManifestIndex } from '../../snapshot/manifest/manifest-index.ts';
import { ObjectLedger } from '../../snapshot/objects/object-ledger.ts';
import { BundleError } from './bundle-error.ts';
import { findRelease, findSnapshot } from './find-release.ts';

/** The content of the bundle of a release. */
export interface ExportPlan {
  readonly root: string;
  readonly release: NamedSnapshot;
  readonly envelope: Buffer;
  /** The release whose objects are left out, or `null`. */
  readonly since: NamedSnapshot | null;
  readonly objects: ObjectLedger;
  readonly bytes: number;
}

/**
 * Plans the bundle of a release.
 *
 * @param since a release that the reader of the bundle has, or `null` for a bundle that is whole
 * @throws BundleError; SnapshotFault when a manifest is missing or damaged; the file system error; the signal's reason
 */
export async function planExport(
  root: string,
  releaseId: ReleaseId,
  since: ReleaseId | null,
  signal: AbortSignal,
): Promise<ExportPlan> {
  if (since === releaseId)
    throw new BundleError('--since: the release to export and the one to leave out are the same');
  const { release, attested, envelope } = await findRelease(root, releaseId);
  const load = async (snapshotId: SnapshotId): Promise<ManifestIndex> =>
    (await loadManifest({ root, snapshotId, checkObjects: false, signal })).index;

  const before = new ObjectLedger();
  const left = since === null ? null : await findSnapshot(root, since);
  if (left !== null) collect(await load(left.snapshot_id), before, null);

  const index = await load(release.snapshot_id);
  const objects = new ObjectLedger();
  const document = attested.server_info;
  // The document of an incremental bundle is always in it: no manifest says which document a release had.
  if (document !== null) objects.add(document.blake3, document.size);
  const bytes = (document?.size ?? 0) + collect(index, objects, before);
  return { root, release, envelope, since: left, objects, bytes };
}

/** Adds the objects of a manifest that `without` does not have. @returns the sum of the sizes of those added, bytes */
function collect(index: ManifestIndex, into: ObjectLedger, without: ObjectLedger | null): number {
  let bytes = 0;
  for (let position = 0; position < index.length; position += 1) {
    const blake3 = index.blake3(position);
    if (into.find(blake3) >= 0 || (without !== null && without.find(blake3) >= 0)) continue;
    bytes += index.size(position);
    into.add(blake3, index.size(position));
  }
  return bytes;
}
