import type { NamedSnapshot } from '../../contract/formats/bundle-format.ts';
import type { ReleaseId } from '../../domain/release/release-id.ts';
import type { ServerInfoDocument } from '../../domain/release/server-info-document.ts';
import { loadManifest } from '../../snapshot/manifest/manifest-loader.ts';
import type { ManifestIndex } from '../../snapshot/manifest/manifest-index.ts';
import { findRelease } from '../bundle/find-release.ts';

/** The content of the static mirror of a release. */
export interface StaticPlan {
  /** The snapshot store. */
  readonly root: string;
  readonly release: NamedSnapshot;
  readonly envelope: Buffer;
  readonly serverInfo: ServerInfoDocument | null;
  readonly index: ManifestIndex;
}

/**
 * Plans the static mirror of a release of a store.
 *
 * @throws BundleError when no attestation authorizes it; SnapshotFault when its manifest is missing or damaged; the file system error; the
 *   signal's reason
 */
export async function planStaticMirror(
  root: string,
  releaseId: ReleaseId,
  signal: AbortSignal,
): Promise<StaticPlan> {
  const { release, attested, envelope } = await findRelease(root, releaseId);
  const { index } = await loadManifest({
    root,
    snapshotId: release.snapshot_id,
    checkObjects: false,
    signal,
  });
  return { root, release, envelope, serverInfo: attested.server_info, index };
}
