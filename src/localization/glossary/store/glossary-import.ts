import { decideImport, type ImportStep } from '../../../domain/glossary/import-decision.ts';
import type { ReviewStatus } from '../../../domain/glossary/term.ts';
import type { MainGlossary } from './glossary-database.ts';
import { addTerm, changeTermState, findKnownTerm, isKnownTermId, updateTerm } from './glossary-writer.ts';
import { meaningOf } from '../../../domain/glossary/term-meaning.ts';
import { TermError, type StoredTerm, type TermAudit, type TermFields } from './stored-term.ts';

export interface ImportedTerm {
  readonly termId: string;
  /** Whether the id is one of ours; others are not unique beyond their file. */
  readonly isOwnId: boolean;
  /** Of a new term that cannot have the id of the file, because another term has or had it. */
  readonly spareId: string;
  readonly fields: TermFields;
  /** The state that the file gives it; `null` when it gives none. */
  readonly status: ReviewStatus | null;
}

export interface TermImportBatch {
  readonly terms: readonly ImportedTerm[];
  readonly audit: TermAudit;
  /** Whether the reviewer of the audit stands for the terms. */
  readonly isReviewed: boolean;
  readonly isDryRun: boolean;
  /** Unix seconds. */
  readonly now: number;
}

export interface TermImportOutcome {
  readonly outcome: 'added' | 'updated' | 'reviewed' | 'unchanged' | 'conflict' | 'left_out';
  readonly message: string | null;
}

/** Imports terms in one transaction, in their order. The same import again changes nothing. */
export function importTerms(glossary: MainGlossary, batch: TermImportBatch): readonly TermImportOutcome[] {
  return glossary.database.transaction(() => batch.terms.map((term) => importOne(glossary, term, batch)), {
    isTrial: batch.isDryRun,
  });
}

function importOne(glossary: MainGlossary, term: ImportedTerm, batch: TermImportBatch): TermImportOutcome {
  const known = findKnownTerm(glossary, term.isOwnId ? term.termId : null, term.fields);
  const decision = decideImport({
    known: known?.reviewStatus ?? null,
    isSame: known !== null && meaningOf({ ...known, ...withoutSource(term.fields) }) === meaningOf(known),
    read: term.status,
    isReviewed: batch.isReviewed,
    hasTranslation: term.fields.recommendedTranslation.trim() !== '',
  });
  if (decision.kind !== 'steps') return { outcome: decision.kind, message: decision.message };
  try {
    return glossary.database.transaction(() => {
      let termId = known?.termId ?? (isKnownTermId(glossary, term.termId) ? term.spareId : term.termId);
      for (const step of decision.steps) ({ termId } = takeStep(glossary, step, termId, term, batch));
      return { outcome: outcomeOf(decision.steps), message: null };
    });
  } catch (error) {
    if (!(error instanceof TermError)) throw error;
    return { outcome: 'conflict', message: error.message };
  }
}

/** The source of a known term stays: the file is not where it comes from. */
function withoutSource(fields: TermFields): Omit<TermFields, 'source'> {
  const { source: _source, ...others } = fields;
  return others;
}

function takeStep(
  glossary: MainGlossary,
  step: ImportStep,
  termId: string,
  term: ImportedTerm,
  { audit, now, isReviewed }: TermImportBatch,
): StoredTerm {
  const context = { audit, now, termId };
  if (step === 'add') return addTerm(glossary, { ...context, fields: term.fields, status: 'draft' });
  if (step === 'update') {
    return updateTerm(glossary, { ...context, fields: withoutSource(term.fields), isReviewed, status: null });
  }
  return changeTermState(glossary, { ...context, kind: step, force: false });
}

function outcomeOf(steps: readonly ImportStep[]): TermImportOutcome['outcome'] {
  if (steps.includes('add')) return 'added';
  if (steps.includes('update')) return 'updated';
  return steps.length > 0 ? 'reviewed' : 'unchanged';
}
