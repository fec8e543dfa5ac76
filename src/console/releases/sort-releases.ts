import type { ReleaseRow } from '../api/wire.ts';
import type { SortOrder } from '../components/virtual-table.tsx';

const VALUES: Readonly<Record<string, (row: ReleaseRow) => string | number>> = {
  release: ({ release_id: id }) => id,
  channel: ({ channel }) => channel,
  state: ({ state }) => state,
  // A release that was never published stands where it was made.
  published: ({ published_at: at, created_at: made }) => at ?? made,
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
