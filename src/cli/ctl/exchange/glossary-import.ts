import { basename } from 'node:path';
import type { ReadTerm, ReadTermResult, TermRemark } from '../../../contract/formats/glossary/read-term.ts';
import {
  changeBody,
  judgeTerm,
  newTermBody,
  queriedText,
  type ImportedOutcome,
} from '../../../contract/formats/glossary/term-import.ts';
import type { ImportStep } from '../../../domain/glossary/import-decision.ts';
import type { LanguagePair } from '../../../domain/glossary/term.ts';
import { OtherLanguages } from '../../../domain/text/other-languages.ts';
import { TERM_FORMATS } from '../../../exchange/glossary/term-formats.ts';
import { unixSeconds } from '../../../platform/process/clock.ts';
import { textFields } from '../../../platform/terminal/text-table.ts';
import { withProgress, type ProgressDisplay } from '../../output/progress-display.ts';
import type { CtlContext } from '../ctl-context.ts';
import { printValue } from '../output/print-answer.ts';
import { CTL_EXITS, CtlFailure, type CtlExit } from '../ctl-exits.ts';
import { waitAtLimit } from '../wait-at-limit.ts';
import { fileFormat, trustedBy } from './exchange-options.ts';
import { changeTerm, languagesOf, queryTerms } from './glossary-api.ts';
import { renderOutcome } from './outcome-view.ts';
import { readLocalFile } from '../read-local-file.ts';

interface Import {
  readonly context: CtlContext;
  readonly path: string;
  readonly pair: LanguagePair;
  readonly review: { readonly reviewer: string; readonly reason?: string } | null;
  readonly isDryRun: boolean;
}

const BOUNDS = {
  maxBytes: 256 * 1024 * 1024,
  maxItems: 200_000,
  items: 'entries',
  advice: 'put it into the exchange folder of the daemon and add --exchange',
} as const;

interface ImportedTerms {
  readonly counts: Partial<Record<Outcome, number>>;
  readonly issues: readonly { readonly line: number; readonly outcome: Outcome; readonly message: string }[];
}

type Outcome = ImportedOutcome | TermRemark['kind'] | 'conflict' | 'refused' | 'left_out' | 'other_languages';

interface TermOutcome {
  readonly outcome: Outcome;
  readonly message?: string;
}

/**
 * Imports a local file term by term through the actions of the Glossary. The whole file is read first. Where the token has reached
 * a limit, the import waits.
 *
 * @throws CtlFailure
 */
export async function importGlossaryFile(given: CtlContext): Promise<CtlExit> {
  const { args, words } = given;
  const review = trustedBy(args);
  const isDryRun = args.values['dry-run'] === true;
  const [path = ''] = words;
  const format = fileFormat(path, args, 'terms');
  const found = await withProgress(given, async (progress) => {
    let waits = 0;
    const api = waitAtLimit(given.api, given.clock, given.signal, (ms) => {
      waits += 1;
      // A new phase is shown immediately.
      progress.show(`wait ${Math.ceil(ms / 1000)} s: the token has reached a limit`, `wait ${waits}`);
    });
    const context = { ...given, api };
    const pair = await languagesOf(context);
    const { items } = await readLocalFile(path, TERM_FORMATS[format].createReader(pair), BOUNDS);
    return await importResults({ context, path, pair, review, isDryRun }, items, progress);
  });
  const result = { file: path, format, dry_run: isDryRun, trusted: review !== null, ...found };
  await printValue(given, result, () => textFields([['file', path], ...renderOutcome(result)]));
  const { refused = 0, conflict = 0 } = result.counts;
  return refused + conflict === 0 ? CTL_EXITS.ok : CTL_EXITS.failed;
}

async function importResults(
  work: Import,
  results: readonly ReadTermResult[],
  progress: ProgressDisplay,
): Promise<ImportedTerms> {
  const counts: Partial<Record<Outcome, number>> = {};
  const issues: { line: number; outcome: Outcome; message: string }[] = [];
  const others = new OtherLanguages(work.pair.sourceLanguage, work.pair.targetLanguage);
  const add = (line: number, outcome: Outcome, message?: string): void => {
    counts[outcome] = (counts[outcome] ?? 0) + 1;
    if (message !== undefined) issues.push({ line, outcome, message });
  };
  for (const [at, result] of results.entries()) {
    work.context.signal.throwIfAborted();
    const { line } = result;
    if (result.kind === 'other') others.sawOther(line, result.languages);
    else others.sawWanted();
    const { outcome, message } = await importResult(work, result);
    add(line, outcome, message);
    const remarks = result.kind === 'term' ? result.remarks : [];
    for (const { kind, message: remark } of remarks) add(line, kind, remark);
    progress.show(`${at + 1} of ${results.length} entries`);
  }
  const issue = others.issue();
  if (issue !== null) issues.push({ ...issue, outcome: 'other_languages' });
  return { counts, issues };
}

async function importResult(work: Import, result: ReadTermResult): Promise<TermOutcome> {
  if (result.kind === 'other') return { outcome: 'other_languages' };
  if (result.kind === 'problem') return { outcome: 'refused', message: result.message };
  if (result.kind === 'left_out') return { outcome: 'left_out', message: result.message };
  const { term } = result;
  const text = queriedText(term);
  const found = text === null ? null : await queryTerms(work.context, { source_text: text });
  const judgement = judgeTerm(term, work.pair, found, work.review !== null);
  if (judgement.kind === 'unclear')
    throw new CtlFailure(CTL_EXITS.usage, `${judgement.message} and add --exchange`);
  if (judgement.kind !== 'steps') return { outcome: judgement.kind, message: judgement.message };
  const { outcome, steps } = judgement;
  if (work.isDryRun) return { outcome };
  try {
    let { termId } = judgement;
    for (const step of steps) termId = await takeStep(work, step, term, termId);
    return { outcome };
  } catch (error) {
    // The daemon refused this term; anything else concerns all of them.
    const isRefusal =
      error instanceof CtlFailure && (error.exit === CTL_EXITS.failed || error.exit === CTL_EXITS.usage);
    if (!isRefusal) throw error;
    return { outcome: 'refused', message: error.message };
  }
}

async function takeStep(
  { context, path, pair, review }: Import,
  step: ImportStep,
  term: ReadTerm,
  termId: string | null,
): Promise<string> {
  const reason = review?.reason ?? `import of ${basename(path)}`;
  const audit = review === null ? {} : { reviewer: review.reviewer, reason };
  if (step === 'add') {
    const file = basename(path);
    const body = { ...newTermBody(term, { pair, file, now: unixSeconds(context.clock) }), ...audit };
    return await addTerm(context, body, term.term_id);
  }
  return await changeTerm(context, step, { ...changeBody(step, term, termId), ...audit });
}

/** Adds a term with the id of the file, or with another one when there is or was a term of that id. */
async function addTerm(context: CtlContext, body: object, termId: string | null): Promise<string> {
  if (termId === null) return await changeTerm(context, 'add', { ...body });
  try {
    return await changeTerm(context, 'add', { ...body, term_id: termId });
  } catch (error) {
    if (!(error instanceof CtlFailure) || error.code !== 'term_exists') throw error;
    return await changeTerm(context, 'add', { ...body });
  }
}
