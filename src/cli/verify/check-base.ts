import type { AttestedRelease } from '../../domain/verdict/attestation.ts';
import type { Channel } from '../../domain/release/channel.ts';
import type { SnapshotId } from '../../domain/release/digest.ts';
import type { ReleaseId } from '../../domain/release/release-id.ts';
import { messageOf } from '../../platform/errors.ts';
import type { ManifestIndex } from '../../snapshot/manifest/manifest-index.ts';
import { loadManifest } from '../../snapshot/manifest/manifest-loader.ts';
import { readReleaseRecord } from '../../snapshot/volume/release-records.ts';
import { baseNotChecked, type BaseReport, DIFFERENCES_MAX, type BaseDifference } from './base-report.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { renderManifestEntry } from '../../contract/formats/manifest-format.ts';
import type { ManifestEntry } from '../../domain/release/manifest.ts';

export interface BaseCheckOptions {
  readonly root: string;
  /** The entry of the attestation on a release; `undefined` when it does not name it. */
  readonly attestedAs: (channel: Channel, releaseId: ReleaseId) => AttestedRelease | undefined;
  readonly signal: AbortSignal;
}

interface BaseFindings {
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

/** Entries that are compared before the event loop gets a turn. */
const TURN_ENTRIES = 4096;

/**
 * Compares a localized release with the official one that it was made from. The manifest marks the entries that it
 * replaced (`source: localized`); all others must be exactly those of the base, and no entry is added or left out.
 *
 * @throws the signal's reason
 */
async function compareWithBase(localized: ManifestIndex, base: ManifestIndex, signal: AbortSignal) {
  let patched = 0;
  let unpatched = 0;
  let differing = 0;
  const examples: BaseDifference[] = [];
  const differs = (destination: string, difference: BaseDifference['difference']): void => {
    differing += 1;
    if (examples.length < DIFFERENCES_MAX) examples.push({ destination, difference });
  };
  for await (const entry of entriesOf(localized, signal)) {
    const position = base.find(entry.destination);
    if (position < 0) differs(entry.destination, 'not_in_base');
    else if (entry.source === 'localized') patched += 1;
    else if (isSame(entry, base.entry(position))) unpatched += 1;
    else differs(entry.destination, 'changed_but_not_patched');
  }
  for await (const { destination } of entriesOf(base, signal)) {
    if (localized.find(destination) < 0) differs(destination, 'left_out');
  }
  return { patched, unpatched, differing, examples, problems: headerProblems(localized, base) };
}

async function* entriesOf(index: ManifestIndex, signal: AbortSignal): AsyncGenerator<ManifestEntry> {
  for (let offset = 0; offset < index.length; offset += TURN_ENTRIES) {
    signal.throwIfAborted();
    yield* index.entries(offset, TURN_ENTRIES);
    await nextTurn();
  }
}

function isSame(left: ManifestEntry, right: ManifestEntry): boolean {
  return renderManifestEntry(left) === renderManifestEntry(right);
}

function headerProblems({ header }: ManifestIndex, { header: base }: ManifestIndex): readonly string[] {
  const name = (version: string | undefined): string => version ?? '(none)';
  return header.app_version === base.app_version
    ? []
    : [`app_version is ${name(header.app_version)}, and ${name(base.app_version)} in its base`];
}
