import { int64Value } from '../../../../domain/int64-value.ts';
import type { TextUnitsReport } from '../../../../contract/reports/report-parse.ts';
import type { z } from 'zod';
import { findPlaceholders } from '../../../../domain/text/placeholders.ts';
import { cutText } from '../../../../domain/text/cut-text.ts';
import type { CarriedBy, ReadCarried, FindPage, UnitSegment } from './unit-segments.ts';
import type { ContentReader, StoredLeaf, StoredUnit } from './content-reader.ts';
import { keyPathParts, type PartLocation } from '../../container/parsed-container.ts';
import { releasePage } from './release-page.ts';
import type { ReportedIndex } from './reported-index.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import type { UnitQuery } from './unit-filter.ts';
import type { NamedPlace } from './unit-search.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';

export type TextUnitsBody = z.output<typeof TextUnitsReport.body>;

type TextUnitItem = Omit<TextUnitsBody['items'][number], 'translation' | 'box'>;

/** The part of `parse.text_units` that the index knows. */
export type TextUnitsPage = Omit<TextUnitsBody, 'items' | 'translations' | 'history'> & {
  readonly items: TextUnitItem[];
};

interface TextUnitsDependencies {
  readonly reader: ContentReader;
  readonly findPage: FindPage;
  readonly readCarried: ReadCarried;
}

/** UTF-16 code units of a text in a report; longer ones are cut. One unit must not fill a whole answer. */
const MAX_TEXT = 256 * 1024;

/** A page of units without their translations. It ends early when its texts are long. */
export function readTextUnits(
  dependencies: TextUnitsDependencies,
  index: ReportedIndex | null,
  query: UnitQuery,
): TextUnitsPage {
  return releasePage<TextUnitItem>(index, query, (reported, page) => {
    const { total, segments } = dependencies.findPage(reported, query);
    for (const segment of segments) {
      if (page.isFull) break;
      for (const item of readSegment(dependencies, reported, segment)) {
        page.add(item);
        if (page.isFull) break;
      }
    }
    return total;
  });
}

/** The units at some places of the reported release, in the given order; those that are not there are left out. */
export function readUnitsAt(
  dependencies: TextUnitsDependencies & { readonly database: Database },
  index: ReportedIndex | null,
  { places, query }: { readonly places: readonly NamedPlace[]; readonly query: UnitQuery },
): TextUnitsPage {
  const file = dependencies.database.prepare(
    'SELECT position, content_id FROM container WHERE index_id = ? AND destination = ?',
  );
  return releasePage<TextUnitItem>(index, query, (reported, page) => {
    for (const { destination, ordinal, unitId } of places) {
      if (page.isFull) break;
      const row = file.get(reported.indexId, destination);
      if (row === undefined) continue;
      const [position, contentId] = [Number(row['position']), Number(row['content_id'])];
      const segment = { position, destination, contentId, first: ordinal, units: 1 };
      for (const item of readSegment(dependencies, reported, segment)) {
        if (item.unit_id === unitId) page.add(item);
      }
    }
    return reported.totals.units;
  });
}

function* readSegment(
  { reader, readCarried }: TextUnitsDependencies,
  index: ReportedIndex,
  segment: UnitSegment,
): Generator<TextUnitItem, void> {
  const { contentId, first, units: count } = segment;
  const last = first + count - 1;
  const ids = reader.unitIds(contentId, first - 1, last + 1);
  const carriedAt = readCarried(index, segment);
  for (const { unit, leaf } of reader.eachUnit(contentId, first, last)) {
    const { ordinal } = unit;
    const neighbour = (other: number): string | null => {
      const id = isWithin(leaf, other) ? ids.get(other) : undefined;
      return id === undefined ? null : unitIdText(id);
    };
    const fields = unitFields(unit);
    yield {
      ...fields,
      release_id: index.releaseId,
      destination: segment.destination,
      ...locationFields(leaf),
      placeholders: [...findPlaceholders(fields.source_text)],
      translatable: true,
      reason: null,
      previous_unit_id: neighbour(ordinal - 1),
      next_unit_id: neighbour(ordinal + 1),
      carried_by: carriedField(carriedAt(ordinal), unit),
    };
  }
}

/** The fields of a unit that do not depend on its surroundings. */
export interface UnitFields {
  readonly unit_id: string;
  readonly field_path: string;
  readonly key_path: string[];
  readonly source_text: string;
  readonly is_cut: boolean;
  readonly source_digest: string;
  readonly ordinal: number;
  readonly speaker: string | null;
  readonly scene: string | null;
}

export interface LocationFields {
  readonly archive_entry: string | null;
  readonly path_id: number | bigint | null;
  readonly class_id: number | null;
  readonly format: string;
}

/** Renders the fields of a unit that do not depend on its surroundings; a long text is cut. */
export function unitFields(unit: StoredUnit): UnitFields {
  const source = cutText(unit.sourceText, MAX_TEXT);
  return {
    unit_id: unitIdText(unit.unitId),
    field_path: unit.fieldPath,
    key_path: keyPathParts(unit.keyPath),
    source_text: source.text,
    is_cut: source.isCut,
    source_digest: Buffer.from(unit.sourceDigest).toString('hex'),
    ordinal: unit.ordinal,
    speaker: unit.speaker,
    scene: unit.scene,
  };
}

export function locationFields({ archiveEntry, pathId, classId, format }: PartLocation): LocationFields {
  return {
    archive_entry: archiveEntry,
    path_id: pathId === null ? null : int64Value(pathId),
    class_id: classId,
    format,
  };
}

function carriedField(carried: CarriedBy | null, unit: StoredUnit): TextUnitItem['carried_by'] {
  return carried === null
    ? null
    : { tier: carried.tier, unit_id: unitIdText(carried.oldUnitId ?? unit.unitId) };
}

function isWithin(leaf: StoredLeaf, ordinal: number): boolean {
  return ordinal >= leaf.firstOrdinal && ordinal < leaf.firstOrdinal + leaf.units;
}
