import { hash } from 'node:crypto';
import { destinationGlob } from '../../../parse/index/read/unit-filter.ts';
import type { NamedPlace } from '../../../parse/index/read/unit-search.ts';
import type { InconsistentUnits, SameRequest } from '../../../parse/search-units.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import { currentBuild } from '../store/builds.ts';
import { WORDING_KEY } from '../store/translation-schema.ts';
import type { Work } from '../store/work.ts';

/** Rows of an index that one call reads, and most rows of one key that are compared. */
const STEP_ROWS = 20_000;
/** Most units of one group that are listed. */
const GROUP_UNITS = 20;
/** Bytes of a key. */
const KEY_BYTES = 6;
/** Groups of one key at which a page can begin. A place is the key and the group in it, as one safe integer. */
const KEY_GROUPS = 32;

interface PlacedTarget extends NamedPlace {
  /** What the units of a group have in common. */
  readonly same: string;
  /** What differs between them. */
  readonly other: string;
}

const OF_SOURCE = `SELECT repetition, unit_id, destination, ordinal FROM task_unit JOIN task USING (task_seq)
  WHERE repetition >= ? AND build_id = ? ORDER BY repetition LIMIT ${STEP_ROWS + 1}`;
const TARGET = `SELECT target_text FROM target WHERE unit_id = ? AND target_language = ? AND state <> 'stale'`;
const OF_TARGET = `SELECT ${WORDING_KEY} AS wording, unit_id, target_text, source_digest, state FROM target
  WHERE target_language = ? AND ${WORDING_KEY} >= ? ORDER BY ${WORDING_KEY} LIMIT ${STEP_ROWS + 1}`;
const PLACES = `SELECT destination, ordinal FROM task_unit JOIN task USING (task_seq)
  WHERE unit_id = ? AND build_id = ? LIMIT 1`;

/**
 * Finds units of one source with several targets, or of several sources with one target, in the order of an index.
 *
 * @returns some of the groups, whole, and the place at which the next call begins, `null` at the end; `null` while the tasks are
 * not those of the release and the generation
 */
export function inconsistentUnits(work: Work, request: SameRequest): InconsistentUnits | null {
  const buildId = currentBuild(work, request);
  if (buildId === null) return null;
  const isWanted = request.pathPattern === null ? () => true : destinationGlob(request.pathPattern);
  const read = request.same === 'source' ? sourceRows : targetRows;
  const units: InconsistentUnits['units'][number][] = [];
  let [firstKey, key, seen] = [-1, -1, 0];
  /** The first row of a key, until it has another one. */
  let alone: Candidate | null = null;
  let groups = new Map<string, Group>();
  const compare = (row: Candidate): void => {
    const placed = row.place(work, buildId);
    if (placed !== null && isWanted(placed.destination)) addTo(groups, placed);
  };
  /** Adds the groups of the key that has ended. @returns the place of the first that does not fit; the first of all always does */
  const endKey = (isCut: boolean): number | null => {
    const differing = [...groups.values()].filter(({ kinds }) => kinds.size > 1);
    for (const [at, group] of differing.entries()) {
      const place = key * KEY_GROUPS + Math.min(at, KEY_GROUPS - 1);
      if (place < request.from) continue;
      const listed = [...group.firsts, ...group.others].slice(0, GROUP_UNITS);
      if (at < KEY_GROUPS && units.length > 0 && units.length + listed.length > request.limit) return place;
      const isGroupCut = isCut || listed.length < group.units;
      units.push(...listed.map((unit) => ({ ...unit, place, isGroupCut })));
    }
    return null;
  };
  for (const row of read(work, buildId, Math.floor(request.from / KEY_GROUPS))) {
    seen += 1;
    if (row.key === key) {
      if (alone !== null) compare(alone);
      compare(row);
      alone = null;
      continue;
    }
    const next = endKey(false);
    if (next !== null) return { units, next };
    if (units.length >= request.limit || seen > STEP_ROWS) return { units, next: row.key * KEY_GROUPS };
    if (firstKey === -1) firstKey = row.key;
    [key, alone, groups] = [row.key, row, new Map()];
  }
  // A key is read whole by the next call, unless it has more rows than one call reads.
  const isOpen = seen > STEP_ROWS;
  if (isOpen && key !== firstKey) return { units, next: key * KEY_GROUPS };
  return { units, next: endKey(isOpen) ?? (isOpen ? (key + 1) * KEY_GROUPS : null) };
}

/** Units with something in common: the first one of each kind, and others. */
interface Group {
  readonly kinds: Set<string>;
  readonly firsts: NamedPlace[];
  readonly others: NamedPlace[];
  units: number;
}

/** Adds a unit to its group, of which only as many are kept as are listed. */
function addTo(groups: Map<string, Group>, { same, other, ...unit }: PlacedTarget): void {
  const group = groups.get(same) ?? { kinds: new Set(), firsts: [], others: [], units: 0 };
  groups.set(same, group);
  const kept = group.kinds.has(other) ? group.others : group.firsts;
  group.kinds.add(other);
  group.units += 1;
  if (kept.length < GROUP_UNITS) kept.push(unit);
}

interface Candidate {
  readonly key: number;
  /** `null` without a target of the source that the unit has now, or without a place in the build. */
  readonly place: (work: Work, buildId: number) => PlacedTarget | null;
}

function* sourceRows(work: Work, buildId: number, from: number): Generator<Candidate> {
  const first = Buffer.alloc(KEY_BYTES);
  first.writeUIntBE(from, 0, KEY_BYTES);
  for (const row of work.sql(OF_SOURCE).iterate(first, buildId)) {
    const repetition = Buffer.from(row['repetition'] as Uint8Array);
    const unitId = row['unit_id'] as Uint8Array;
    const place = { destination: String(row['destination']), ordinal: Number(row['ordinal']) };
    yield {
      key: repetition.readUIntBE(0, KEY_BYTES),
      place: () => {
        const target = work.sql(TARGET).get(unitId, work.targetLanguage)?.['target_text'];
        if (typeof target !== 'string') return null;
        const same = repetition.subarray(0, 8).toString('hex');
        return { ...place, unitId: unitIdText(unitId), same, other: digestOf(target) };
      },
    };
  }
}

function* targetRows(work: Work, _buildId: number, from: number): Generator<Candidate> {
  for (const row of work.sql(OF_TARGET).iterate(work.targetLanguage, from)) {
    const unitId = row['unit_id'] as Uint8Array;
    const other = Buffer.from(row['source_digest'] as Uint8Array).toString('hex');
    const same = digestOf(String(row['target_text']));
    const isStale = row['state'] === 'stale';
    yield {
      key: Number(row['wording']),
      place: (_work, buildId) => {
        // Left out here and not by the statement, which would read more rows than a call may.
        const found = isStale ? undefined : work.sql(PLACES).get(unitId, buildId);
        if (found === undefined) return null;
        const place = { destination: String(found['destination']), ordinal: Number(found['ordinal']) };
        return { ...place, unitId: unitIdText(unitId), same, other };
      },
    };
  }
}

/** Stands for a text, of which thousands are compared. */
function digestOf(text: string): string {
  return hash('sha256', text, 'base64');
}
