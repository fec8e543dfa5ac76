import { lastCurrentAt } from '../../domain/release/release-history.ts';
import type { ReleaseRow } from '../api/wire.ts';
import type { SortOrder } from '../components/virtual-table.tsx';

const VALUES: Readonly<Record<string, (row: ReleaseRow) => string | number>> = {
  release: ({ release_id: id }) => id,
  channel: ({ channel }) => channel,
  state: ({ state }) => state,
  published: lastCurrentAt,
  size: ({ manifest }) => manifest?.total_bytes ?? 0,
};

/** Sorts releases by a column; equal ones keep their order, newest first. */
export function sortReleases(
  rows: readonly ReleaseRow[],
  { by, isDescending }: SortOrder,
): readonly ReleaseRow[] {
  const valueOf = VALUES[by];
  if (valueOf === undefined) return rows;
  const sign = isDescending ? -1 : 1;
  return rows.toSorted((left, right) => {
    const [a, b] = [valueOf(left), valueOf(right)];
    if (a === b) return 0;
    return a < b ? -sign : sign;
  });
}
