import { basename } from 'node:path';
import { foldText } from '../../../domain/glossary/fold.ts';
import { decideImport, type ImportStep } from '../../../domain/glossary/import-decision.ts';
import { canonicalScope } from '../../../domain/glossary/scope.ts';
import { meaningOf } from '../../../domain/glossary/term-meaning.ts';
import type { LanguagePair } from '../../../domain/glossary/term.ts';
import type { ReadTerm, ReadTermResult } from '../../../exchange/glossary/exchanged-term.ts';
import { TERM_FORMATS } from '../../../exchange/glossary/term-formats.ts';
import { unixSeconds } from '../../../platform/process/clock.ts';
import { textFields } from '../../../platform/terminal/text-table.ts';
import { createProgressDisplay } from '../../output/progress-display.ts';
import type { CtlContext } from '../ctl-context.ts';
import { isDataFormat } from '../output/output-format.ts';
import { printValue } from '../output/print-answer.ts';
import { CTL_EXITS, CtlFailure, type CtlExit } from '../ctl-exits.ts';
import { fileFormat, trustedBy } from './exchange-options.ts';
import { changeTerm, languagesOf, queryTerms, type ReportedTerm } from './glossary-api.ts';
import { renderOutcome } from './outcome-view.ts';
import { readLocalFile } from './read-local-file.ts';

/** An import on its way. */
interface Import {
  readonly context: CtlContext;
  readonly path: string;
  readonly pair: LanguagePair;
  readonly review: ReturnType<typeof trustedBy>;
  readonly isDryRun: boolean;
}

type Outcome =
  | 'added'
  | 'updated'
  | 'reviewed'
  | 'unchanged'
  | 'conflict'
  | 'refused'
  | 'left_out'
  | 'other_languages';

/** The outcome of one term, with a message when people should know. */
interface TermOutcome {
  readonly outcome: Outcome;
  readonly message?: string;
}

/** Imports a local file term by term through the actions of the Glossary. The whole file is read first. @throws CtlFailure */
export async function importGlossaryFile(context: CtlContext): Promise<CtlExit> {
  const { args, words, stderr, clock, output, stdout, signal } = context;
  const [path = ''] = words;
  const format = fileFormat(path, args, TERM_FORMATS);
  const review = trustedBy(args);
  const pair = await languagesOf(context);
  const results = await readLocalFile(path, TERM_FORMATS[format].createReader(pair));
  const work = { context, path, pair, review, isDryRun: args.values['dry-run'] === true };
  const counts: Partial<Record<Outcome, number>> = {};
  const issues: { line: number; outcome: Outcome; message: string }[] = [];
  const progress = createProgressDisplay(stderr, clock);
  try {
    for (const [at, result] of results.entries()) {
      signal.throwIfAborted();
      const { outcome, message } = await importResult(work, result);
      counts[outcome] = (counts[outcome] ?? 0) + 1;
      if (message !== undefined) issues.push({ line: result.line, outcome, message });
      progress.show(`${at + 1} of ${results.length} entries`);
    }
  } finally {
    progress.end();
  }
  const result = { file: path, format, dry_run: work.isDryRun, trusted: review !== null, counts, issues };
  if (isDataFormat(output)) await printValue(context, result);
  else stdout.write(textFields([['file', path], ...renderOutcome(result)]));
  return (counts.refused ?? 0) + (counts.conflict ?? 0) === 0 ? CTL_EXITS.ok : CTL_EXITS.failed;
}

async function importResult(work: Import, result: ReadTermResult): Promise<TermOutcome> {
  if (result.kind === 'other') return { outcome: 'other_languages' };
  if (result.kind === 'problem') return { outcome: 'refused', message: result.message };
  const { term } = result;
  const known = await findKnown(work, term);
  const decision = decideImport({
    known: known?.review_status ?? null,
    isSame: known !== null && meaningOfReported(known) === meaningOfRead(term, work.pair),
    read: term.review_status,
    isReviewed: work.review !== null,
    hasTranslation: term.recommended_translation.trim() !== '',
  });
  if (decision.kind !== 'steps') return { outcome: decision.kind, message: decision.message };
  const outcome = outcomeOf(decision.steps);
  if (work.isDryRun) return { outcome };
  try {
    let termId = known?.term_id ?? null;
    for (const step of decision.steps) termId = await takeStep(work, step, term, termId);
    return { outcome };
  } catch (error) {
    // The daemon refused this term; anything else concerns all of them.
    const isRefusal =
      error instanceof CtlFailure && (error.exit === CTL_EXITS.failed || error.exit === CTL_EXITS.usage);
    if (!isRefusal) throw error;
    return { outcome: 'refused', message: error.message };
  }
}

async function findKnown({ context, pair }: Import, term: ReadTerm): Promise<ReportedTerm | null> {
  if (foldText(term.source_term).text.trim() === '') return null;
  const { total, items } = await queryTerms(context, { source_text: term.source_term });
  const ofPair = items.filter(
    (item) => item.source_language === pair.sourceLanguage && item.target_language === pair.targetLanguage,
  );
  const fold = foldText(term.source_term).text;
  const found =
    ofPair.find(({ term_id }) => term_id === term.term_id && term_id.startsWith('gt_')) ??
    ofPair.find(
      (item) =>
        foldText(item.source_term).text === fold &&
        item.category === term.category &&
        canonicalScope(item.scope) === canonicalScope(term.scope),
    );
  if (found !== undefined || total === items.length) return found ?? null;
  throw new CtlFailure(
    CTL_EXITS.usage,
    `${total} terms contain "${term.source_term}", more than the service gives; put the file into the exchange folder of the daemon and add --exchange`,
  );
}

/** @returns the id of the term */
async function takeStep(
  { context, path, pair, review }: Import,
  step: ImportStep,
  term: ReadTerm,
  termId: string | null,
): Promise<string> {
  const reason = review?.reason ?? `import of ${basename(path)}`;
  const audit = review === null ? {} : { reviewer: review.reviewer, reason };
  const fields = {
    source_term: term.source_term,
    aliases: term.aliases,
    recommended_translation: term.recommended_translation,
    allowed_translations: term.allowed_translations,
    category: term.category,
    priority: term.priority,
    scope: term.scope,
  };
  if (step === 'add') {
    const source = sourceOf(term, path, unixSeconds(context.clock));
    const languages = { source_language: pair.sourceLanguage, target_language: pair.targetLanguage };
    return await addTerm(context, { ...fields, ...languages, source, ...audit }, term.term_id);
  }
  const body = { term_id: termId, ...(step === 'update' ? fields : {}), ...audit };
  return await changeTerm(context, step, body);
}

/** Adds a term with the id of the file, or with another one when there is or was a term of that id. */
async function addTerm(context: CtlContext, body: object, termId: string | null): Promise<string> {
  if (termId === null) return await changeTerm(context, 'add', { ...body });
  try {
    return await changeTerm(context, 'add', { ...body, term_id: termId });
  } catch (error) {
    if (!(error instanceof CtlFailure) || !error.message.includes('term_exists')) throw error;
    return await changeTerm(context, 'add', { ...body });
  }
}

function sourceOf(term: ReadTerm, path: string, now: number): object {
  return {
    source_kind: 'imported',
    observed_unix_seconds: now,
    source_ref: term.source_ref ?? basename(path),
    ...(term.source_author === null ? {} : { source_author: term.source_author }),
    ...(term.source_note === null ? {} : { source_note: term.source_note }),
  };
}

function meaningOfReported(term: ReportedTerm): string {
  const pair = { sourceLanguage: term.source_language, targetLanguage: term.target_language };
  return meaningOfRead(term, pair);
}

function meaningOfRead(term: ReadTerm | ReportedTerm, pair: LanguagePair): string {
  return meaningOf({
    ...pair,
    sourceTerm: term.source_term,
    aliases: term.aliases,
    recommendedTranslation: term.recommended_translation,
    allowedTranslations: term.allowed_translations,
    category: term.category,
    priority: term.priority,
    scope: term.scope,
  });
}

function outcomeOf(steps: readonly ImportStep[]): Outcome {
  if (steps.includes('add')) return 'added';
  if (steps.includes('update')) return 'updated';
  return steps.length > 0 ? 'reviewed' : 'unchanged';
}
