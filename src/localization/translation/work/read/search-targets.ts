import { allTrigrams } from '../../../../domain/memory/trigrams.ts';
import { searchFor } from '../../../../domain/text/text-search.ts';
import type { MatchRequest, PlacesRequest, TargetPlaces } from '../../../parse/search-units.ts';
import { UNIT_STATES } from '../../../../domain/translation/unit-state.ts';
import { unitIdBytes } from '../../../unit-id-text.ts';
import { currentBuild } from '../store/builds.ts';
import type { Row } from '../store/target-rows.ts';
import { entriesWith } from '../store/target-search.ts';
import type { Work } from '../store/work.ts';

/** Most texts that one search takes from the index: where it has more, units in the order of their release are found as fast. */
const MOST_TEXTS = 5000;

const PLACES = `SELECT target_text, destination, ordinal FROM target_history AS found
  CROSS JOIN target USING (unit_id, target_language, entry, target_text)
  CROSS JOIN task_unit USING (unit_id) JOIN task USING (task_seq)
  WHERE found.entry = ? AND found.target_language = ? AND build_id = ?`;

const FILES =
  'SELECT destination FROM task_unit JOIN task USING (task_seq) WHERE unit_id = ? AND build_id = ?';

/**
 * Where a search must look for units of the current tasks, because of their targets.
 *
 * @returns `null` while the tasks are not those of the release and the generation: then every unit is looked at
 */
export function targetPlaces(work: Work, request: PlacesRequest): TargetPlaces | null {
  const buildId = currentBuild(work, request);
  if (buildId === null) return null;
  return {
    places: request.text === null ? null : placesOf(work, request.text, buildId),
    destinations: filesOf(work, request, buildId),
  };
}

/** The units whose target has a text; `null` where they are too many, or the text is too short for the index. */
function placesOf(work: Work, text: string, buildId: number): TargetPlaces['places'] {
  // The index folds case itself; folded before, "İ" becomes two characters, which it does not have.
  const expression = allTrigrams(text);
  if (expression === '') return null;
  const entries = entriesWith(work, expression, MOST_TEXTS);
  if (entries === null) return null;
  const { isIn } = searchFor(text);
  const places = new Map<string, number[]>();
  for (const entry of entries) {
    for (const row of work.sql(PLACES).all(entry, work.targetLanguage, buildId)) {
      if (!isIn(String(row['target_text']))) continue;
      const destination = String(row['destination']);
      const ordinals = places.get(destination) ?? [];
      ordinals.push(Number(row['ordinal']));
      places.set(destination, ordinals);
    }
  }
  return places;
}

/** The files with the unit, or with units in one of the states; the counts of tasks say it. */
function filesOf(
  work: Work,
  { unitId, states }: PlacesRequest,
  buildId: number,
): TargetPlaces['destinations'] {
  if (unitId !== null) {
    const files = work.sql(FILES).all(unitIdBytes(unitId) ?? new Uint8Array(), buildId);
    return new Set(files.map((row) => String(row['destination'])));
  }
  if (states === null) return null;
  const sum = UNIT_STATES.filter((state) => states.includes(state)).join(' + ') || '0';
  const rows = work
    .sql(`SELECT DISTINCT destination FROM task WHERE build_id = ? AND ${sum} > 0`)
    .all(buildId);
  return new Set(rows.map((row) => String(row['destination'])));
}

const TARGET = `SELECT state, target_text, source_digest, author_kind, token_id, provider FROM target
  WHERE unit_id = ? AND target_language = ?`;

/** Whether each unit has one of the states, the author, and the text in its source or its target. */
export function matchTargets(work: Work, { units, states, author, text }: MatchRequest): readonly boolean[] {
  const wanted = text === null ? null : searchFor(text);
  return units.map(({ unitId, sourceDigest, isInSource }) => {
    const row = work.sql(TARGET).get(unitIdBytes(unitId) ?? new Uint8Array(), work.targetLanguage);
    if (states !== null && !states.includes(stateFor(row, sourceDigest))) return false;
    if (author !== null && !isBy(row, author)) return false;
    return wanted === null || isInSource || (row !== undefined && wanted.isIn(String(row['target_text'])));
  });
}

function stateFor(row: Row | undefined, sourceDigest: string): string {
  if (row === undefined) return 'untranslated';
  const isForSource = Buffer.from(row['source_digest'] as Uint8Array).toString('hex') === sourceDigest;
  return isForSource ? String(row['state']) : 'stale';
}

function isBy(row: Row | undefined, author: string): boolean {
  return [row?.['author_kind'], row?.['token_id'], row?.['provider']].includes(author);
}
