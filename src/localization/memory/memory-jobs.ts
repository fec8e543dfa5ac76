import { z } from 'zod';
import type { MEMORY_FORMATS } from '../../exchange/memory/memory-formats.ts';
import { messageOf } from '../../platform/errors.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { checkStructureInThread } from '../../engine/database/structure-thread.ts';
import { wasNeverMade } from '../../engine/database/work-file.ts';
import { implementJob, type Job, type JobDefinition, type ArgumentsOf } from '../../engine/tasks/job.ts';
import { TaskError, type TaskResult, type TaskContext } from '../../engine/tasks/task.ts';
import { unavailableReason } from './memory-failure.ts';
import { word } from '../../contract/actions/field-schemas.ts';
import { formatChoice, formatNames } from '../../contract/formats/exchange-formats.ts';
import { MEMORY_STATES } from '../../contract/schemas/vocabulary.ts';
import {
  EXCHANGE_JOB,
  FILE_ARGUMENTS,
  IMPORT_ARGUMENTS,
  statesArgument,
} from '../../engine/exchange/exchange-arguments.ts';
import { isSameLanguage } from '../../domain/text/language-tag.ts';
import { OtherLanguages } from '../../domain/text/other-languages.ts';
import type { LanguagePair, MemoryRecord, MemoryState } from '../../domain/memory/memory-record.ts';
import type { ReadMemoryRecord, TmxUnit } from '../../exchange/tmx/tmx-record.ts';
import { unixSeconds } from '../../platform/process/clock.ts';
import { exportFile } from '../../engine/exchange/export-file.ts';
import { importFile } from '../../engine/exchange/import-file.ts';
import { createImportReport, type ImportReport } from '../../engine/exchange/import-report.ts';
import {
  entriesInPages,
  storeInBatches,
  type ExchangeDependencies,
  type JudgedItem,
} from '../exchange-batches.ts';
import type { MemoryThread } from './memory-worker.ts';
import type { ImportedRecord } from './store/memory-import.ts';
import { blockingFindings } from './target-check.ts';

const format = word(formatNames('memory')).optional();

export const MEMORY_IMPORT_JOB = {
  ...EXCHANGE_JOB,
  kind: 'memory-import',
  summary: `Imports a ${formatChoice('memory')} file from \`exchange.root\` into the Translation Memory: as candidates, or as trusted records with \`trusted=true\` and \`reviewer=\`. The same file again changes nothing.`,
  scope: 'translate',
  reviewSwitches: ['trusted'],
  arguments: z.strictObject({ ...IMPORT_ARGUMENTS, format }),
} as const satisfies JobDefinition;

export const MEMORY_EXPORT_JOB = {
  ...EXCHANGE_JOB,
  kind: 'memory-export',
  summary: `Writes the records of the Translation Memory to a ${formatChoice('memory')} file in \`exchange.root\`; \`include\` names their states.`,
  scope: 'translate',
  arguments: z.strictObject({
    ...FILE_ARGUMENTS,
    format,
    include: statesArgument(MEMORY_STATES, ['trusted', 'candidate']),
  }),
} as const satisfies JobDefinition;

export const MEMORY_MAINTAIN_JOB = {
  kind: 'memory-maintain',
  summary: 'Checks the file of the Translation Memory, and keeps its text indexes compact.',
  lane: 'i18n',
  scope: 'operate',
  groups: ['i18n'],
  arguments: z.strictObject({}),
  resumable: true,
  maxAttempts: 1,
  storeLock: 'none',
} as const satisfies JobDefinition;

export const MEMORY_JOBS = [MEMORY_MAINTAIN_JOB, MEMORY_IMPORT_JOB, MEMORY_EXPORT_JOB] as const;

interface MemoryJobDependencies extends MemoryExchangeDependencies {
  readonly path: string;
  /** Called with the finding of each check of the structure, `null` when it found nothing. */
  readonly onChecked: (finding: string | null) => void;
}

export function memoryJobs(dependencies: MemoryJobDependencies): readonly Job[] {
  return [
    implementJob(
      MEMORY_MAINTAIN_JOB,
      async ({ signal }) => await withTaskErrors(signal, () => maintain(dependencies, signal)),
    ),
    implementJob(
      MEMORY_IMPORT_JOB,
      async (context) => await withTaskErrors(context.signal, () => importMemory(dependencies, context)),
    ),
    implementJob(
      MEMORY_EXPORT_JOB,
      async (context) => await withTaskErrors(context.signal, () => exportMemory(dependencies, context)),
    ),
  ];
}

async function maintain(
  { thread, path, onChecked }: MemoryJobDependencies,
  signal: AbortSignal,
): Promise<TaskResult> {
  const finding = wasNeverMade(path) ? null : await checkStructureInThread(path);
  onChecked(finding);
  if (finding !== null) throw new TaskError('memory_damaged', unavailableReason(new Error(finding)));
  signal.throwIfAborted();
  return { merge_steps: await thread.maintain(null, { signal }) };
}

async function withTaskErrors(signal: AbortSignal, run: () => Promise<TaskResult>): Promise<TaskResult> {
  try {
    return await run();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof TaskError || errorCode(error) !== 'unavailable') throw error;
    throw new TaskError('memory_unavailable', messageOf(error), { cause: error });
  }
}

interface MemoryExchangeDependencies extends ExchangeDependencies {
  readonly thread: MemoryThread;
  readonly pair: () => LanguagePair;
}

type ImportContext = TaskContext<ArgumentsOf<typeof MEMORY_IMPORT_JOB>>;
type ExportContext = TaskContext<ArgumentsOf<typeof MEMORY_EXPORT_JOB>>;

const OUTCOMES = [
  'added',
  'confirmed',
  'unchanged',
  'conflict',
  'refused',
  'left_out',
  'other_languages',
] as const;
type Report = ImportReport<(typeof OUTCOMES)[number]>;

/** Largest file: some five million records. */
const MAX_BYTES = 4 * 2 ** 30;
/** Records of one transaction; the thread answers others between two. */
const BATCH_RECORDS = 200;
/** Records of one call of an export. */
const PAGE_RECORDS = 500;

/** Writes the records of a pair of languages to a file. @throws TaskError */
async function exportMemory(
  { thread, pair, exchangeRoot, version }: MemoryExchangeDependencies,
  context: ExportContext,
): Promise<TaskResult> {
  const { args, signal } = context;
  const languages = wantedPair(pair(), args);
  const states = args.include.split(',') as MemoryState[];
  const readPage = async (after: number) => {
    const page = await thread.page({ ...languages, after, states, limit: PAGE_RECORDS }, { signal });
    return { entries: page.records, next: page.next };
  };
  return await exportFile(exchangeRoot, context, {
    kind: 'memory',
    createWriter: async (format) =>
      (await memoryFormats())[format].createWriter(languages.source_language, version),
    entries: () => entriesInPages<MemoryRecord, number>(context, 0, readPage),
    idOf: ({ record_id }) => record_id,
  });
}

/**
 * Imports a file into the Translation Memory. The whole file is read before anything is changed.
 *
 * @throws TaskError
 */
async function importMemory(
  dependencies: MemoryExchangeDependencies,
  context: ImportContext,
): Promise<TaskResult> {
  const languages = wantedPair(dependencies.pair(), context.args);
  return await importFile(dependencies, context, {
    kind: 'memory',
    maxBytes: MAX_BYTES,
    createReader: async (format) => (await memoryFormats())[format].createReader(languages.source_language),
    apply: async (units) => await importUnits(dependencies, units, languages, context),
  });
}

async function importUnits(
  { thread, clock, createId }: MemoryExchangeDependencies,
  units: AsyncIterable<TmxUnit>,
  languages: LanguagePair,
  { args, reviewer, reason, signal }: ImportContext,
): Promise<Report> {
  const report = createImportReport(OUTCOMES);
  const others = new OtherLanguages(languages.source_language, languages.target_language);
  const judge = (unit: TmxUnit): readonly JudgedItem<ImportedRecord>[] => {
    if (unit.kind === 'problem') {
      others.sawWanted();
      report.add(unit.line, 'refused', unit.message);
      return [];
    }
    return unit.records.flatMap((read) => {
      const { line } = read;
      if (isOfPair(read, languages)) {
        others.sawWanted();
        const entry = judgeRecord(read, languages, args, createId, report);
        return entry === null ? [] : { line, entry };
      }
      report.add(line, 'other_languages');
      others.sawOther(line, [`${read.source_language} to ${read.target_language}`]);
      return [];
    });
  };
  await storeInBatches(units, { signal, report }, BATCH_RECORDS, judge, async (records) => {
    const note = {
      reviewer: reviewer ?? '',
      tokenId: args.token_id,
      reason: reason ?? `import of ${args.file}`,
      at: unixSeconds(clock),
    };
    return await thread.importRecords({ records, note, isDryRun: args.dry_run });
  });
  const issue = others.issue();
  if (issue !== null) report.note(issue.line, 'other_languages', issue.message);
  return report;
}

function isOfPair(read: ReadMemoryRecord, pair: LanguagePair): boolean {
  return (
    isSameLanguage(read.source_language, pair.source_language) &&
    isSameLanguage(read.target_language, pair.target_language)
  );
}

/** The record to import, or `null` when the report says why there is none. */
function judgeRecord(
  read: ReadMemoryRecord,
  pair: LanguagePair,
  args: ImportContext['args'],
  createId: () => string,
  report: Report,
): ImportedRecord | null {
  if (read.state === 'superseded' || read.state === 'rejected') {
    report.add(read.line, 'left_out');
    return null;
  }
  const wantsTrust = args.trusted && read.state !== 'candidate';
  const texts = { source: read.source_text, target: read.target_text };
  const languages = { sourceLanguage: pair.source_language, targetLanguage: pair.target_language };
  const findings = wantsTrust ? blockingFindings({ ...texts, ...languages }) : [];
  if (findings.length > 0) {
    report.add(
      read.line,
      'refused',
      `a trusted record must have no blocking finding: ${findings.join('; ')}`,
    );
    return null;
  }
  return {
    ...pair,
    record_id: `tm_${createId()}`,
    source_text: read.source_text,
    target_text: read.target_text,
    context: read.context,
    provenance: { ...read.provenance, origin: 'import' },
    author: { kind: 'import', tokenId: args.token_id },
    isTrusted: wantsTrust,
  };
}

/** The languages of a run: those that its arguments name, otherwise the configured ones. */
function wantedPair(
  configured: LanguagePair,
  args: { readonly source_language?: string | undefined; readonly target_language?: string | undefined },
): LanguagePair {
  return {
    source_language: args.source_language ?? configured.source_language,
    target_language: args.target_language ?? configured.target_language,
  };
}

/** Spares the daemon the readers and writers of all formats until a file is exchanged. */
async function memoryFormats(): Promise<typeof MEMORY_FORMATS> {
  return (await import('../../exchange/memory/memory-formats.ts')).MEMORY_FORMATS;
}
