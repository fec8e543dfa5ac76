/** Reads the units of a container one page after another: the report has no filter by state or text. */

import type { Report } from '../../api/wire.ts';
import type { App } from '../../state/app.ts';
import { readReport } from '../../state/read-report.ts';
import type { Unit } from './unit.ts';

/** Units of one request. The server ends a page earlier when its texts are long. */
const PAGE = 1000;
/** Units that are read before the person is asked whether to continue; a container may have a million. */
export const SCAN_LIMIT = 20_000;

/** A unit and its position in the container. */
export interface FoundUnit {
  readonly index: number;
  readonly unit: Unit;
}

/** The state of a search. */
export interface ScanProgress {
  /** Units that were read, from the first one of the search on. */
  readonly read: number;
  readonly total: number;
  /** The position from which it continues; `null` at the end of the container. */
  readonly next: number | null;
}

/** Reads a page of units. @throws ApiFailure */
export type ReadUnits = (offset: number, limit: number, signal: AbortSignal) => Promise<UnitPage>;

/** The part of the report of units that a search needs. */
export type UnitPage = Pick<Report<'parse.text_units'>, 'items' | 'total' | 'next_offset'>;

/** Reads the units of a container. */
export function unitReader(
  app: Pick<App, 'contract' | 'api'>,
  container: Readonly<Record<string, string>>,
): ReadUnits {
  return async (offset, limit, signal) =>
    await readReport(
      app,
      'parse.text_units',
      { ...container, offset: String(offset), limit: String(limit) },
      signal,
    );
}

/**
 * Searches units from a position on. It ends at the end of the container, after {@link SCAN_LIMIT} units, or when a page has
 * made the matches enough.
 *
 * @param options `enough`: matches that end the search; `onPage`: told the matches of each page, in their order
 * @returns where it has stopped; `null` when it was aborted
 * @throws ApiFailure
 */
export async function scanUnits({
  read,
  from,
  isWanted,
  enough,
  onPage,
  signal,
  limit = SCAN_LIMIT,
}: {
  readonly read: ReadUnits;
  readonly from: number;
  readonly isWanted: (unit: Unit) => boolean;
  readonly enough: number;
  readonly onPage: (found: readonly FoundUnit[], progress: ScanProgress) => void;
  readonly signal: AbortSignal;
  readonly limit?: number;
}): Promise<ScanProgress | null> {
  let progress: ScanProgress = { read: 0, total: 0, next: from };
  let matches = 0;
  while (progress.next !== null && progress.read < limit && matches < enough) {
    const offset: number = progress.next;
    const page = await read(offset, Math.min(PAGE, limit - progress.read), signal);
    if (signal.aborted) return null;
    const found = page.items
      .map((unit, at) => ({ index: offset + at, unit }))
      .filter(({ unit }) => isWanted(unit));
    progress = {
      read: progress.read + page.items.length,
      total: page.total,
      next: page.items.length === 0 ? null : page.next_offset,
    };
    matches += found.length;
    onPage(found, progress);
  }
  return progress;
}
