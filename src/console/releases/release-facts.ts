/** The facts of one release that follow from the reports; pure. */

import type { ReleaseRow, Report } from '../api/wire.ts';
import type { Tone } from '../components/text.tsx';

export type ReleaseStatus = Report<'release.status'>;

/** The words before the location of an upstream. For a folder, reports name the setting, not its path. */
export function settingWords(label: string): string {
  return label.startsWith('upstream.') ? 'the folder of ' : '';
}

const KEPT: ReadonlySet<ReleaseRow['state']> = new Set([
  'verified',
  'current',
  'superseded',
  'rolled_back',
  'damaged',
]);

/** Whether the files of a release are on the volume. */
export function isKept({ state, manifest }: ReleaseRow): boolean {
  return manifest !== null && KEPT.has(state);
}

/** Whether the page Publish offers to take the release back, or to make it current again. */
export function canRollBack(row: ReleaseRow, status: ReleaseStatus | null): boolean {
  if (row.channel !== 'localized' || status === null || status.localized === null) return false;
  if (row.state === 'current') return true;
  return (
    row.state === 'superseded' && row.manifest !== null && status.official?.release_id === row.base_release_id
  );
}

type Serving = 'current' | 'retained' | 'none';

/** How the attestation lets servers serve a release; `null` while it is not known. */
export function servingOf(
  { release_id: id }: { release_id: string },
  status: ReleaseStatus | null,
): Serving | null {
  if (status === null) return null;
  const authorized = status.attestation?.authorizes;
  if (authorized === undefined) return 'none';
  if (authorized.official === id || authorized.localized === id) return 'current';
  return authorized.retained.includes(id) ? 'retained' : 'none';
}

export const SERVING_WORDS: Readonly<Record<Serving, readonly [text: string, tone: Tone]>> = {
  current: ['As current', 'ok'],
  retained: ['Retained', 'info'],
  none: ['Not served', 'idle'],
};

/**
 * The release that was made before this one, in its channel; `null` for the first one. The time of publication does not
 * show it: a release that becomes current again, such as after a rollback, gets a new one.
 *
 * @param rows as the report lists them: the one that was made last comes first
 */
export function predecessorOf(row: ReleaseRow, rows: readonly ReleaseRow[]): ReleaseRow | null {
  const at = rows.findIndex((each) => each.channel === row.channel && each.release_id === row.release_id);
  const earlier = rows.slice(at + 1);
  return earlier.find((each) => each.channel === row.channel && each.manifest !== null) ?? null;
}

/** The part of the texts of a release that its localization covers, from 0 to 1; `null` where no report has it. */
export function coverageOf(
  { release_id: id }: { release_id: string },
  status: Report<'translation.status'> | null,
): { readonly publishable: number; readonly units: number } | null {
  const coverage = status?.coverage;
  if (coverage === undefined || coverage.release_id !== id || coverage.units === 0) return null;
  return coverage.publishable === null ? null : { publishable: coverage.publishable, units: coverage.units };
}
