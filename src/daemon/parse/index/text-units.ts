import { int64Value } from '../../../contract/schemas/int64.ts';
import type { TextUnitsReport } from '../../../contract/reports/report-parse.ts';
import type { z } from 'zod';
import type { CarriedBy, ReadCarried } from './carried-units.ts';
import type { ContentReader, StoredLeaf, StoredUnit } from './content-reader.ts';
import type { PartLocation } from '../container/parsed-container.ts';
import type { ReportedIndex } from './reported-index.ts';
import { unitIdText } from './unit-id-text.ts';
import type { UnitQuery } from './unit-filter.ts';
import type { FindPage, UnitSegment } from './unit-segments.ts';

/** The body of `parse.text_units`. */
export type TextUnitsBody = z.output<typeof TextUnitsReport.body>;

type TextUnitItem = TextUnitsBody['items'][number];

export interface TextUnitsDependencies {
  readonly reader: ContentReader;
  readonly findPage: FindPage;
  readonly readCarried: ReadCarried;
  /** Finds the placeholders in a text. */
  readonly placeholdersOf: (text: string) => readonly string[];
}

/** A page of `parse.text_units`. */
export function readTextUnits(
  dependencies: TextUnitsDependencies,
  index: ReportedIndex | null,
  query: UnitQuery,
): TextUnitsBody {
  const { offset, limit } = query;
  if (index === null) return { release_id: null, generation: 0, total: 0, offset, limit, items: [] };
  const { total, segments } = dependencies.findPage(index, query);
  return {
    release_id: index.releaseId,
    generation: index.generation,
    total,
    offset,
    limit,
    items: segments.flatMap((segment) => readSegment(dependencies, index, segment)),
  };
}

function readSegment(
  { reader, readCarried, placeholdersOf }: TextUnitsDependencies,
  index: ReportedIndex,
  segment: UnitSegment,
): TextUnitItem[] {
  const { contentId, first, units: count } = segment;
  const last = first + count - 1;
  const units = new Map(reader.units(contentId, first - 1, last + 1).map((unit) => [unit.ordinal, unit]));
  const carriedAt = readCarried(index, segment);
  return reader.leaves(contentId, first, last).flatMap((leaf) => {
    const ordinals = rangeWithin(leaf, first, last);
    const neighbour = (ordinal: number): string | null => {
      const unit = isWithin(leaf, ordinal) ? units.get(ordinal) : undefined;
      return unit === undefined ? null : unitIdText(unit.unitId);
    };
    return ordinals.flatMap((ordinal) => {
      const unit = units.get(ordinal);
      if (unit === undefined) return [];
      return {
        ...unitFields(unit),
        release_id: index.releaseId,
        destination: segment.destination,
        ...locationFields(leaf),
        placeholders: [...placeholdersOf(unit.sourceText)],
        translatable: true,
        reason: null,
        previous_unit_id: neighbour(ordinal - 1),
        next_unit_id: neighbour(ordinal + 1),
        carried_by: carriedField(carriedAt(ordinal), unit),
      };
    });
  });
}

/** The fields of a unit in reports that do not depend on its surroundings. */
export function unitFields(
  unit: StoredUnit,
): Pick<
  TextUnitItem,
  'unit_id' | 'field_path' | 'key_path' | 'source_text' | 'source_digest' | 'ordinal' | 'speaker' | 'scene'
> {
  return {
    unit_id: unitIdText(unit.unitId),
    field_path: unit.fieldPath,
    key_path: unit.keyPath,
    source_text: unit.sourceText,
    source_digest: Buffer.from(unit.sourceDigest).toString('hex'),
    ordinal: unit.ordinal,
    speaker: unit.speaker,
    scene: unit.scene,
  };
}

/** The fields of a location in reports. */
export function locationFields({
  archiveEntry,
  pathId,
  classId,
  format,
}: PartLocation): Pick<TextUnitItem, 'archive_entry' | 'path_id' | 'class_id' | 'format'> {
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

function isWithin({ firstOrdinal, units }: StoredLeaf, ordinal: number): boolean {
  return ordinal >= firstOrdinal && ordinal < firstOrdinal + units;
}

function rangeWithin(leaf: StoredLeaf, first: number, last: number): number[] {
  const from = Math.max(leaf.firstOrdinal, first);
  const to = Math.min(leaf.firstOrdinal + leaf.units - 1, last);
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
}
