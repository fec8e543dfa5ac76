/** Sends the terms of a file one by one, as `slipway ctl glossary import` does. */

import { decideImport } from '../../../domain/glossary/import-decision.ts';
import { canonicalScope } from '../../../domain/glossary/scope.ts';
import { meaningOf } from '../../../domain/glossary/term-meaning.ts';
import { postAction } from '../../actions/post-action.ts';
import { ApiFailure } from '../../api/api-client.ts';
import type { App } from '../../state/app.ts';
import { readReport } from '../../state/read-report.ts';
import { renderExact } from '../../text/exact-json.ts';
import { sameText, type Term } from '../term-parts.tsx';
import type { FileTerm, LanguagePair } from './read-terms.ts';

/** The end of one term. */
export type TermOutcome = 'added' | 'updated' | 'unchanged' | 'left_out' | 'conflict' | 'refused';

/** How far an import is. */
export interface ImportProgress {
  readonly done: number;
  readonly counts: Readonly<Partial<Record<TermOutcome, number>>>;
  /** Terms that were not taken, and why. */
  readonly issues: ReadonlyArray<{ readonly term: FileTerm; readonly message: string }>;
}

/** Most terms of one answer. */
const MOST_TERMS = 1000;

/** An import that has not begun. */
export const NOTHING_DONE: ImportProgress = { done: 0, counts: {}, issues: [] };

type Desk = Pick<App, 'api' | 'contract' | 'now'>;

/**
 * Imports terms as drafts: new ones are added, drafts are changed, and decisions of people stay.
 *
 * @param options `file`: its name, the source of the terms; `onProgress`: told after each term
 * @throws ApiFailure when the service does not answer; a term that it refuses is an issue
 */
export async function importTerms(
  app: Desk,
  terms: readonly FileTerm[],
  {
    pair,
    file,
    signal,
    onProgress,
  }: {
    readonly pair: LanguagePair;
    readonly file: string;
    readonly signal: AbortSignal;
    readonly onProgress: (progress: ImportProgress) => void;
  },
): Promise<void> {
  let progress = NOTHING_DONE;
  for (const term of terms) {
    if (signal.aborted) return;
    const { outcome, message } = await importTerm(app, term, { pair, file });
    progress = {
      done: progress.done + 1,
      counts: { ...progress.counts, [outcome]: (progress.counts[outcome] ?? 0) + 1 },
      issues: message === undefined ? progress.issues : [...progress.issues, { term, message }],
    };
    onProgress(progress);
  }
}

interface Ended {
  readonly outcome: TermOutcome;
  readonly message?: string;
}

async function importTerm(
  app: Desk,
  term: FileTerm,
  { pair, file }: { readonly pair: LanguagePair; readonly file: string },
): Promise<Ended> {
  try {
    const known = await findKnown(app, term, pair);
    const decision = decideImport({
      known: known?.review_status ?? null,
      isSame: known !== null && meaning(known, pair) === meaning(term, pair),
      read: term.review_status,
      isReviewed: false,
      hasTranslation: term.recommended_translation.trim() !== '',
    });
    if (decision.kind !== 'steps') return { outcome: decision.kind, message: decision.message };
    if (decision.steps.includes('add')) {
      await addTerm(
        app,
        { ...fieldsOf(term), ...languagesOf(pair), source: sourceOf(term, file, app.now()) },
        term.term_id,
      );
      return { outcome: 'added' };
    }
    if (!decision.steps.includes('update')) return { outcome: 'unchanged' };
    const body = { term_id: known?.term_id, ...fieldsOf(term) };
    await postAction(app, 'translation-glossary-update', renderExact(body));
    return { outcome: 'updated' };
  } catch (error) {
    // Anything else than a refusal of this term concerns all of them.
    if (!(error instanceof ApiFailure) || error.isPassing || error.status === 401) throw error;
    const named = (error.problem.errors ?? []).map(({ pointer, message }) => `${pointer} ${message}`);
    return { outcome: 'refused', message: [error.message, ...named].join(' ') };
  }
}

/** The term of the Glossary that a term of a file is: by its id, else by its text, category and scope. */
async function findKnown(app: Desk, term: FileTerm, pair: LanguagePair): Promise<Term | null> {
  const { source_term: source } = term;
  if (source.trim() === '') return null;
  const query = { source_text: source, limit: String(MOST_TERMS) };
  const { items } = await readReport(app, 'translation.glossary.query', query);
  const ofPair = items.filter(
    (each) => each.source_language === pair.source_language && each.target_language === pair.target_language,
  );
  const isSame = (each: Term): boolean =>
    sameText(each.source_term, source) &&
    each.category === term.category &&
    canonicalScope(each.scope) === canonicalScope(term.scope);
  return (
    ofPair.find(({ term_id: id }) => id === term.term_id && id.startsWith('gt_')) ??
    ofPair.find(isSame) ??
    null
  );
}

/** Adds a term with the id of the file, or with another one when there is or was a term of that id. */
async function addTerm(app: Desk, body: object, termId: string | null): Promise<void> {
  const add = async (fields: object): Promise<void> => {
    await postAction(app, 'translation-glossary-add', renderExact(fields));
  };
  if (termId === null) {
    await add(body);
    return;
  }
  try {
    await add({ ...body, term_id: termId });
  } catch (error) {
    if (!(error instanceof ApiFailure) || !JSON.stringify(error.problem).includes('term_exists')) throw error;
    await add(body);
  }
}

/** A pair of a report has counts, too. */
function languagesOf({ source_language, target_language }: LanguagePair): LanguagePair {
  return { source_language, target_language };
}

function fieldsOf(term: FileTerm): object {
  const { source_term, aliases, recommended_translation, allowed_translations, category, priority, scope } =
    term;
  return { source_term, aliases, recommended_translation, allowed_translations, category, priority, scope };
}

function sourceOf({ source }: FileTerm, file: string, now: number): object {
  return {
    source_kind: 'imported',
    observed_unix_seconds: Math.floor(now),
    source_ref: file,
    ...source,
  };
}

function meaning(term: FileTerm | Term, pair: LanguagePair): string {
  return meaningOf({
    sourceLanguage: pair.source_language,
    targetLanguage: pair.target_language,
    sourceTerm: term.source_term,
    aliases: term.aliases,
    recommendedTranslation: term.recommended_translation,
    allowedTranslations: term.allowed_translations,
    category: term.category,
    priority: term.priority,
    scope: term.scope,
  });
}
