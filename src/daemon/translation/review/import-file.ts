import { blake3OfText } from '../../../platform/hashing/text-blake3.ts';
import { readUnits } from '../../../exchange/units/unit-formats.ts';
import type { ReadResult, UnitLocator } from '../../../exchange/units/unit-record.ts';
import { exchangeTaskError } from '../../exchange/exchange-failure.ts';
import { copyForImport, type ImportCopy } from '../../exchange/import-copy.ts';
import { createImportReport, type ImportReport } from '../../exchange/import-report.ts';
import { unitIdBytes, unitIdText } from '../../parse/index/unit-id-text.ts';
import type { ArgumentsOf } from '../../tasks/job.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../tasks/task.ts';
import type { UnitsAfterPort } from '../judge/unit-source.ts';
import type { ImportDone, RefusedContainers, ReviewBy, ReviewLine } from '../work/review.ts';
import { findLostUnits, type LostUnit } from './find-lost-units.ts';
import { formatOfFile } from './file-format.ts';
import type { PROOFREAD_IMPORT_JOB } from './review-jobs.ts';
import { judgeReview, type ReviewPorts } from './review-pages.ts';
import { settleMemory, type MemoryPorts } from './settle-memory.ts';

export interface FileImportPorts extends ReviewPorts, MemoryPorts {
  readonly unitsAfter: UnitsAfterPort;
  /** The folder of exchanged files. */
  readonly exchangeRoot: () => string;
  /** A private folder for the copy of the file. */
  readonly privateFolder: string;
  /** Whether a token must not accept its own targets. */
  readonly fourEyes: () => boolean;
}

type ImportContext = Pick<
  TaskContext<ArgumentsOf<typeof PROOFREAD_IMPORT_JOB>>,
  'args' | 'signal' | 'progress'
>;

/** What can become of a unit of a file. */
const OUTCOMES = [
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

type Outcome = (typeof OUTCOMES)[number];

/** Bounds of a file. */
const MAX_BYTES = 256 * 1024 * 1024;
const MAX_UNITS = 500_000;
/** Rows, and UTF-16 code units of them, that are collected with one call. */
const BATCH = { lines: 200, characters: 256 * 1024 };
/** Units without a known id that are looked for by their place or source, and UTF-16 code units of them. */
const LOST = { units: 10_000, characters: 16 * 1024 * 1024 };

/**
 * Accepts the targets of a file that a person has reviewed: all of them or nothing; with `partial`, all of each container or nothing of it.
 * Units are found by their id, else by their place, else by their source where it occurs once.
 *
 * @throws TaskError `file_refused` with line and reason, `import_refused` with the report; those of the exchange folder, of the parse
 * index and of translation.db; the signal's reason
 */
export async function importFile(ports: FileImportPorts, context: ImportContext): Promise<TaskResult> {
  const { args, signal } = context;
  const file = args.translation_file;
  try {
    const copy = await copyForImport({
      root: ports.exchangeRoot(),
      privateFolder: ports.privateFolder,
      file,
      maxBytes: MAX_BYTES,
      signal,
    });
    try {
      return await importCopy(ports, context, copy);
    } finally {
      await copy.close();
    }
  } catch (error) {
    throw exchangeTaskError(file, error);
  }
}

async function importCopy(
  ports: FileImportPorts,
  context: ImportContext,
  copy: ImportCopy,
): Promise<TaskResult> {
  const { args, signal, progress } = context;
  const { thread } = ports;
  const report = createImportReport<Outcome>(OUTCOMES);
  const { reviewId } = await thread.call('beginFileReview', null, { signal });
  try {
    const staged = await stageFile(ports, context, { reviewId, copy, report });
    await judgeReview(ports, reviewId, signal, (judged) => {
      progress(judged, staged.units, 'entries', 'judging targets');
    });
    const by = {
      reviewer: args.reviewer,
      reason: args.reason,
      tokenId: args.token_id,
      fourEyes: ports.fourEyes(),
    };
    const done = await thread.call('applyFileReview', {
      reviewId,
      by: { ...by, isPartial: args.partial, hasRefused: staged.hasRefused },
    });
    const result = {
      file: args.translation_file,
      sha256: copy.sha256,
      ...reportOf(report, done),
      containers: done.containers.map(containerFields),
    };
    if (!done.isApplied) throw refusal(args.translation_file, result);
    return { ...result, memory: await settle(ports, reviewId, by, done, signal) };
  } finally {
    await thread.call('endReview', reviewId).catch(() => undefined);
  }
}

async function settle(
  ports: FileImportPorts,
  reviewId: string,
  by: ReviewBy,
  { acceptedTasks }: ImportDone,
  signal: AbortSignal,
): Promise<TaskResult | 'unavailable'> {
  const made = new Set(acceptedTasks);
  const isMade = (taskId: string): boolean => made.has(taskId);
  return await settleMemory(ports, { reviewId, decision: 'accept', by, isMade }, signal);
}

function refusal(
  file: string,
  result: TaskResult & { readonly issues: readonly { readonly line: number; readonly message: string }[] },
): TaskError {
  const [first] = result.issues;
  const why = first === undefined ? '' : `, the first one: line ${first.line}: ${first.message}`;
  return new TaskError(
    'import_refused',
    `${file}: units cannot be accepted${why}; nothing was changed. Correct them, or send args ["partial=true"] to take the other containers`,
    { details: result },
  );
}

function containerFields({
  taskId,
  destination,
  archiveEntry,
  written,
  repeated,
  refused,
}: ImportDone['containers'][number]): TaskResult {
  return { task_id: taskId, destination, archive_entry: archiveEntry, written, repeated, refused };
}

/** The report of a file with what became of its collected rows. */
function reportOf(
  report: ImportReport<Outcome>,
  { refusedLines, refusedCounts, written, repeated, leftOut }: ImportDone,
) {
  for (const { line, code, message } of refusedLines) report.add(line, code, message);
  const { counts, ...rest } = report.result();
  return {
    counts: { ...counts, ...refusedCounts, accepted: written, repeated, left_out: leftOut },
    ...rest,
  };
}

/** A file that is being collected. */
interface Staging {
  readonly reviewId: string;
  readonly copy: ImportCopy;
  readonly report: ImportReport<Outcome>;
}

/** Reads a file to its end and collects its rows. */
async function stageFile(
  ports: FileImportPorts,
  context: ImportContext,
  { reviewId, copy, report }: Staging,
): Promise<{ units: number; hasRefused: boolean }> {
  const { args, signal, progress } = context;
  const stager = createStager(ports, reviewId, report, signal);
  const format = await formatOfFile(args.translation_file, copy.read());
  let units = 0;
  for await (const result of readUnits(format, copy.read())) {
    signal.throwIfAborted();
    units += 1;
    if (units > MAX_UNITS) {
      throw new TaskError(
        'file_refused',
        `${args.translation_file}: line ${result.line}: the file has more than ${MAX_UNITS} units; divide it. Nothing was changed`,
        { details: { file: args.translation_file, reason: 'limit_exceeded', line: result.line } },
      );
    }
    await stager.add(result);
    progress(units, null, 'entries', 'reading the file');
  }
  await stager.end();
  return { units, hasRefused: stager.hasRefused() };
}

interface Stager {
  add(result: ReadResult): Promise<void>;
  end(): Promise<void>;
  hasRefused(): boolean;
}

const MESSAGES: Readonly<Partial<Record<Outcome, string>>> = {
  unknown_unit: 'is not a unit of the current tasks',
  ambiguous_source: 'has an unknown id, and its source occurs more than once',
  source_mismatch: 'was made for another source text than the stored one; export it again',
  duplicate_unit: 'is in the file twice',
  task_closed: 'belongs to a task that takes no results; open the task first',
};

/** Creates the collection of rows in batches. */
function createStager(
  { thread, unitsAfter }: Pick<FileImportPorts, 'thread' | 'unitsAfter'>,
  reviewId: string,
  report: ImportReport<Outcome>,
  signal: AbortSignal,
): Stager {
  let hasRefused = false;
  let batch: LostUnit[] = [];
  let characters = 0;
  const lost: LostUnit[] = [];
  let lostCharacters = 0;
  const refuse = async (line: number, outcome: Outcome, message: string, refused: RefusedContainers) => {
    hasRefused = true;
    report.add(line, outcome, message);
    if (refused.units.length + refused.places.length === 0) return;
    await thread.call('excludeContainers', { reviewId, refused }, { signal });
  };
  const refuseUnit = async ({ line, unitId, locator }: LostUnit, outcome: Outcome) => {
    const name = unitId === null ? 'a unit without an id' : unitIdText(unitId);
    await refuse(line, outcome, `${name} ${MESSAGES[outcome] ?? ''}`, {
      units: [],
      places: placesOf(locator),
    });
  };
  const stage = async (units: readonly LostUnit[], isLast: boolean): Promise<void> => {
    const known = units.filter((unit): unit is KnownUnit => unit.unitId !== null);
    const lines: readonly ReviewLine[] = known.map(({ locator: _locator, ...line }) => line);
    const outcomes = await thread.call('stageLines', { reviewId, lines }, { signal });
    const unknown = units.filter(({ unitId }) => unitId === null);
    for (const [at, unit] of known.entries()) {
      const outcome = outcomes[at];
      if (outcome === 'unknown_unit') unknown.push(unit);
      else if (outcome !== undefined && outcome !== 'staged') await refuseUnit(unit, outcome);
    }
    for (const unit of unknown) {
      lostCharacters += unit.sourceText.length + unit.text.length;
      if (isLast || lost.length >= LOST.units || lostCharacters > LOST.characters) {
        await refuseUnit(unit, 'unknown_unit');
      } else {
        lost.push(unit);
      }
    }
  };
  const flush = async (): Promise<void> => {
    const units = batch;
    batch = [];
    characters = 0;
    if (units.length > 0) await stage(units, false);
  };
  return {
    add: async (result) => {
      if (result.kind === 'problem') {
        const unitId = result.unit_id === null ? null : unitIdBytes(result.unit_id);
        const units = unitId === null ? [] : [unitId];
        await refuse(result.line, 'unreadable', result.message, { units, places: [] });
        return;
      }
      const { line, unit } = result;
      const { unit_id, locator, source_text: sourceText, target_text: text, revision } = unit;
      if (text === null || text === '') {
        report.add(line, 'without_target');
        return;
      }
      const unitId = unit_id === null ? null : unitIdBytes(unit_id);
      if (!text.isWellFormed() || !sourceText.isWellFormed()) {
        const message = 'a text has half of a surrogate pair, which no text can hold';
        const units = unitId === null ? [] : [unitId];
        await refuse(line, 'unreadable', message, { units, places: placesOf(locator) });
        return;
      }
      const sourceDigest = blake3OfText(sourceText);
      batch.push({ line, unitId, locator, sourceText, sourceDigest, text, revision });
      characters += sourceText.length + text.length;
      if (batch.length >= BATCH.lines || characters > BATCH.characters) await flush();
    },
    end: async () => {
      await flush();
      if (lost.length === 0) return;
      const found = await findLostUnits(unitsAfter, lost, signal);
      for (let start = 0; start < lost.length; start += BATCH.lines) {
        const units: LostUnit[] = [];
        for (const unit of lost.slice(start, start + BATCH.lines)) {
          const place = found.get(unit.line);
          if (place === undefined || place === 'ambiguous') {
            await refuseUnit(unit, place === undefined ? 'unknown_unit' : 'ambiguous_source');
          } else {
            units.push({ ...unit, unitId: place });
          }
        }
        if (units.length > 0) await stage(units, true);
      }
    },
    hasRefused: () => hasRefused,
  };
}

type KnownUnit = LostUnit & { readonly unitId: Uint8Array };

function placesOf(locator: UnitLocator | null): RefusedContainers['places'] {
  return locator === null
    ? []
    : [{ destination: locator.destination, archiveEntry: locator.archive_entry }];
}
