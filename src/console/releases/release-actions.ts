/** The actions that can succeed on a release; pure. A rollback is on the page Publish, which shows the texts that it changes. */

import type { ReleaseRow } from '../api/wire.ts';
import type { ActionRequest } from '../state/app.ts';
import { isKept, servingOf, type ReleaseStatus } from './release-facts.ts';

/** An action on one release. */
export interface ReleaseAction {
  readonly title: string;
  readonly request: ActionRequest;
  /** `primary`: the remedy of its state; `danger`: it removes something. */
  readonly class: '' | 'primary' | 'danger';
}

/**
 * The actions to offer for a release. The daemon decides; what it would certainly refuse is left out.
 *
 * @param rows all releases
 */
export function releaseActions(
  row: ReleaseRow,
  rows: readonly ReleaseRow[],
  status: ReleaseStatus | null,
): readonly ReleaseAction[] {
  return [repair(row), verify(row), remove(row, rows, status)].filter((action) => action !== null);
}

function argsOf({ channel, release_id: id }: ReleaseRow): string {
  return `channel=${channel}\nrelease_id=${id}`;
}

function repair(row: ReleaseRow): ReleaseAction | null {
  const { damaged } = row.artifact_integrity;
  if (!isKept(row) || (damaged === 0 && row.state !== 'damaged')) return null;
  const title = damaged === 0 ? 'Repair' : `Repair ${damaged} ${damaged === 1 ? 'file' : 'files'}`;
  return { title, class: 'primary', request: { action: 'repair', initial: { args: argsOf(row) } } };
}

function verify(row: ReleaseRow): ReleaseAction | null {
  if (!isKept(row)) return null;
  return { title: 'Verify', class: '', request: { action: 'verify', initial: { args: argsOf(row) } } };
}

/** The daemon protects the current release, the previous one, and the base of a localized release. */
function remove(
  row: ReleaseRow,
  rows: readonly ReleaseRow[],
  status: ReleaseStatus | null,
): ReleaseAction | null {
  const { channel, release_id: id, state } = row;
  if (!isKept(row) || state === 'current' || status === null) return null;
  if (servingOf(row, status) !== 'none') return null;
  const kept = rows.filter(isKept);
  if (kept.some((each) => each.base_release_id === id)) return null;
  const newest = kept
    .filter((each) => each.channel === channel && each.state !== 'current')
    .toSorted((left, right) => (right.published_at ?? 0) - (left.published_at ?? 0))[0];
  if (newest?.release_id === id) return null;
  const field = channel === 'localized' ? 'localized_release_id' : 'id';
  return {
    title: 'Clean up …',
    class: 'danger',
    request: { action: 'release-cleanup', fixed: { [field]: id } },
  };
}
