import { decideImport, type ImportStep } from '../../../domain/glossary/import-decision.ts';
import type { ReviewStatus } from '../../../domain/glossary/term.ts';
import type { Database } from '../../../engine/database/sqlite-database.ts';
import type { GlossaryWriter } from './glossary-writer.ts';
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
export type ImportTerms = (batch: TermImportBatch) => readonly TermImportOutcome[];

export function createGlossaryImport(database: Database, writer: GlossaryWriter): ImportTerms {
  const importOne = (term: ImportedTerm, batch: TermImportBatch): TermImportOutcome => {
    const known = writer.findKnown(term.isOwnId ? term.termId : null, term.fields);
    const decision = decideImport({
      known: known?.reviewStatus ?? null,
      isSame: known !== null && meaningOf({ ...known, ...withoutSource(term.fields) }) === meaningOf(known),
      read: term.status,
      isReviewed: batch.isReviewed,
      hasTranslation: term.fields.recommendedTranslation.trim() !== '',
    });
    if (decision.kind !== 'steps') return { outcome: decision.kind, message: decision.message };
    try {
      return database.transaction(() => {
        let termId = known?.termId ?? (writer.isKnownId(term.termId) ? term.spareId : term.termId);
        for (const step of decision.steps) ({ termId } = takeStep(writer, step, termId, term, batch));
        return { outcome: outcomeOf(decision.steps), message: null };
      });
    } catch (error) {
      if (!(error instanceof TermError)) throw error;
      return { outcome: 'conflict', message: error.message };
    }
  };
  return (batch) =>
    database.transaction(() => batch.terms.map((term) => importOne(term, batch)), {
      isTrial: batch.isDryRun,
    });
}

/** The source of a known term stays: the file is not where it comes from. */
function withoutSource(fields: TermFields): Omit<TermFields, 'source'> {
  const { source: _source, ...others } = fields;
  return others;
}

function takeStep(
  writer: GlossaryWriter,
  step: ImportStep,
  termId: string,
  term: ImportedTerm,
  { audit, now, isReviewed }: TermImportBatch,
): StoredTerm {
  const context = { audit, now, termId };
  if (step === 'add') return writer.add({ ...context, fields: term.fields, status: 'draft' });
  if (step === 'update') {
    return writer.update({ ...context, fields: withoutSource(term.fields), isReviewed, status: null });
  }
  return writer.transition({ ...context, kind: step, force: false });
}

function outcomeOf(steps: readonly ImportStep[]): TermImportOutcome['outcome'] {
  if (steps.includes('add')) return 'added';
  if (steps.includes('update')) return 'updated';
  return steps.length > 0 ? 'reviewed' : 'unchanged';
}
