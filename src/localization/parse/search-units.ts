import type { QueryOf } from '../../contract/reports/reports.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import type { CallerOf } from '../../platform/threads/caller.ts';
import type { TextUnitsPage } from './index/read/text-units.ts';
import type { UnitQuery } from './index/read/unit-filter.ts';
import type { FoundUnit, NamedPlace, ScannedUnits, UnitScan } from './index/read/unit-search.ts';
import type { ParseStore } from './run/index-worker.ts';

/** The release and the generation of the index that is searched. */
interface SearchedIndex {
  readonly releaseId: string | null;
  readonly generation: number;
}

export interface PlacesRequest extends SearchedIndex {
  readonly text: string | null;
  readonly states: readonly string[] | null;
  readonly unitId: string | null;
}

export interface TargetPlaces {
  /** Ordinals by file of the units whose target has the text; `null`: any unit can have it. */
  readonly places: ReadonlyMap<string, readonly number[]> | null;
  /** The files with units in the states; `null`: any file. */
  readonly destinations: ReadonlySet<string> | null;
}

export interface MatchRequest {
  readonly units: readonly FoundUnit[];
  readonly states: readonly string[] | null;
  readonly author: string | null;
  readonly text: string | null;
}

export interface SameRequest extends SearchedIndex {
  readonly same: 'source' | 'target';
  readonly pathPattern: string | null;
  /** The place to begin at. */
  readonly from: number;
  /** Units after which the answer ends, at the end of a group; the first group is whole. */
  readonly limit: number;
}

export interface InconsistentUnits {
  /** Each with the place of its group: a call that begins there finds the group first. */
  readonly units: readonly (NamedPlace & { readonly place: number; readonly isGroupCut: boolean })[];
  readonly next: number | null;
}

/** What a search asks about targets. The work on translations answers; errors are those of a report. */
export interface SearchTargets {
  places(request: PlacesRequest, signal: AbortSignal): Promise<TargetPlaces | null>;
  /** One answer for each unit, in their order. */
  match(request: MatchRequest, signal: AbortSignal): Promise<readonly boolean[]>;
  /** `null` while the tasks are not those of the release. */
  inconsistent(request: SameRequest, signal: AbortSignal): Promise<InconsistentUnits | null>;
}

export type SearchQuery = QueryOf<'parse.text_units'>;

interface SearchOptions {
  readonly thread: CallerOf<ParseStore>;
  readonly targets: SearchTargets;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

/** After this time an answer has what was found so far, milliseconds. The server waits 5 s for a report. */
const SEARCH_MS = 1000;
/** Units that one call looks at, so that other calls of the threads do not wait for long. */
const STEP_UNITS = 20_000;
/** The same for a search that also reads targets. */
const STEP_TARGETS = 4000;
/** Most searches for one answer: each begins again because the index changed during the one before. */
const MAX_RUNS = 3;
/** Seconds after which a caller should ask again while the tasks are built, or the index changes. */
const RETRY_SECONDS = 5;
const NO_PLACES: ReadonlyMap<string, readonly number[]> = new Map();

/**
 * Ends a page after some of its units at most.
 *
 * @returns its units, and where the next page begins, `null` at the end
 */
export type EndPage = (items: number) => { readonly items: number; readonly next: number | null };

/** A page of a search, without translations. */
interface SearchPage extends TextUnitsPage {
  readonly endAfter: EndPage;
}

/** Whether a query of the text-units report is a search. */
export function isSearch({ text, unit_id, speaker, unit_state, author, same }: SearchQuery): boolean {
  return [text, unit_id, speaker, unit_state, author, same].some((value) => value !== undefined);
}

/**
 * Searches the units of the reported release for a bounded time.
 *
 * @throws the signal's reason; ServiceError when translations cannot be read, or the index changes again and again; the error of
 * the index
 */
export async function searchUnits(
  options: SearchOptions,
  search: SearchQuery,
  signal: AbortSignal,
): Promise<SearchPage> {
  for (let run = 0; run < MAX_RUNS; run += 1) {
    const page = await searchOnce(options, search, signal);
    if (page !== null) return page;
  }
  throw new ServiceError(
    'backend_unavailable',
    `the index changed ${MAX_RUNS} times during the search; try again when parsing has ended`,
    { retryAfter: RETRY_SECONDS },
  );
}

/** @returns `null` when the index moves on */
async function searchOnce(
  options: SearchOptions,
  search: SearchQuery,
  signal: AbortSignal,
): Promise<SearchPage | null> {
  const {
    same,
    text: _t,
    text_in: _in,
    unit_id: _id,
    unit_state: _states,
    speaker: _speaker,
    author: _author,
    ...query
  } = search;
  const { index } = await options.thread.status(null, { signal });
  const searched = { releaseId: index.release_id, generation: index.generation };
  const found =
    same === undefined
      ? await scan(options, search, searched, signal)
      : await inconsistent(options, { ...search, same }, searched, signal);
  if (found === null) return null;
  const named = { places: found.units, query: { ...query, offset: 0 } };
  const page = await options.thread.unitsAt(named, { signal });
  if (page.release_id !== searched.releaseId || page.generation !== searched.generation) return null;
  const endAfter: EndPage = (items) => {
    const last = page.items[items - 1]?.unit_id;
    const cut = found.places[found.units.findIndex(({ unitId }) => unitId === last) + 1];
    if (last === undefined || cut === undefined) return { items, next: found.next };
    // Units with one place stay together. The first ones cannot: the search would find them again and again.
    const whole = new Set(found.units.slice(0, found.places.indexOf(cut)).map(({ unitId }) => unitId));
    if (whole.size === 0) return { items, next: found.places.find((place) => place > cut) ?? found.next };
    return { items: page.items.slice(0, items).filter((unit) => whole.has(unit.unit_id)).length, next: cut };
  };
  const end = endAfter(page.items.length);
  const items = page.items
    .slice(0, end.items)
    .map((unit) => (found.cut.has(unit.unit_id) ? { ...unit, is_group_cut: true } : unit));
  return { ...page, items, offset: search.offset, next_offset: end.next, endAfter };
}

interface Found {
  readonly units: readonly NamedPlace[];
  /** Where a search begins that finds the unit first, or its group. */
  readonly places: readonly number[];
  /** Units of groups that have more units than these. */
  readonly cut: ReadonlySet<string>;
  readonly next: number | null;
}

/** What a search looks at, and what it asks about the units that it finds. */
interface SearchPlan {
  readonly scan: Omit<UnitScan, 'query'>;
  readonly filters: UnitQuery;
  /** `null`: no target has to be read. */
  readonly match: Omit<MatchRequest, 'units'> | null;
}

async function planOf(
  targets: SearchTargets,
  search: SearchQuery,
  searched: SearchedIndex,
  signal: AbortSignal,
): Promise<SearchPlan> {
  const {
    text: given,
    text_in,
    unit_state,
    unit_id,
    speaker,
    author = null,
    same: _same,
    ...filters
  } = search;
  const text = given ?? null;
  const inTargets = text_in === 'source' ? null : text;
  const states = unit_state?.split(',') ?? null;
  const needsTargets = [inTargets, states, author].some((value) => value !== null);
  const unitId = unit_id ?? null;
  const asked =
    needsTargets || unitId !== null
      ? await targets.places({ ...searched, text: inTargets, states, unitId }, signal)
      : null;
  const listed = inTargets === null ? NO_PLACES : (asked?.places ?? null);
  const places = text === null ? null : listed;
  return {
    scan: {
      speaker: speaker ?? null,
      unitId,
      text: text_in === 'target' ? null : text,
      places,
      destinations: asked?.destinations ?? null,
      most: needsTargets && places === null ? STEP_TARGETS : STEP_UNITS,
    },
    filters,
    match: needsTargets ? { states, author, text: inTargets } : null,
  };
}

/** @returns `null` when the index moves on */
async function scan(
  { thread, targets, now }: SearchOptions,
  search: SearchQuery,
  searched: SearchedIndex,
  signal: AbortSignal,
): Promise<Found | null> {
  const { scan: shared, filters, match } = await planOf(targets, search, searched, signal);
  const until = now() + SEARCH_MS;
  const kept: FoundUnit[] = [];
  let next: number | null = search.offset;
  while (next !== null && kept.length < search.limit && now() < until) {
    const limit = match === null ? search.limit - kept.length : shared.most;
    const range: UnitQuery = { ...filters, offset: next, limit };
    const scanned: ScannedUnits = await thread.scanUnits({ ...shared, query: range }, { signal });
    if (scanned.releaseId !== searched.releaseId || scanned.generation !== searched.generation) return null;
    const units = scanned.found;
    const matches = match === null ? null : await targets.match({ ...match, units }, signal);
    kept.push(...units.filter((_unit, at) => matches?.[at] !== false));
    next = scanned.next;
  }
  const units = kept.slice(0, search.limit);
  const places = units.map(({ at }) => at);
  return { units, places, cut: new Set(), next: kept[units.length]?.at ?? next };
}

async function inconsistent(
  { targets, now }: SearchOptions,
  { same, offset, limit, path_pattern, destination }: SearchQuery & { readonly same: 'source' | 'target' },
  searched: SearchedIndex,
  signal: AbortSignal,
): Promise<Found> {
  // Nothing is indexed yet.
  if (searched.releaseId === null) return { units: [], places: [], cut: new Set(), next: null };
  const until = now() + SEARCH_MS;
  const pathPattern = destination ?? path_pattern ?? null;
  const units: InconsistentUnits['units'][number][] = [];
  let next: number | null = offset;
  while (next !== null && units.length < limit && now() < until) {
    const request: SameRequest = { ...searched, same, pathPattern, from: next, limit: limit - units.length };
    const found = await targets.inconsistent(request, signal);
    if (found === null) {
      throw new ServiceError(
        'backend_unavailable',
        'the translation tasks of the release are not built yet; try again when the task task-build has ended',
        { retryAfter: RETRY_SECONDS },
      );
    }
    if (units.length > 0 && units.length + found.units.length > limit) break;
    units.push(...found.units);
    next = found.next;
  }
  const listed = units.slice(0, limit);
  const left = new Set(units.slice(limit).map(({ place }) => place));
  const cut = listed.filter(({ place, isGroupCut }) => isGroupCut || left.has(place));
  return {
    units: listed,
    places: listed.map(({ place }) => place),
    cut: new Set(cut.map(({ unitId }) => unitId)),
    next,
  };
}
