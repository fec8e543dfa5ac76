import { isSameLanguage } from '../../domain/text/language-tag.ts';
import type { LanguagePair } from '../../domain/memory/memory-record.ts';
import { MEMORY_FORMAT_NAMES, MEMORY_FORMATS } from '../../exchange/memory/memory-formats.ts';
import type { ReadMemoryRecord, TmxUnit } from '../../exchange/tmx/tmx-record.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import { importFile } from '../exchange/import-file.ts';
import { createImportReport, type ImportReport } from '../exchange/import-report.ts';
import type { ArgumentsOf } from '../tasks/job.ts';
import type { TaskContext, TaskResult } from '../tasks/task.ts';
import type { MEMORY_IMPORT_JOB } from './memory-exchange-jobs.ts';
import type { MemoryThread } from './memory-thread.ts';
import { blockingFindings } from './target-check.ts';
import type { ImportedRecord } from './store/memory-import.ts';

export interface MemoryExchangeDependencies {
  readonly thread: Pick<MemoryThread, 'call'>;
  readonly clock: Clock;
  /** Makes ULIDs. */
  readonly createId: () => string;
  /** The configured languages. */
  readonly pair: () => LanguagePair;
  /** The folder of exchanged files. */
  readonly exchangeRoot: () => string;
  /** The private folder of the daemon. */
  readonly dataDirectory: string;
  /** Of the program, for headers of files. */
  readonly version: string;
}

type Context = TaskContext<ArgumentsOf<typeof MEMORY_IMPORT_JOB>>;

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

/**
 * Imports a file into the Translation Memory. The whole file is read before anything is changed.
 *
 * @throws TaskError
 */
export async function importMemory(
  dependencies: MemoryExchangeDependencies,
  context: Context,
): Promise<TaskResult> {
  return await importFile(dependencies, context, {
    formats: MEMORY_FORMAT_NAMES,
    maxBytes: MAX_BYTES,
    createReader: (format) => MEMORY_FORMATS[format].createReader(),
    apply: async (units) => await apply(dependencies, units, context),
  });
}

async function apply(
  dependencies: MemoryExchangeDependencies,
  units: AsyncIterable<TmxUnit>,
  context: Context,
): Promise<Report> {
  const report = createImportReport(OUTCOMES);
  const pair = wantedPair(dependencies.pair(), context);
  let batch: { readonly line: number; readonly record: ImportedRecord }[] = [];
  const flush = async (): Promise<void> => {
    const outcomes = await writeBatch(
      dependencies,
      context,
      batch.map(({ record }) => record),
    );
    for (const [at, { line }] of batch.entries()) {
      const { outcome = 'refused', message = null } = outcomes[at] ?? {};
      report.add(line, outcome, message ?? undefined);
    }
    batch = [];
  };
  for await (const unit of units) {
    if (unit.kind === 'problem') report.add(unit.line, 'refused', unit.message);
    else {
      for (const read of unit.records) {
        const record = judgeRecord(dependencies, read, pair, context.args, report);
        if (record !== null) batch.push({ line: read.line, record });
        if (batch.length === BATCH_RECORDS) await flush();
      }
    }
  }
  if (batch.length > 0) await flush();
  return report;
}

async function writeBatch(
  { thread, clock }: MemoryExchangeDependencies,
  { args, reviewer, reason, signal }: Context,
  records: readonly ImportedRecord[],
) {
  signal.throwIfAborted();
  const note = {
    reviewer: reviewer ?? '',
    tokenId: args.token_id,
    reason: reason ?? `import of ${args.file}`,
    at: unixSeconds(clock),
  };
  return await thread.call('importRecords', { records, note, isDryRun: args.dry_run });
}

/** The record to import, or `null` when the report says why there is none. */
function judgeRecord(
  { createId }: MemoryExchangeDependencies,
  read: ReadMemoryRecord,
  pair: LanguagePair,
  args: Context['args'],
  report: Report,
): ImportedRecord | null {
  const isOfPair =
    isSameLanguage(read.source_language, pair.source_language) &&
    isSameLanguage(read.target_language, pair.target_language);
  if (!isOfPair) {
    report.add(read.line, 'other_languages');
    return null;
  }
  if (read.state === 'superseded' || read.state === 'rejected') {
    report.add(read.line, 'left_out');
    return null;
  }
  const wantsTrust = args.trusted && read.state !== 'candidate';
  const findings = wantsTrust ? findingsOf(read, pair) : [];
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

function findingsOf(read: ReadMemoryRecord, pair: LanguagePair): readonly string[] {
  return blockingFindings({
    source: read.source_text,
    target: read.target_text,
    sourceLanguage: pair.source_language,
    targetLanguage: pair.target_language,
  });
}

/** The languages of a run: those that its arguments name, else the configured ones. */
export function wantedPair(
  configured: LanguagePair,
  { args }: { readonly args: { readonly [Name in keyof LanguagePair]?: LanguagePair[Name] | undefined } },
): LanguagePair {
  return {
    source_language: args.source_language ?? configured.source_language,
    target_language: args.target_language ?? configured.target_language,
  };
}
