import type { MemoryState } from '../../domain/memory/memory-record.ts';
import { ExchangeFileError } from '../../exchange/exchange-file-error.ts';
import { MEMORY_FORMAT_NAMES, MEMORY_FORMATS } from '../../exchange/memory/memory-formats.ts';
import type { MemoryWriter } from '../../exchange/memory/memory-file.ts';
import type { WrittenMemoryRecord } from '../../exchange/tmx/tmx-record.ts';
import { formatOf } from '../exchange/exchange-arguments.ts';
import { exchangeTaskError } from '../exchange/exchange-failure.ts';
import { writeExport } from '../exchange/export-file.ts';
import { createExportReport, type ExportReport } from '../exchange/export-report.ts';
import type { ArgumentsOf } from '../tasks/job.ts';
import type { TaskContext, TaskResult } from '../tasks/task.ts';
import { wantedPair, type MemoryExchangeDependencies } from './import-memory.ts';
import type { MEMORY_EXPORT_JOB } from './memory-exchange-jobs.ts';
import type { RecordPage, RecordPageQuery } from './store/memory-reads.ts';

type Context = TaskContext<ArgumentsOf<typeof MEMORY_EXPORT_JOB>>;

/** Records of one call to the thread. */
const PAGE_RECORDS = 500;

/** Writes the records of a pair of languages to a file. @throws TaskError */
export async function exportMemory(
  dependencies: MemoryExchangeDependencies,
  context: Context,
): Promise<TaskResult> {
  const { file, format: named, include } = context.args;
  const format = formatOf(file, named, MEMORY_FORMAT_NAMES);
  const report = createExportReport();
  try {
    const parts = partsOf(dependencies, context, format, report);
    const written = await writeExport(dependencies.exchangeRoot(), file, parts, context.signal);
    return { file, format, include, ...written, ...report.result() };
  } catch (error) {
    context.signal.throwIfAborted();
    throw exchangeTaskError(file, error);
  }
}

async function* partsOf(
  { thread, pair, version }: MemoryExchangeDependencies,
  context: Context,
  format: (typeof MEMORY_FORMAT_NAMES)[number],
  report: ExportReport,
): AsyncGenerator<string> {
  const { args, signal } = context;
  const languages = wantedPair(pair(), context);
  const writer = MEMORY_FORMATS[format].createWriter(languages.source_language, version);
  const states = args.include.split(',') as MemoryState[];
  yield writer.begin();
  let after: number | null = 0;
  while (after !== null) {
    const query: RecordPageQuery = { ...languages, after, states, limit: PAGE_RECORDS };
    const page: RecordPage = await thread.call('page', query, { signal });
    for (const record of page.records) yield textOf(writer, record, report);
    context.progress(report.result().written, null, 'entries', 'export');
    after = page.next;
  }
  yield writer.end();
}

/** A record as text; empty for one that the format cannot carry, which the report names. */
function textOf(writer: MemoryWriter, record: WrittenMemoryRecord, report: ExportReport): string {
  try {
    const text = writer.write(record);
    report.written();
    return text;
  } catch (error) {
    if (!(error instanceof ExchangeFileError)) throw error;
    report.refused(record.record_id, error.message);
    return '';
  }
}
