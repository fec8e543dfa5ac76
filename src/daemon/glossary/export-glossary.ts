import type { ReviewStatus } from '../../domain/glossary/term.ts';
import { ExchangeFileError } from '../../exchange/exchange-file-error.ts';
import type { TermWriter, WrittenTerm } from '../../exchange/glossary/exchanged-term.ts';
import { TERM_FORMAT_NAMES, TERM_FORMATS } from '../../exchange/glossary/term-formats.ts';
import { formatOf } from '../exchange/exchange-arguments.ts';
import { exchangeTaskError } from '../exchange/exchange-failure.ts';
import { writeExport } from '../exchange/export-file.ts';
import { createExportReport, type ExportReport } from '../exchange/export-report.ts';
import type { ArgumentsOf } from '../tasks/job.ts';
import type { TaskContext, TaskResult } from '../tasks/task.ts';
import { wantedLanguages, type GlossaryExchangeDependencies } from './glossary-exchange.ts';
import type { GLOSSARY_EXPORT_JOB } from './glossary-jobs.ts';
import type { ReportedTerm } from './reported-term.ts';

type Context = TaskContext<ArgumentsOf<typeof GLOSSARY_EXPORT_JOB>>;

/** Terms of one call to the thread. */
const PAGE_TERMS = 500;

/** Writes the terms of a pair of languages to a file. @throws TaskError; the error of the thread */
export async function exportGlossary(
  dependencies: GlossaryExchangeDependencies,
  context: Context,
): Promise<TaskResult> {
  const { file, format: named, include } = context.args;
  const format = formatOf(file, named, TERM_FORMAT_NAMES);
  const report = createExportReport();
  const pair = wantedLanguages(dependencies.languages(), context.args);
  const writer = TERM_FORMATS[format].createWriter({ pair, version: dependencies.version });
  try {
    const parts = partsOf(termsOf(dependencies, context), writer, report);
    const written = await writeExport(dependencies.exchangeRoot(), file, parts, context.signal);
    return { file, format, include, ...written, ...report.result() };
  } catch (error) {
    context.signal.throwIfAborted();
    throw exchangeTaskError(file, error);
  }
}

async function* termsOf(
  { thread, languages }: GlossaryExchangeDependencies,
  context: Context,
): AsyncGenerator<ReportedTerm> {
  const { args, signal } = context;
  const pair = wantedLanguages(languages(), args);
  const states = args.include.split(',') as ReviewStatus[];
  let done = 0;
  for (let after: string | undefined = ''; after !== undefined;) {
    const query = { ...pair, after, states, limit: PAGE_TERMS };
    const terms: readonly ReportedTerm[] = await thread.call('page', query, { signal });
    yield* terms;
    done += terms.length;
    context.progress(done, null, 'entries', 'export');
    after = terms.length < PAGE_TERMS ? undefined : terms.at(-1)?.term_id;
  }
}

async function* partsOf(
  terms: AsyncIterable<WrittenTerm>,
  writer: TermWriter,
  report: ExportReport,
): AsyncGenerator<string> {
  yield writer.begin();
  for await (const term of terms) {
    try {
      const text = writer.write(term);
      if (text !== '') report.written();
      yield text;
    } catch (error) {
      if (!(error instanceof ExchangeFileError)) throw error;
      report.refused(term.term_id, error.message);
    }
  }
  yield writer.end();
}
