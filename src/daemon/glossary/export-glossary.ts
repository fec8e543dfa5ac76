import type { ReviewStatus } from '../../domain/glossary/term.ts';
import { TERM_FORMAT_NAMES, TERM_FORMATS } from '../../exchange/glossary/term-formats.ts';
import { exportFile } from '../exchange/export-file.ts';
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
  const pair = wantedLanguages(dependencies.languages(), context.args);
  return await exportFile(dependencies.exchangeRoot, context, {
    formats: TERM_FORMAT_NAMES,
    createWriter: (format) => TERM_FORMATS[format].createWriter({ pair, version: dependencies.version }),
    entries: () => termsOf(dependencies, context),
    idOf: ({ term_id }) => term_id,
  });
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
