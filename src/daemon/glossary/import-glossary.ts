import type { BodyOf } from '../../contract/actions/body-of.ts';
import { ControlBodySchema } from '../../contract/actions/control-body.ts';
import { fieldErrorsOf } from '../../contract/problems/field-errors.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import type { ReadTermResult } from '../../contract/formats/glossary/read-term.ts';
import { newTermBody } from '../../contract/formats/glossary/term-import.ts';
import { TERM_FORMAT_NAMES, TERM_FORMATS } from '../../exchange/glossary/term-formats.ts';
import { unixSeconds } from '../../platform/process/clock.ts';
import { importFile } from '../exchange/import-file.ts';
import { createImportReport, type ImportReport } from '../exchange/import-report.ts';
import type { ArgumentsOf } from '../tasks/job.ts';
import type { TaskContext, TaskResult } from '../tasks/task.ts';
import { TERM_PREFIX } from './glossary-actions.ts';
import { wantedLanguages, type GlossaryExchangeDependencies } from './glossary-exchange.ts';
import type { GLOSSARY_IMPORT_JOB } from './glossary-jobs.ts';
import type { ImportedTerm } from './store/glossary-import.ts';
import type { TermFields } from './store/stored-term.ts';
import { givenTermId, newTermFieldsOf } from './term-fields.ts';

type Context = TaskContext<ArgumentsOf<typeof GLOSSARY_IMPORT_JOB>>;

const OUTCOMES = [
  'added',
  'updated',
  'reviewed',
  'unchanged',
  'conflict',
  'refused',
  'left_out',
  'other_languages',
] as const;
type Report = ImportReport<(typeof OUTCOMES)[number]>;

/** Largest file: some million terms. */
const MAX_BYTES = 2 ** 30;
/** Terms of one transaction; the thread answers others between two. */
const BATCH_TERMS = 100;

/**
 * Imports a file into the Glossary. The whole file is read before anything is changed.
 *
 * @throws TaskError; the error of the thread
 */
export async function importGlossary(
  dependencies: GlossaryExchangeDependencies,
  context: Context,
): Promise<TaskResult> {
  const pair = wantedLanguages(dependencies.languages(), context.args);
  return await importFile(dependencies, context, {
    formats: TERM_FORMAT_NAMES,
    maxBytes: MAX_BYTES,
    createReader: (format) => TERM_FORMATS[format].createReader(pair),
    apply: async (results) => await apply(dependencies, results, context),
  });
}

async function apply(
  dependencies: GlossaryExchangeDependencies,
  results: AsyncIterable<ReadTermResult>,
  context: Context,
): Promise<Report> {
  const report = createImportReport(OUTCOMES);
  let generation: number | null = null;
  let batch: { readonly line: number; readonly term: ImportedTerm }[] = [];
  const flush = async (): Promise<void> => {
    const terms = batch.map(({ term }) => term);
    const answer = await dependencies.thread.call('importTerms', batchOf(dependencies, terms, context));
    ({ generation } = answer);
    for (const [at, { line }] of batch.entries()) {
      const { outcome = 'refused', message = null } = answer.outcomes[at] ?? {};
      report.add(line, outcome, message ?? undefined);
    }
    batch = [];
  };
  try {
    for await (const result of results) {
      const term = judgeResult(dependencies, result, context, report);
      if (term !== null) batch.push({ line: result.line, term });
      if (batch.length === BATCH_TERMS) await flush();
    }
    if (batch.length > 0) await flush();
  } finally {
    // Once for all batches, because others look at their work again after each change.
    if (generation !== null && !context.args.dry_run) dependencies.onChanged(generation);
  }
  return report;
}

function batchOf(
  { clock }: GlossaryExchangeDependencies,
  terms: readonly ImportedTerm[],
  { args, reviewer, reason, signal }: Context,
) {
  signal.throwIfAborted();
  return {
    terms,
    audit: {
      reviewer: args.trusted ? reviewer : null,
      reason: reason ?? `import of ${args.file}`,
      tokenId: args.token_id,
    },
    isReviewed: args.trusted,
    isDryRun: args.dry_run,
    now: unixSeconds(clock),
  };
}

/** The term to import, or `null` when the report says why there is none. */
function judgeResult(
  { createId, clock, languages }: GlossaryExchangeDependencies,
  result: ReadTermResult,
  { args }: Context,
  report: Report,
): ImportedTerm | null {
  if (result.kind === 'other') report.add(result.line, 'other_languages');
  if (result.kind === 'problem') report.add(result.line, 'refused', result.message);
  if (result.kind !== 'term') return null;
  const { term, line } = result;
  try {
    const given = givenTermId(term.term_id ?? undefined);
    const spareId = TERM_PREFIX + createId();
    return {
      termId: given ?? spareId,
      isOwnId: given?.startsWith(TERM_PREFIX) === true,
      spareId,
      fields: fieldsOf(
        newTermBody(term, {
          pair: wantedLanguages(languages(), args),
          file: args.file,
          now: unixSeconds(clock),
        }),
      ),
      status: term.review_status,
    };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    report.add(line, 'refused', describe(error));
    return null;
  }
}

function fieldsOf(body: BodyOf<'translation-glossary-add'>): TermFields {
  // A file has no longer texts and lists than a request, so that an imported term can be changed later.
  const parsed = ControlBodySchema.safeParse(body);
  if (parsed.success) return newTermFieldsOf(body);
  throw new ServiceError('invalid_request', 'the term is not valid', {
    errors: fieldErrorsOf(parsed.error, 'field'),
  });
}

function describe({ message, options: { errors = [] } }: ServiceError): string {
  return errors.length === 0
    ? message
    : errors.map(({ pointer, message: why }) => `${pointer.slice(1)} ${why}`).join('; ');
}
