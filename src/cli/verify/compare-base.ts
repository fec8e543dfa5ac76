import { setImmediate as nextTurn } from 'node:timers/promises';
import { renderManifestEntry } from '../../contract/formats/manifest-format.ts';
import type { ManifestEntry } from '../../domain/release/manifest.ts';
import type { ManifestIndex } from '../../snapshot/manifest/manifest-index.ts';
import { DIFFERENCES_MAX, type BaseDifference, type BaseReport } from './base-report.ts';

/** Entries that are compared before the event loop gets a turn. */
const TURN_ENTRIES = 4096;

/** The findings of a comparison. */
export type BaseComparison = Pick<BaseReport, 'patched' | 'unpatched' | 'differing' | 'examples'> & {
  readonly problems: readonly string[];
};

/**
 * Compares a localized release with the official one that it was made from. The manifest marks the entries that it
 * replaced (`source: localized`); all others must be exactly those of the base, and no entry is added or left out.
 *
 * @throws the signal's reason
 */
export async function compareWithBase(
  localized: ManifestIndex,
  base: ManifestIndex,
  signal: AbortSignal,
): Promise<BaseComparison> {
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

/** Whether two entries say the same: destination, size, digests and media type. */
function isSame(left: ManifestEntry, right: ManifestEntry): boolean {
  return renderManifestEntry(left) === renderManifestEntry(right);
}

function headerProblems({ header }: ManifestIndex, { header: base }: ManifestIndex): readonly string[] {
  const name = (version: string | undefined): string => version ?? '(none)';
  return header.app_version === base.app_version
    ? []
    : [`app_version is ${name(header.app_version)}, and ${name(base.app_version)} in its base`];
}
