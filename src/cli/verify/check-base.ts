import type { AttestedRelease } from '../../domain/verdict/attestation.ts';
import type { Channel } from '../../domain/release/channel.ts';
import type { SnapshotId } from '../../domain/release/digest.ts';
import type { ReleaseId } from '../../domain/release/release-id.ts';
import { messageOf } from '../../platform/errors.ts';
import type { ManifestIndex } from '../../snapshot/manifest/manifest-index.ts';
import { loadManifest } from '../../snapshot/manifest/manifest-loader.ts';
import { readReleaseRecord } from '../../snapshot/volume/release-records.ts';
import { baseNotChecked, type BaseReport } from './base-report.ts';
import { compareWithBase } from './compare-base.ts';

export interface BaseCheckOptions {
  readonly root: string;
  /** The entry of the attestation on a release; `undefined` when it does not name it. */
  readonly attestedAs: (channel: Channel, releaseId: ReleaseId) => AttestedRelease | undefined;
  readonly signal: AbortSignal;
}

/** The comparison, and problems of the manifest beside its files. */
export interface BaseFindings {
  readonly base: BaseReport;
  readonly problems: readonly string[];
}

/**
 * Compares a localized release with its base on the same volume, by their manifests. The base is the release that the
 * attestation names for the localized one, in the version that the attestation names; a release that it does not name is
 * taken from its record.
 *
 * @returns the findings; a base that the volume does not have is `not_checked`
 * @throws the signal's reason
 */
export async function checkBase(localized: ManifestIndex, options: BaseCheckOptions): Promise<BaseFindings> {
  const { header } = localized;
  const problems: string[] = [];
  const attested = options.attestedAs('localized', header.release_id);
  const named = header.base_release_id;
  if (attested !== undefined && attested.base_release_id !== named) {
    problems.push(
      `base_release_id is ${named ?? 'absent'} in the manifest, and the attestation names ${attested.base_release_id ?? 'none'}`,
    );
  }
  if (named === undefined) {
    return { base: baseNotChecked(null, 'its manifest names no base'), problems };
  }
  const found = await loadBase(named, options);
  if (typeof found === 'string') return { base: baseNotChecked(named, found), problems };
  const compared = await compareWithBase(localized, found.index, options.signal);
  const { patched, unpatched, differing, examples } = compared;
  return {
    base: {
      release_id: named,
      status: differing > 0 || compared.problems.length > 0 ? 'differs' : 'ok',
      reason: null,
      attested: found.attested && attested?.snapshot_id === localized.snapshotId,
      patched,
      unpatched,
      differing,
      examples,
    },
    problems: [...problems, ...compared.problems],
  };
}

/** The manifest of an official release, or why there is none. */
async function loadBase(
  releaseId: ReleaseId,
  { root, attestedAs, signal }: BaseCheckOptions,
): Promise<{ readonly index: ManifestIndex; readonly attested: boolean } | string> {
  const attested = attestedAs('official', releaseId)?.snapshot_id;
  try {
    const snapshotId: SnapshotId | undefined =
      attested ?? (await readReleaseRecord(root, 'official', releaseId))?.snapshot_id;
    if (snapshotId === undefined) return `the volume does not have the official release ${releaseId}`;
    const { index } = await loadManifest({ root, snapshotId, checkObjects: false, signal });
    if (index.header.channel !== 'official' || index.header.release_id !== releaseId) {
      return `the manifest of the official release ${releaseId} is that of ${index.header.channel} ${index.header.release_id}`;
    }
    return { index, attested: attested !== undefined };
  } catch (error) {
    signal.throwIfAborted();
    return `the official release ${releaseId} cannot be read: ${messageOf(error)}`;
  }
}
