import type { MemoryState } from '../../domain/memory/memory-record.ts';
import { MEMORY_FORMAT_NAMES, MEMORY_FORMATS } from '../../exchange/memory/memory-formats.ts';
import type { WrittenMemoryRecord } from '../../exchange/tmx/tmx-record.ts';
import { exportFile } from '../exchange/export-file.ts';
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
  const { source_language } = wantedPair(dependencies.pair(), context);
  return await exportFile(dependencies.exchangeRoot, context, {
    formats: MEMORY_FORMAT_NAMES,
    createWriter: (format) => MEMORY_FORMATS[format].createWriter(source_language, dependencies.version),
    entries: () => recordsOf(dependencies, context),
    idOf: ({ record_id }) => record_id,
  });
}

async function* recordsOf(
  { thread, pair }: MemoryExchangeDependencies,
  context: Context,
): AsyncGenerator<WrittenMemoryRecord> {
  const { args, signal } = context;
  const languages = wantedPair(pair(), context);
  const states = args.include.split(',') as MemoryState[];
  let done = 0;
  let after: number | null = 0;
  while (after !== null) {
    const query: RecordPageQuery = { ...languages, after, states, limit: PAGE_RECORDS };
    const page: RecordPage = await thread.call('page', query, { signal });
    yield* page.records;
    done += page.records.length;
    context.progress(done, null, 'entries', 'export');
    after = page.next;
  }
}
