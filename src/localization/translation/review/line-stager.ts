import { blake3OfText } from '../../../platform/hashing/text-blake3.ts';
import type { ReadResult, ReadUnit } from '../../../exchange/units/unit-record.ts';
import type { ImportReport } from '../../../engine/exchange/import-report.ts';
import { unitIdBytes, unitIdText } from '../../unit-id-text.ts';
import type { UnitsAfterPort } from '../judge/unit-source.ts';
import type { RefusedContainers } from '../work/review/review.ts';
import { findLostUnits, type LostUnit } from './find-lost-units.ts';
import type { ReviewPorts } from './review-pages.ts';

/** The outcomes of a unit of a file. */
export const LINE_OUTCOMES = [
  'accepted',
  'repeated',
  'left_out',
  'without_target',
  'unknown_unit',
  'ambiguous_source',
  'source_mismatch',
  'duplicate_unit',
  'task_closed',
  'unreadable',
  'qa_blocked',
  'revision_changed',
  'four_eyes_required',
  'lease_held',
] as const;

/** One of {@link LINE_OUTCOMES}. */
export type LineOutcome = (typeof LINE_OUTCOMES)[number];

/** Rows, and UTF-16 code units of them, that are collected with one call. */
const BATCH = { lines: 200, characters: 256 * 1024 };
/** Units without a known id that are looked for by their place or source, and UTF-16 code units of them. */
const LOST = { units: 10_000, characters: 16 * 1024 * 1024 };

const MESSAGES: Readonly<Partial<Record<LineOutcome, string>>> = {
  unknown_unit: 'is not a unit of the current tasks',
  ambiguous_source: 'has an unknown id, and its source occurs more than once',
  source_mismatch: 'was made for another source text than the stored one; export it again',
  duplicate_unit: 'is in the file twice',
  task_closed: 'belongs to a task that takes no results; open the task first',
};

interface LineStager {
  add(result: ReadResult): Promise<void>;
  /** Looks for the units whose id is unknown. */
  end(): Promise<void>;
  /** Whether a row cannot be used. */
  hasRefused(): boolean;
}

export interface LineStagerPorts extends Pick<ReviewPorts, 'thread'> {
  readonly unitsAfter: UnitsAfterPort;
}

interface StagedFile {
  readonly reviewId: string;
  readonly report: ImportReport<LineOutcome>;
  readonly signal: AbortSignal;
}

type KnownUnit = LostUnit & { readonly unitId: Uint8Array };

/** Creates the collection of the rows of one file. */
export function createLineStager(ports: LineStagerPorts, file: StagedFile): LineStager {
  const refusals = createRefusals(ports, file);
  const lost = createLostUnits(ports, file, refusals);
  const stage = createStage(ports, file, refusals);
  let batch: LostUnit[] = [];
  let characters = 0;
  const flush = async (): Promise<void> => {
    const units = batch;
    batch = [];
    characters = 0;
    for (const unit of await stage(units)) await lost.add(unit);
  };
  return {
    add: async (result) => {
      if (result.kind === 'problem') {
        await refusals.unreadable(result.line, result.message, result);
        return;
      }
      const { line, unit } = result;
      const { source_text: sourceText, target_text: text, revision, locator } = unit;
      if (text === null || text === '') {
        file.report.add(line, 'without_target');
        return;
      }
      if (!text.isWellFormed() || !sourceText.isWellFormed()) {
        const message = 'a text has half of a surrogate pair, which no text can hold';
        await refusals.unreadable(line, message, unit);
        return;
      }
      const unitId = unitIdOf(unit);
      batch.push({
        line,
        unitId,
        locator,
        sourceText,
        sourceDigest: blake3OfText(sourceText),
        text,
        revision,
      });
      characters += sourceText.length + text.length;
      if (batch.length >= BATCH.lines || characters > BATCH.characters) await flush();
    },
    end: async () => {
      await flush();
      await lost.resolve(stage);
    },
    hasRefused: () => refusals.hasRefused(),
  };
}

interface Refusals {
  unit(unit: LostUnit, outcome: LineOutcome): Promise<void>;
  unreadable(
    line: number,
    message: string,
    unit: Pick<ReadUnit, 'unit_id'> & Partial<Pick<ReadUnit, 'locator'>>,
  ): Promise<void>;
  hasRefused(): boolean;
}

/** Creates the record of rows that cannot be used. Their containers are refused, too. */
function createRefusals(
  { thread }: Pick<ReviewPorts, 'thread'>,
  { reviewId, report, signal }: StagedFile,
): Refusals {
  let hasRefused = false;
  const refuse = async (
    line: number,
    outcome: LineOutcome,
    message: string,
    refused: RefusedContainers,
  ): Promise<void> => {
    hasRefused = true;
    report.add(line, outcome, message);
    if (refused.units.length + refused.places.length === 0) return;
    await thread.excludeContainers({ reviewId, refused }, { signal });
  };
  return {
    unit: async ({ line, unitId, locator }, outcome) => {
      const name = unitId === null ? 'a unit without a known id' : unitIdText(unitId);
      const message = `${name} ${MESSAGES[outcome] ?? ''}`;
      await refuse(line, outcome, message, { units: [], places: placesOf(locator) });
    },
    unreadable: async (line, message, unit) => {
      const unitId = unitIdOf(unit);
      const units = unitId === null ? [] : [unitId];
      await refuse(line, 'unreadable', message, { units, places: placesOf(unit.locator ?? null) });
    },
    hasRefused: () => hasRefused,
  };
}

/** Collects units. @returns those whose id is unknown */
type Stage = (units: readonly LostUnit[]) => Promise<readonly LostUnit[]>;

function createStage(
  { thread }: Pick<ReviewPorts, 'thread'>,
  { reviewId, signal }: StagedFile,
  refusals: Refusals,
): Stage {
  return async (units) => {
    const known = units.filter((unit): unit is KnownUnit => unit.unitId !== null);
    const unknown = units.filter(({ unitId }) => unitId === null);
    if (known.length === 0) return unknown;
    const lines = known.map(({ locator: _locator, ...line }) => line);
    const outcomes = await thread.stageLines({ reviewId, lines }, { signal });
    for (const [at, unit] of known.entries()) {
      const outcome = outcomes[at];
      if (outcome === 'unknown_unit') unknown.push(unit);
      else if (outcome !== undefined && outcome !== 'staged') await refusals.unit(unit, outcome);
    }
    return unknown;
  };
}

interface LostUnits {
  add(unit: LostUnit): Promise<void>;
  resolve(stage: Stage): Promise<void>;
}

/** Creates the list of units whose id is unknown. Those beyond its bounds are refused. */
function createLostUnits(
  { unitsAfter }: Pick<LineStagerPorts, 'unitsAfter'>,
  { signal }: StagedFile,
  refusals: Refusals,
): LostUnits {
  const lost: LostUnit[] = [];
  let characters = 0;
  return {
    add: async (unit) => {
      characters += unit.sourceText.length + unit.text.length;
      if (lost.length >= LOST.units || characters > LOST.characters) {
        await refusals.unit(unit, 'unknown_unit');
      } else {
        lost.push(unit);
      }
    },
    resolve: async (stage) => {
      if (lost.length === 0) return;
      const found = await findLostUnits(unitsAfter, lost, signal);
      for (let start = 0; start < lost.length; start += BATCH.lines) {
        const units: LostUnit[] = [];
        for (const [at, unit] of lost.slice(start, start + BATCH.lines).entries()) {
          const unitId = found[start + at] ?? null;
          if (unitId === null) await refusals.unit(unit, 'unknown_unit');
          else if (unitId === 'ambiguous') await refusals.unit(unit, 'ambiguous_source');
          else units.push({ ...unit, unitId });
        }
        // A unit of the index that no task has yet is unknown, too.
        for (const unit of await stage(units)) await refusals.unit(unit, 'unknown_unit');
      }
    },
  };
}

function unitIdOf({ unit_id }: Pick<ReadUnit, 'unit_id'>): Uint8Array | null {
  return unit_id === null ? null : unitIdBytes(unit_id);
}

function placesOf(locator: ReadUnit['locator']): RefusedContainers['places'] {
  return locator === null ? [] : [{ destination: locator.destination, archiveEntry: locator.archive_entry }];
}
