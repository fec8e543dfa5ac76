import { PageItems } from './page-items.ts';
import type { ReportedIndex } from './reported-index.ts';
import type { UnitQuery } from './unit-filter.ts';

/** A page of a list of the reported release, as the body of a report. */
export interface ReleasePage<T> {
  /** `null` before the first release. */
  readonly release_id: string | null;
  readonly generation: number;
  readonly total: number;
  readonly offset: number;
  readonly limit: number;
  readonly next_offset: number | null;
  readonly items: T[];
}

/**
 * Makes a page of the reported release.
 *
 * @param index `null` before the first release: the page is empty
 * @param fill adds the items from the offset on to the page, and gives their total
 */
export function releasePage<T>(
  index: ReportedIndex | null,
  { offset, limit }: UnitQuery,
  fill: (index: ReportedIndex, page: PageItems<T>) => number,
): ReleasePage<T> {
  const page = new PageItems<T>(limit);
  const total = index === null ? 0 : fill(index, page);
  return {
    release_id: index?.releaseId ?? null,
    generation: index?.generation ?? 0,
    total,
    offset,
    limit,
    next_offset: page.nextOffset(offset, total),
    items: page.items,
  };
}
