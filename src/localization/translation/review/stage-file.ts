import { formatOfFile, type FormatName } from '../../../contract/formats/exchange-formats.ts';
import { blake3OfText } from '../../../platform/hashing/text-blake3.ts';
import type { ReadResult, ReadUnit, UnitLocator } from '../../../exchange/units/unit-record.ts';
import type { ImportCopy } from '../../../engine/exchange/import-copy.ts';
import type { ImportReport } from '../../../engine/exchange/import-report.ts';
import { TaskError } from '../../../engine/tasks/task.ts';
import { unitIdBytes, unitIdText } from '../../unit-id-text.ts';
import type { UnitsAfterPort } from '../judge/unit-source.ts';
import type { RunContext } from '../run-context.ts';
import type { RefusedContainers } from '../work/review/review.ts';
import type { TranslationThread } from '../work/translation-worker.ts';
import { FIRST_UNIT, type UnitPlace, type UnitsAfter } from '../../parse/index/read/units-after.ts';

/** The outcomes of a unit of a file; the last two are remarks beside another outcome. */
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
  'line_ends_changed',
  'spreadsheet_value',
] as const;

/** One of {@link LINE_OUTCOMES}. */
export type LineOutcome = (typeof LINE_OUTCOMES)[number];

/** Most bytes of a file of translations. */
export const MAX_FILE_BYTES = 256 * 1024 * 1024;
const MAX_UNITS = 500_000;
/** Rows, and UTF-16 code units of them, that are collected with one call. */
const BATCH = { lines: 200, characters: 256 * 1024 };
/** Units without a known id that are searched for by their place or source, and UTF-16 code units of them. */
const LOST = { units: 10_000, characters: 16 * 1024 * 1024 };
/** Bytes that are read of a file whose name does not show its format. */
const FORMAT_BYTES = 256;

const MESSAGES: Readonly<Partial<Record<LineOutcome, string>>> = {
  unknown_unit: 'is not a unit of the current tasks',
  ambiguous_source: 'has an unknown id, and its source occurs more than once',
  source_mismatch: 'was made for another source text than the stored one; export it again',
  duplicate_unit: 'is in the file twice',
  task_closed: 'belongs to a task that takes no results; open the task first',
  line_ends_changed:
    'has other line ends in the file than in the release or the stored target, which stay as they are',
};

interface Staging {
  readonly thread: TranslationThread;
  readonly unitsAfter: UnitsAfterPort;
  readonly reviewId: string;
  readonly report: ImportReport<LineOutcome>;
  readonly signal: AbortSignal;
  /** Units whose id is unknown. */
  readonly lost: FileUnit[];
  hasRefused: boolean;
}

/**
 * Reads a file of translations to its end and collects its rows for their judgement.
 *
 * @param file its name, for messages
 * @returns the number of its units, whether a row cannot be used (the report has the reasons), and what was left out of the file
 * @throws TaskError `file_refused`; ExchangeFileError; the signal's reason
 */
export async function stageFile(
  { thread, unitsAfter }: { readonly thread: TranslationThread; readonly unitsAfter: UnitsAfterPort },
  { signal, progress }: RunContext,
  file: string,
  copy: ImportCopy,
  { reviewId, report }: { readonly reviewId: string; readonly report: ImportReport<LineOutcome> },
): Promise<{ readonly units: number; readonly hasRefused: boolean; readonly notices: readonly string[] }> {
  const staging: Staging = { thread, unitsAfter, reviewId, report, signal, lost: [], hasRefused: false };
  // Spares the daemon the readers and writers of all formats until a file is imported.
  const { createUnitReader, readUnits } = await import('../../../exchange/units/unit-formats.ts');
  const reader = createUnitReader(await formatOfUnits(file, copy.read()));
  let units = 0;
  let batch: FileUnit[] = [];
  for await (const result of readUnits(reader, copy.read())) {
    signal.throwIfAborted();
    units += 1;
    if (units > MAX_UNITS) {
      throw new TaskError(
        'file_refused',
        `${file}: line ${result.line}: the file has more than ${MAX_UNITS} units; divide it. Nothing was changed`,
        { details: { file, reason: 'limit_exceeded', line: result.line } },
      );
    }
    const unit = await usableUnit(staging, result);
    if (unit !== null) batch.push(unit);
    if (batch.length >= BATCH.lines || charactersOf(batch) > BATCH.characters) {
      await keepLost(staging, await stage(staging, batch));
      batch = [];
    }
    progress(units, null, 'units', 'reading the file');
  }
  await keepLost(staging, await stage(staging, batch));
  await stageLost(staging);
  return { units, hasRefused: staging.hasRefused, notices: reader.notices?.() ?? [] };
}

/** The format of a file of units: by the ending of its name, else by its first character. */
async function formatOfUnits(name: string, content: AsyncIterable<Uint8Array>): Promise<FormatName<'units'>> {
  const known = formatOfFile('units', name);
  if (known !== null) return known;
  let start = '';
  for await (const bytes of content) {
    start = Buffer.from(bytes.subarray(0, FORMAT_BYTES)).toString('latin1');
    break;
  }
  // The byte order mark, the zeros of UTF-16 and blanks are passed over.
  // oxlint-disable-next-line no-control-regex
  const text = start.replaceAll(/^[\s\u00ef\u00bb\u00bf\u00fe\u00ff\u0000]+|\u0000/g, '');
  const [first] = text;
  // Both versions of XLIFF have the same reader.
  if (first === '<') return 'xliff-1.2';
  if (start.startsWith('PK')) return 'xlsx';
  // A comment or a message of gettext. The name of a column can be "#" as well.
  if (/^(?:#(?:[ .:|~\r\n]|,[ \t]|,fuzzy)|msg(?:id|ctxt)[ \t"])/.test(text)) return 'po';
  return first === '{' ? 'jsonl' : 'csv';
}

/** The unit of a row; `null` for one without a target, or that cannot be read. */
async function usableUnit(staging: Staging, result: ReadResult): Promise<FileUnit | null> {
  const { line, sheet = null } = result;
  if (result.kind === 'problem') {
    await refuseUnreadable(staging, line, ofSheet(sheet, result.message), result.unit_id, null);
    return null;
  }
  const { unit_id, source_text: sourceText, target_text: text, revision, locator } = result.unit;
  if (text === null || text === '') {
    staging.report.add(line, 'without_target');
    return null;
  }
  if (!text.isWellFormed() || !sourceText.isWellFormed()) {
    const message = 'a text has half of a surrogate pair, which no text can hold';
    await refuseUnreadable(staging, line, ofSheet(sheet, message), unit_id, locator);
    return null;
  }
  const { table } = result;
  if (typeof table?.remark === 'string')
    staging.report.remark(line, 'spreadsheet_value', ofSheet(sheet, table.remark));
  return {
    line,
    sheet,
    unitId: unitIdOf(unit_id),
    locator,
    sourceText,
    sourceDigest: blake3OfText(sourceText),
    text,
    revision,
    isOfTable: table !== undefined,
  };
}

/** Collects units. @returns those whose id is unknown */
async function stage(staging: Staging, units: readonly FileUnit[]): Promise<readonly FileUnit[]> {
  const { thread, reviewId, signal } = staging;
  const unknown = units.filter(({ unitId }) => unitId === null);
  const known = units.filter(({ unitId }) => unitId !== null);
  if (known.length === 0) return unknown;
  const lines = known.flatMap(({ locator: _locator, sheet: _sheet, unitId, ...line }) =>
    unitId === null ? [] : [{ ...line, unitId }],
  );
  const outcomes = await thread.stageLines({ reviewId, lines }, { signal });
  for (const [at, unit] of known.entries()) {
    const outcome = outcomes[at];
    if (outcome === 'unknown_unit') unknown.push(unit);
    else if (outcome === 'line_ends_changed')
      staging.report.remark(unit.line, outcome, messageOf(unit, outcome));
    else if (outcome !== undefined && outcome !== 'staged') await refuseUnit(staging, unit, outcome);
  }
  return unknown;
}

/** Keeps units whose id is unknown, to search for them at the end. Those beyond the bounds are refused. */
async function keepLost(staging: Staging, units: readonly FileUnit[]): Promise<void> {
  let characters = charactersOf(staging.lost);
  for (const unit of units) {
    const more = charactersOf([unit]);
    if (staging.lost.length < LOST.units && characters + more <= LOST.characters) {
      characters += more;
      staging.lost.push(unit);
    } else await refuseUnit(staging, unit, 'unknown_unit');
  }
}

/** Searches for the units whose id is unknown, and collects those that are found. */
async function stageLost(staging: Staging): Promise<void> {
  const { lost, unitsAfter, signal } = staging;
  if (lost.length === 0) return;
  const ids = await findLostUnits(unitsAfter, lost, signal);
  for (let start = 0; start < lost.length; start += BATCH.lines) {
    const found: FileUnit[] = [];
    for (const [at, unit] of lost.slice(start, start + BATCH.lines).entries()) {
      const unitId = ids[start + at] ?? null;
      if (unitId === null) await refuseUnit(staging, unit, 'unknown_unit');
      else if (unitId === 'ambiguous') await refuseUnit(staging, unit, 'ambiguous_source');
      else found.push({ ...unit, unitId });
    }
    // A unit without a task is unknown as well, even when the index has it.
    for (const unit of await stage(staging, found)) await refuseUnit(staging, unit, 'unknown_unit');
  }
}

async function refuseUnit(staging: Staging, unit: FileUnit, outcome: LineOutcome): Promise<void> {
  const refused = { units: [], places: placesOf(unit.locator) };
  await refuse(staging, unit.line, outcome, messageOf(unit, outcome), refused);
}

function messageOf({ unitId, sheet }: FileUnit, outcome: LineOutcome): string {
  const name = unitId === null ? 'a unit without a known id' : unitIdText(unitId);
  return ofSheet(sheet, `${name} ${MESSAGES[outcome] ?? ''}`);
}

/** A message that names the sheet: each sheet of a workbook has lines of its own. */
function ofSheet(sheet: string | null, message: string): string {
  return sheet === null ? message : `the sheet ${JSON.stringify(sheet)}: ${message}`;
}

async function refuseUnreadable(
  staging: Staging,
  line: number,
  message: string,
  unit: string | null,
  locator: ReadUnit['locator'],
): Promise<void> {
  const unitId = unitIdOf(unit);
  const units = unitId === null ? [] : [unitId];
  await refuse(staging, line, 'unreadable', message, { units, places: placesOf(locator) });
}

/** Reports a row that cannot be used, and refuses its containers. */
async function refuse(
  staging: Staging,
  line: number,
  outcome: LineOutcome,
  message: string,
  refused: RefusedContainers,
): Promise<void> {
  const { thread, reviewId, report, signal } = staging;
  staging.hasRefused = true;
  report.add(line, outcome, message);
  if (refused.units.length + refused.places.length === 0) return;
  await thread.excludeContainers({ reviewId, refused }, { signal });
}

function charactersOf(units: readonly FileUnit[]): number {
  return units.reduce((sum, { sourceText, text }) => sum + sourceText.length + text.length, 0);
}

function unitIdOf(text: string | null): Uint8Array | null {
  return text === null ? null : unitIdBytes(text);
}

function placesOf(locator: ReadUnit['locator']): RefusedContainers['places'] {
  return locator === null ? [] : [{ destination: locator.destination, archiveEntry: locator.archive_entry }];
}

/** A row of a file. */
interface FileUnit {
  readonly line: number;
  /** The name of its sheet; `null` for a file without sheets. */
  readonly sheet: string | null;
  /** `null` when it is unknown. */
  readonly unitId: Uint8Array | null;
  readonly locator: UnitLocator | null;
  readonly sourceText: string;
  readonly sourceDigest: Uint8Array;
  readonly text: string;
  /** That the target had when the file was written; `null` when the file has none. */
  readonly revision: number | null;
  readonly isOfTable: boolean;
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
async function findLostUnits(
  unitsAfter: UnitsAfterPort,
  lost: readonly FileUnit[],
  signal: AbortSignal,
): Promise<readonly (Uint8Array | 'ambiguous' | null)[]> {
  const places = new Set(lost.flatMap(({ locator }) => (locator === null ? [] : [keyOf(locator)])));
  const sources = new Set(lost.map(({ sourceText }) => sourceText));
  const atPlace = new Map<string, Uint8Array>();
  const ofSource = new Map<string, Uint8Array | 'ambiguous'>();
  let from: UnitPlace | null = FIRST_UNIT;
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
