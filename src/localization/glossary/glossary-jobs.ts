import { REVIEW_STATUSES, type LanguagePair, type ReviewStatus } from '../../domain/glossary/term.ts';
import { z } from 'zod';
import type { TERM_FORMATS } from '../../exchange/glossary/term-formats.ts';
import { word } from '../../contract/actions/field-schemas.ts';
import { formatChoice, formatNames } from '../../contract/formats/exchange-formats.ts';
import {
  EXCHANGE_JOB,
  FILE_ARGUMENTS,
  IMPORT_ARGUMENTS,
  statesArgument,
} from '../../engine/exchange/exchange-arguments.ts';
import { type JobDefinition, implementJob, type ArgumentsOf, type Job } from '../../engine/tasks/job.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import type { ReadTermResult } from '../../contract/formats/glossary/read-term.ts';
import { newTermBody, type ReportedTerm } from '../../contract/formats/glossary/term-import.ts';
import { OtherLanguages } from '../../domain/text/other-languages.ts';
import { unixSeconds } from '../../platform/process/clock.ts';
import { exportFile } from '../../engine/exchange/export-file.ts';
import { importFile } from '../../engine/exchange/import-file.ts';
import { createImportReport, type ImportReport } from '../../engine/exchange/import-report.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../engine/tasks/task.ts';
import {
  entriesInPages,
  storeInBatches,
  type ExchangeDependencies,
  type JudgedItem,
} from '../exchange-batches.ts';
import { TERM_PREFIX } from './glossary-actions.ts';
import { glossaryError } from './glossary-failure.ts';
import type { GlossaryThread } from './glossary-worker.ts';
import type { ImportedTerm, TermImportOutcome } from './store/glossary-import.ts';
import { givenTermId, importedFieldsOf } from './term-fields.ts';

const format = word(formatNames('terms')).optional();

export const GLOSSARY_IMPORT_JOB = {
  ...EXCHANGE_JOB,
  kind: 'glossary-import',
  summary: `Imports a ${formatChoice('terms')} file from \`exchange.root\` into the Glossary: as drafts, or with the states of the file with \`trusted=true\` and \`reviewer=\`. The same file again changes nothing.`,
  scope: 'translate',
  reviewSwitches: ['trusted'],
  arguments: z.strictObject({ ...IMPORT_ARGUMENTS, format }),
} as const satisfies JobDefinition;

export const GLOSSARY_EXPORT_JOB = {
  ...EXCHANGE_JOB,
  kind: 'glossary-export',
  summary: `Writes the terms of the Glossary to a ${formatChoice('terms')} file in \`exchange.root\`; \`include\` names their states. TBX has no rejected terms.`,
  scope: 'translate',
  arguments: z.strictObject({
    ...FILE_ARGUMENTS,
    format,
    include: statesArgument(REVIEW_STATUSES, ['draft', 'approved', 'deprecated']),
  }),
} as const satisfies JobDefinition;

export const GLOSSARY_JOBS = [GLOSSARY_IMPORT_JOB, GLOSSARY_EXPORT_JOB] as const;

interface Dependencies extends ExchangeDependencies {
  readonly thread: GlossaryThread;
  readonly languages: () => LanguagePair;
  /** Called after an import with the new generation. */
  readonly onChanged: (generation: number) => void;
}

type ImportContext = TaskContext<ArgumentsOf<typeof GLOSSARY_IMPORT_JOB>>;
type ExportContext = TaskContext<ArgumentsOf<typeof GLOSSARY_EXPORT_JOB>>;

const OUTCOMES = [
  'added',
  'updated',
  'reviewed',
  'unchanged',
  'conflict',
  'refused',
  'left_out',
  'other_languages',
  // Remarks beside another outcome.
  'wording_left_out',
  'spreadsheet_value',
] as const;
type Report = ImportReport<(typeof OUTCOMES)[number]>;

/** Largest file: some million terms. */
const MAX_BYTES = 2 ** 30;
/** Terms of one transaction; the thread answers others between two. */
const BATCH_TERMS = 100;
/** Terms of one call of an export. */
const PAGE_TERMS = 500;

export function glossaryJobs(dependencies: Dependencies): readonly Job[] {
  return [
    implementJob(
      GLOSSARY_IMPORT_JOB,
      async (context) => await withTaskErrors(context.signal, () => importGlossary(dependencies, context)),
    ),
    implementJob(
      GLOSSARY_EXPORT_JOB,
      async (context) => await withTaskErrors(context.signal, () => exportGlossary(dependencies, context)),
    ),
  ];
}

async function withTaskErrors(signal: AbortSignal, run: () => Promise<TaskResult>): Promise<TaskResult> {
  try {
    return await run();
  } catch (error) {
    signal.throwIfAborted();
    const known = glossaryError(error);
    if (!(known instanceof ServiceError)) throw known;
    const isUnavailable = known.code === 'backend_unavailable';
    throw new TaskError(isUnavailable ? 'glossary_unavailable' : known.code, known.message, { cause: error });
  }
}

async function exportGlossary(
  { thread, languages, exchangeRoot, version }: Dependencies,
  context: ExportContext,
): Promise<TaskResult> {
  const { args, signal } = context;
  const pair = wantedLanguages(languages(), args);
  const states = args.include.split(',') as ReviewStatus[];
  const readPage = async (after: string) => {
    const entries = await thread.page({ file: null, ...pair, after, states, limit: PAGE_TERMS }, { signal });
    return { entries, next: entries.length < PAGE_TERMS ? null : (entries.at(-1)?.term_id ?? null) };
  };
  return await exportFile(exchangeRoot, context, {
    kind: 'terms',
    createWriter: async (format) => (await termFormats())[format].createWriter(pair, version),
    entries: () => entriesInPages<ReportedTerm, string>(context, '', readPage),
    idOf: ({ term_id }) => term_id,
  });
}

async function importGlossary(dependencies: Dependencies, context: ImportContext): Promise<TaskResult> {
  const pair = wantedLanguages(dependencies.languages(), context.args);
  return await importFile(dependencies, context, {
    kind: 'terms',
    maxBytes: MAX_BYTES,
    createReader: async (format) => (await termFormats())[format].createReader(pair),
    apply: async (results) => await importTerms(dependencies, results, pair, context),
  });
}

async function importTerms(
  { thread, createId, clock, onChanged }: Dependencies,
  results: AsyncIterable<ReadTermResult>,
  pair: LanguagePair,
  { args, reviewer, reason, signal }: ImportContext,
): Promise<Report> {
  const report = createImportReport(OUTCOMES);
  const others = new OtherLanguages(pair.sourceLanguage, pair.targetLanguage);
  let generation: number | null = null;
  const judge = (result: ReadTermResult) => {
    if (result.kind === 'other') others.sawOther(result.line, result.languages);
    else others.sawWanted();
    const source = { pair, file: args.file, now: unixSeconds(clock) };
    return judgeResult(result, report, TERM_PREFIX + createId(), source);
  };
  const store = async (terms: readonly ImportedTerm[]): Promise<readonly TermImportOutcome[]> => {
    const answer = await thread.importTerms({
      terms,
      audit: {
        reviewer: args.trusted ? reviewer : null,
        reason: reason ?? `import of ${args.file}`,
        tokenId: args.token_id,
      },
      isReviewed: args.trusted,
      isDryRun: args.dry_run,
      now: unixSeconds(clock),
    });
    ({ generation } = answer);
    return answer.outcomes;
  };
  try {
    await storeInBatches(results, { signal, report }, BATCH_TERMS, judge, store);
  } finally {
    // Once for all batches, because others look at their work again after each change.
    if (generation !== null && !args.dry_run) onChanged(generation);
  }
  const issue = others.issue();
  if (issue !== null) report.note(issue.line, 'other_languages', issue.message);
  return report;
}

/** The term to import; none when the report says why. */
function judgeResult(
  result: ReadTermResult,
  report: Report,
  spareId: string,
  source: Parameters<typeof newTermBody>[1],
): JudgedItem<ImportedTerm>[] {
  if (result.kind === 'other') report.add(result.line, 'other_languages');
  if (result.kind === 'problem') report.add(result.line, 'refused', result.message);
  if (result.kind === 'left_out') report.add(result.line, 'left_out', result.message);
  if (result.kind !== 'term') return [];
  const { term, line, remarks } = result;
  for (const { kind, message } of remarks) report.remark(line, kind, message);
  try {
    const given = givenTermId(term.term_id ?? undefined);
    const entry = {
      termId: given ?? spareId,
      isOwnId: given?.startsWith(TERM_PREFIX) === true,
      spareId,
      fields: importedFieldsOf(newTermBody(term, source)),
      status: term.review_status,
    };
    return [{ line, entry }];
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    report.add(line, 'refused', describe(error));
    return [];
  }
}

function describe({ message, options: { errors = [] } }: ServiceError): string {
  return errors.length === 0
    ? message
    : errors.map(({ pointer, message: why }) => `${pointer.slice(1)} ${why}`).join('; ');
}

/** The languages of a run: those that its arguments name, otherwise the configured ones. */
function wantedLanguages(
  configured: LanguagePair,
  args: { readonly source_language?: string | undefined; readonly target_language?: string | undefined },
): LanguagePair {
  return {
    sourceLanguage: args.source_language ?? configured.sourceLanguage,
    targetLanguage: args.target_language ?? configured.targetLanguage,
  };
}

/** Spares the daemon the readers and writers of all formats until a file is exchanged. */
async function termFormats(): Promise<typeof TERM_FORMATS> {
  return (await import('../../exchange/glossary/term-formats.ts')).TERM_FORMATS;
}
