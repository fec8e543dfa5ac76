import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiFailure, failureOf } from '../../../api/api-client.ts';
import type { Report } from '../../../api/wire.ts';
import { FailureText } from '../../../components/text.tsx';
import type { App } from '../../../state/app.ts';
import type { PagedSource } from '../../../state/paged-source.ts';
import { readReport } from '../../../state/read-report.ts';
import { counted, count } from '../../../text/format.ts';
import type { Unit } from '../unit.ts';

/** Units of one request. The server ends a page earlier when its texts are long. */
const PAGE = 1000;
/** Units that are read before the person is asked whether to continue; a container may have a million. */
export const SCAN_LIMIT = 20_000;

export interface FoundUnit {
  readonly index: number;
  readonly unit: Unit;
}

export interface ScanProgress {
  readonly read: number;
  readonly total: number;
  /** The position from which it continues; `null` at the end of the container. */
  readonly next: number | null;
}

/** Reads a page of units. @throws ApiFailure */
export type ReadUnits = (offset: number, limit: number, signal: AbortSignal) => Promise<UnitPage>;

export interface UnitPage {
  readonly items: readonly Unit[];
  readonly total: number;
  readonly next_offset: number | null;
}

/** Reads the units of a container one page after another. */
export function unitReader(app: App, container: Readonly<Record<string, string>>): ReadUnits {
  return async (offset, limit, signal) =>
    await readReport(
      app,
      'parse.text_units',
      { ...container, offset: String(offset), limit: String(limit) },
      signal,
    );
}

/** Positions of one container in a search over several. */
const CONTAINER_SIZE = 2 ** 32;

/** Reads the units of several containers one after another. Their sum is known at the end. */
export function readAcross(readers: readonly ReadUnits[]): ReadUnits {
  const totals = new Map<number, number>();
  return async (offset, limit, signal) => {
    let at = Math.floor(offset / CONTAINER_SIZE);
    let from = offset % CONTAINER_SIZE;
    for (;;) {
      const page = await readers[at]?.(from, limit, signal);
      if (page === undefined) return { items: [], total: 0, next_offset: null };
      totals.set(at, page.total);
      const hasMore = at + 1 < readers.length;
      if (page.items.length > 0 || !hasMore) {
        const total = [...totals.values()].reduce((sum, units) => sum + units, 0);
        const here = page.next_offset === null ? null : at * CONTAINER_SIZE + page.next_offset;
        return {
          items: page.items,
          total,
          next_offset: here ?? (hasMore ? (at + 1) * CONTAINER_SIZE : null),
        };
      }
      // A file may have no unit any more.
      at += 1;
      from = 0;
    }
  };
}

/** The units that a page has passed: a search passes more than it shows. */
function unitsOf({ items, next_offset: next }: UnitPage, offset: number): number {
  const isSameContainer =
    next !== null && Math.floor(next / CONTAINER_SIZE) === Math.floor(offset / CONTAINER_SIZE);
  return isSameContainer ? next - offset : items.length;
}

/**
 * Searches units from a position on. It ends at the end of the container, after {@link SCAN_LIMIT} units, or when a page has
 * made the matches enough.
 *
 * @param options `enough`: matches that end the search; `onPage`: gets the matches of each page, in their order
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
      read: progress.read + unitsOf(page, offset),
      total: page.total,
      // A page of a search can be empty and have others behind it.
      next: page.next_offset,
    };
    matches += found.length;
    onPage(found, progress);
  }
  return progress;
}

/**
 * Reads some units of one container as they are now.
 *
 * @param places where they are, at least one
 * @throws ApiFailure
 */
export async function readUnitsAgain(
  places: readonly { readonly unitId: string; readonly ordinal: number }[],
  read: ReadUnits,
): Promise<ReadonlyMap<string, Unit>> {
  const seen = new Map<string, Unit>();
  const wanted = new Set(places.map(({ unitId }) => unitId));
  await scanUnits({
    read,
    from: Math.min(...places.map(({ ordinal }) => ordinal)),
    isWanted: ({ unit_id: id }) => wanted.has(id),
    enough: wanted.size,
    onPage: (found) => {
      for (const { unit } of found) seen.set(unit.unit_id, unit);
    },
    signal: new AbortController().signal,
    limit: Infinity,
  });
  return seen;
}

export type UnitSource = PagedSource<Report<'parse.text_units'>>;

export interface UnitScan {
  readonly found: readonly FoundUnit[];
  readonly total: number;
  readonly read: number;
  readonly isRunning: boolean;
  readonly failure: ApiFailure | null;
  /** Reads on; `null` while it reads, and at the end of the container. */
  readonly goOn: (() => void) | null;
  readonly stop: () => void;
  readonly drop: (unitIds: ReadonlySet<string>) => void;
  readonly reload: () => void;
}

interface Gathered {
  readonly found: readonly FoundUnit[];
  readonly total: number;
  readonly read: number;
  /** `null` at the end. */
  readonly next: number | null;
  readonly isRunning: boolean;
  readonly failure: ApiFailure | null;
}

const NOTHING: Gathered = { found: [], total: 0, read: 0, next: 0, isRunning: false, failure: null };

/**
 * Gathers the units of a container that match.
 *
 * @param options `question`: another one begins again, `null` reads nothing; `enough`: matches after which the person asks for more
 */
export function useUnitScan({
  question,
  read,
  isWanted,
  enough,
  limit = SCAN_LIMIT,
}: {
  readonly question: string | null;
  readonly read: ReadUnits;
  readonly isWanted: (unit: Unit) => boolean;
  readonly enough: number;
  /** Units that are read before the person is asked. */
  readonly limit?: number;
}): UnitScan {
  const [gathered, setGathered] = useState<Gathered>({ ...NOTHING, isRunning: question !== null });
  const [round, setRound] = useState(0);
  const running = useRef(new AbortController());

  const scan = async (from: number): Promise<void> => {
    running.current.abort();
    const { signal } = (running.current = new AbortController());
    setGathered((now) => ({ ...now, isRunning: true, failure: null }));
    let before = 0;
    const add = (found: readonly FoundUnit[], progress: ScanProgress): void => {
      const more = progress.read - before;
      before = progress.read;
      // Units that were decided meanwhile have left the list, so that it is changed and not replaced.
      setGathered((now) => ({
        ...now,
        found: [...now.found, ...found],
        total: progress.total,
        read: now.read + more,
        next: progress.next,
      }));
    };
    try {
      await scanUnits({ read, from, isWanted, enough, onPage: add, signal, limit });
      if (!signal.aborted) setGathered((now) => ({ ...now, isRunning: false }));
    } catch (error) {
      if (!signal.aborted) setGathered((now) => ({ ...now, isRunning: false, failure: failureOf(error) }));
    }
  };

  useEffect(() => {
    setGathered(NOTHING);
    if (question !== null) void scan(0);
    return () => running.current.abort();
  }, [question, round]);

  const { next, isRunning } = gathered;
  return {
    ...gathered,
    goOn: next === null || isRunning || question === null ? null : () => void scan(next),
    stop: () => {
      running.current.abort();
      setGathered((now) => ({ ...now, isRunning: false }));
    },
    drop: (unitIds) =>
      setGathered((now) => ({
        ...now,
        found: now.found.filter(({ unit }) => !unitIds.has(unit.unit_id)),
      })),
    reload: () => setRound((now) => now + 1),
  };
}

/** How far a search in the units of a container is, with the buttons that stop and continue it. */
export function ScanNote({ scan }: { scan: UnitScan }): JSX.Element {
  const { found, read, total, isRunning, failure, goOn, stop } = scan;
  const isAll = goOn === null && !isRunning;
  return (
    <p class={`scan-note ${failure === null ? 'muted' : 'bad'}`}>
      <span role={failure === null ? 'status' : 'alert'}>
        {failure === null ? null : (
          <>
            <FailureText failure={failure} />{' '}
          </>
        )}
        {isRunning ? 'Searching: ' : ''}
        {count(found.length)} found in {isAll ? 'all' : `the first ${count(read)} of`}{' '}
        {counted(total, 'unit')}.
      </span>{' '}
      {isRunning ? (
        <button type="button" class="plain" onClick={stop}>
          Stop
        </button>
      ) : null}
      {goOn === null ? null : (
        <button type="button" class="plain" onClick={goOn}>
          {failure === null ? 'Search more' : 'Try again'}
        </button>
      )}
    </p>
  );
}
