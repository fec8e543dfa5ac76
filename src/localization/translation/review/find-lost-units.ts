import type { UnitLocator } from '../../../exchange/units/unit-record.ts';
import type { UnitPlace, UnitsAfter } from '../../parse/index/read/units-after.ts';
import type { UnitsAfterPort } from '../judge/unit-source.ts';

/** A row of a file. */
export interface FileUnit {
  readonly line: number;
  /** `null` when it is unknown. */
  readonly unitId: Uint8Array | null;
  readonly locator: UnitLocator | null;
  readonly sourceText: string;
  readonly sourceDigest: Uint8Array;
  readonly text: string;
  /** That the target had when the file was written; `null` when the file has none. */
  readonly revision: number | null;
}

/** Bounds of one page: it passes through the event loop. */
const PAGE = { units: 500, characters: 256 * 1024 };

/**
 * Searches for units in the indexed release: at their place, else by their source text where it occurs once.
 *
 * @returns one answer for each, in their order: its id; `ambiguous` for a source that occurs more than once; `null` for a unit that is
 * not there
 * @throws TaskError of the parse index; the signal's reason
 */
export async function findLostUnits(
  unitsAfter: UnitsAfterPort,
  lost: readonly FileUnit[],
  signal: AbortSignal,
): Promise<readonly (Uint8Array | 'ambiguous' | null)[]> {
  const places = new Set(lost.flatMap(({ locator }) => (locator === null ? [] : [keyOf(locator)])));
  const sources = new Set(lost.map(({ sourceText }) => sourceText));
  const atPlace = new Map<string, Uint8Array>();
  const ofSource = new Map<string, Uint8Array | 'ambiguous'>();
  let from: UnitPlace | null = { position: 0, ordinal: 0 };
  while (from !== null) {
    const page: UnitsAfter = await unitsAfter(
      { from, limit: PAGE.units, maxCharacters: PAGE.characters },
      signal,
    );
    for (const unit of page.items) {
      const { destination, archiveEntry, pathId, fieldPath, sourceText, unitId } = unit;
      const key = keyOf({ destination, archive_entry: archiveEntry, path_id: pathId, field_path: fieldPath });
      if (places.has(key)) atPlace.set(key, unitId);
      if (sources.has(sourceText)) ofSource.set(sourceText, ofSource.has(sourceText) ? 'ambiguous' : unitId);
    }
    from = page.next;
  }
  return lost.map(({ locator, sourceText }) => {
    const place = locator === null ? undefined : atPlace.get(keyOf(locator));
    return place ?? ofSource.get(sourceText) ?? null;
  });
}

function keyOf({ destination, archive_entry, path_id, field_path }: UnitLocator): string {
  return JSON.stringify([destination, archive_entry, path_id, field_path]);
}
