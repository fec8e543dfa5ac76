import type { ReadResult, UnitLocator } from '../../../exchange/units/unit-record.ts';
import type { UnitState } from '../../../domain/translation/unit-state.ts';
import type { SentFinding } from './outcomes.ts';
import { placeOf, type ServiceUnit } from './service-pages.ts';

/** A unit of a file. */
export type FileUnit = Extract<ReadResult, { kind: 'unit' }>;

/** A unit of the service, as far as an import needs it. */
export interface KnownUnit {
  readonly unitId: string;
  readonly place: UnitLocator;
  readonly sourceText: string;
  /** Whether its texts are longer than the report shows. */
  readonly isCut: boolean;
  readonly taskId: string;
  readonly state: UnitState;
  readonly revision: number;
  readonly targetText: string | null;
  /** Whether its target is that of another unit with the same text. */
  readonly isPropagated: boolean;
  /** The person who works on it now. */
  readonly claimedBy: string | null;
  readonly author: NonNullable<ServiceUnit['translation']>['author'];
  /** Those on its target that no reviewer has accepted. */
  readonly findings: readonly SentFinding[];
}

/** The unit of the service that a unit of a file means. */
export interface FoundUnit {
  readonly by: 'id' | 'place' | 'source';
  readonly unit: KnownUnit;
}

/** The result of the search for a unit. */
export type MatchResult = FoundUnit | { readonly by: null; readonly isAmbiguous: boolean };

/** Finds the units of the service that the units of a file mean. */
export interface UnitMatcher {
  /** Looks at units of the service; each one is given once. */
  see(units: readonly ServiceUnit[]): void;
  /** Whether a unit of the file is still not found by its id or place. */
  isOpen(): boolean;
  resultOf(unit: FileUnit): MatchResult;
}

interface Candidates {
  id: KnownUnit | null;
  place: KnownUnit | null;
  source: KnownUnit | null;
  sources: number;
}

/**
 * Creates the search. The id decides; without such an id the place with the same source, then the source, if it is there only once.
 * Texts of a release can move: a place with another source says nothing.
 */
export function createUnitMatcher(units: readonly FileUnit[]): UnitMatcher {
  const candidates = new Map<FileUnit, Candidates>(
    units.map((unit) => [unit, { id: null, place: null, source: null, sources: 0 }]),
  );
  const byId = Map.groupBy(units, ({ unit }) => unit.unit_id);
  const byPlace = Map.groupBy(units, ({ unit }) => (unit.locator === null ? null : placeKey(unit.locator)));
  const bySource = Map.groupBy(units, ({ unit }) => unit.source_text);
  let open = units.length;
  const take = (unit: FileUnit, change: (found: Candidates) => void): void => {
    const found = candidates.get(unit);
    if (found === undefined) return;
    const before = isSure(found);
    change(found);
    if (!before && isSure(found)) open -= 1;
  };
  const see = (unit: KnownUnit): void => {
    for (const each of byId.get(unit.unitId) ?? []) take(each, (found) => (found.id = unit));
    const sameSource = bySource.get(unit.sourceText) ?? [];
    if (sameSource.length === 0) return;
    for (const each of byPlace.get(placeKey(unit.place)) ?? []) {
      if (each.unit.source_text === unit.sourceText) take(each, (found) => (found.place = unit));
    }
    for (const each of sameSource) {
      take(each, (found) => {
        found.source ??= unit;
        found.sources += 1;
      });
    }
  };
  return {
    see: (seen) => {
      for (const each of seen) {
        const unit = knownUnit(each);
        if (unit !== null) see(unit);
      }
    },
    isOpen: () => open > 0,
    resultOf: (unit) => {
      const { id = null, place = null, source = null, sources = 0 } = candidates.get(unit) ?? {};
      if (id !== null) return { by: 'id', unit: id };
      if (place !== null) return { by: 'place', unit: place };
      if (source !== null && sources === 1) return { by: 'source', unit: source };
      return { by: null, isAmbiguous: sources > 1 };
    },
  };
}

/** The part of a unit that an import needs; `null` for a text that is not in a task. */
export function knownUnit(unit: ServiceUnit): KnownUnit | null {
  const { translation } = unit;
  if (!unit.translatable || translation === null || translation.task_id === null) return null;
  return {
    unitId: unit.unit_id,
    place: placeOf(unit),
    sourceText: unit.source_text,
    isCut: unit.is_cut || translation.is_cut,
    taskId: translation.task_id,
    state: translation.state,
    revision: translation.revision,
    targetText: translation.target_text,
    isPropagated: translation.propagated_from !== null,
    claimedBy: translation.claim?.owner ?? null,
    author: translation.author,
    findings: openFindings(translation),
  };
}

function openFindings({
  findings,
  waivers,
}: NonNullable<ServiceUnit['translation']>): readonly SentFinding[] {
  const waived = new Set(waivers.map(({ check }) => check));
  return findings
    .filter(({ check }) => !waived.has(check))
    .map(({ check, severity, message }) => ({ check, severity, message }));
}

function isSure({ id, place }: Candidates): boolean {
  return id !== null || place !== null;
}

function placeKey({ destination, archive_entry, path_id, field_path }: UnitLocator): string {
  return JSON.stringify([destination, archive_entry, path_id, field_path]);
}
