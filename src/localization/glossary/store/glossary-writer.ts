import { foldText } from '../../../domain/glossary/fold.ts';
import { isApprovable, statusAfterUpdate } from '../../../domain/glossary/lifecycle.ts';
import type { ReviewStatus } from '../../../domain/glossary/term.ts';
import { insertRow } from '../../../engine/database/insert-row.ts';
import type { MainGlossary } from './glossary-database.ts';
import {
  type ReviewAction,
  type StoredTerm,
  type TermAudit,
  type TermFields,
  TermError,
} from './stored-term.ts';
import { meaningOf } from '../../../domain/glossary/term-meaning.ts';
import { parametersOf, TERM_COLUMNS, termOfRow, UNIQUE_TERM, uniqueValues } from './term-rows.ts';

interface ChangeContext {
  readonly audit: TermAudit;
  /** Unix seconds. */
  readonly now: number;
}

export interface TermAddition extends ChangeContext {
  readonly termId: string;
  readonly fields: TermFields;
  readonly status: 'draft' | 'approved';
}

export interface TermUpdate extends ChangeContext {
  readonly termId: string;
  readonly fields: Partial<TermFields>;
  /** Whether a person who may review stands for the change, with a reason. */
  readonly isReviewed: boolean;
  readonly status: ReviewStatus | null;
}

export interface TermTransition extends ChangeContext {
  readonly termId: string;
  readonly kind: 'approve' | 'deprecate' | 'delete';
  readonly force: boolean;
}

/** Adds a term, with its entry in the history, in one transaction. @throws TermError `term_exists`, `term_conflict` */
export function addTerm(glossary: MainGlossary, addition: TermAddition): StoredTerm {
  return glossary.database.transaction(() => addOne(glossary, addition));
}

/**
 * Changes a term, with its entry in the history, in one transaction. An update that changes nothing stores nothing.
 *
 * @throws TermError `unknown_term`, `term_exists`, `term_conflict`, `invalid_transition`
 */
export function updateTerm(glossary: MainGlossary, update: TermUpdate): StoredTerm {
  return glossary.database.transaction(() => updateOne(glossary, update));
}

/**
 * Changes the state of a term, with its entry in the history, in one transaction.
 *
 * @throws TermError `unknown_term`, `term_conflict`, `term_approved`, `invalid_transition`
 */
export function changeTermState(glossary: MainGlossary, transition: TermTransition): StoredTerm {
  return glossary.database.transaction(() => changeState(glossary, transition));
}

/**
 * The live term of the same languages with an id, else the one with the same source term, scope and category.
 *
 * @returns `null` for a new term
 */
export function findKnownTerm(
  glossary: MainGlossary,
  termId: string | null,
  fields: TermFields,
): StoredTerm | null {
  const named = termId === null ? null : findTerm(glossary, termId);
  const isOfPair =
    named?.sourceLanguage === fields.sourceLanguage && named.targetLanguage === fields.targetLanguage;
  if (isOfPair) return named;
  const row = glossary
    .sql(`SELECT ${TERM_COLUMNS} FROM term WHERE ${UNIQUE_TERM}`)
    .get(...uniqueValues(fields));
  return row === undefined ? null : termOfRow(row);
}

/** Whether a term, live or deleted, has or had an id. */
export function isKnownTermId({ sql }: MainGlossary, termId: string): boolean {
  return sql('SELECT 1 FROM term WHERE term_id = ?').get(termId) !== undefined;
}

function findTerm({ sql }: MainGlossary, termId: string): StoredTerm | null {
  const row = sql(`SELECT ${TERM_COLUMNS} FROM term WHERE term_id = ? AND deleted_at IS NULL`).get(termId);
  return row === undefined ? null : termOfRow(row);
}

function requireTerm(glossary: MainGlossary, termId: string): StoredTerm {
  const term = findTerm(glossary, termId);
  if (term === null) throw new TermError('unknown_term', `there is no live term "${termId}"`);
  return term;
}

interface HistoryEntry extends ChangeContext {
  readonly action: ReviewAction;
  readonly from: ReviewStatus | null;
  readonly to: ReviewStatus | null;
}

function storeChange({ sql }: MainGlossary, term: StoredTerm): void {
  const { term_id: id, ...row } = parametersOf(term);
  const columns = Object.keys(row).map((column) => `${column} = ?`);
  sql(`UPDATE term SET ${columns.join(', ')} WHERE term_id = ?`).run(...Object.values(row), id ?? null);
}

/** Adds an entry to the history, and advances the generation of the file. */
function remember({ sql }: MainGlossary, term: StoredTerm, entry: HistoryEntry): void {
  const { action, from, to, audit, now } = entry;
  const { reviewer, tokenId, reason } = audit;
  const snapshot = JSON.stringify(parametersOf(term), (_key, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
  sql(
    `INSERT INTO review (term_id, revision, action, from_status, to_status, reviewer, token_id, reason, at, term)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(term.termId, term.revision, action, from, to, reviewer, tokenId, reason, now, snapshot);
  sql('UPDATE glossary SET generation = generation + 1').run();
}

function addOne(glossary: MainGlossary, { termId, fields, status, audit, now }: TermAddition): StoredTerm {
  if (isKnownTermId(glossary, termId)) {
    throw new TermError(
      'term_exists',
      `there is or was a term "${termId}": choose another id, or leave it out`,
    );
  }
  const term: StoredTerm = {
    ...fields,
    termId,
    revision: 1,
    reviewStatus: status,
    createdAt: now,
    updatedAt: now,
  };
  requireUnique(glossary, term);
  if (status === 'approved') requireNoTwin(glossary, term, 'add it as a draft and approve it with force');
  insertRow(glossary, 'term', parametersOf(term));
  remember(glossary, term, { action: 'add', from: null, to: status, audit, now });
  return term;
}

function updateOne(glossary: MainGlossary, update: TermUpdate): StoredTerm {
  const { termId, fields, status, isReviewed, audit, now } = update;
  const before = requireTerm(glossary, termId);
  const changed: StoredTerm = { ...before, ...fields };
  const isSemantic = meaningOf(changed) !== meaningOf(before);
  const to = statusAfterUpdate({
    from: before.reviewStatus,
    wanted: status,
    isSemantic,
    isReviewed,
  });
  if (to === null) {
    throw new TermError(
      'invalid_transition',
      `the term "${termId}" is ${before.reviewStatus}: an update does not make it ${String(status)}`,
    );
  }
  const isSame = to === before.reviewStatus && !isSemantic && sourceOf(changed) === sourceOf(before);
  if (isSame) return before;
  const term: StoredTerm = { ...changed, reviewStatus: to, revision: before.revision + 1, updatedAt: now };
  if (isSemantic) requireUnique(glossary, term);
  if (isSemantic && to === 'approved') {
    requireTranslation(term);
    requireNoTwin(glossary, term, 'leave the reason out, and approve it with force');
  }
  storeChange(glossary, term);
  remember(glossary, term, {
    action: actionOf(before.reviewStatus, to),
    from: before.reviewStatus,
    to,
    audit,
    now,
  });
  return term;
}

function changeState(glossary: MainGlossary, transition: TermTransition): StoredTerm {
  const { termId, kind, audit, now } = transition;
  const before = requireTerm(glossary, termId);
  const from = before.reviewStatus;
  const to = checkTransition(glossary, before, transition);
  const term: StoredTerm = {
    ...before,
    reviewStatus: to ?? from,
    revision: before.revision + 1,
    updatedAt: now,
  };
  storeChange(glossary, term);
  if (to === null) glossary.sql('UPDATE term SET deleted_at = ? WHERE term_id = ?').run(now, termId);
  remember(glossary, term, { action: kind, from, to, audit, now });
  return term;
}

/** @returns the state after the transition; `null` for a deleted term */
function checkTransition(
  glossary: MainGlossary,
  term: StoredTerm,
  { kind, force }: TermTransition,
): ReviewStatus | null {
  const { termId, reviewStatus: from } = term;
  if (kind === 'delete') {
    if (from !== 'approved' || force) return null;
    throw new TermError('term_approved', `the term "${termId}" is approved: deprecate it, or send force`);
  }
  const isPossible = kind === 'approve' ? isApprovable(from) : from === 'approved';
  if (!isPossible) {
    throw new TermError('invalid_transition', `the term "${termId}" is ${from}: ${kind} is not possible`);
  }
  if (kind === 'deprecate') return 'deprecated';
  requireTranslation(term);
  if (!force) requireNoTwin(glossary, term, 'deprecate that one, or send force');
  return 'approved';
}

function requireUnique({ sql }: MainGlossary, term: StoredTerm): void {
  const select = sql(`SELECT term_id FROM term WHERE ${UNIQUE_TERM} AND term_id <> ?`);
  const equal = select.get(...uniqueValues(term), term.termId)?.['term_id'];
  if (equal === undefined) return;
  throw new TermError(
    'term_exists',
    `the term "${String(equal)}" has the same languages, source term, scope and category: update that one`,
  );
}

function requireTranslation({ termId, recommendedTranslation }: StoredTerm): void {
  if (recommendedTranslation.trim() !== '') return;
  throw new TermError(
    'invalid_transition',
    `the term "${termId}" has no recommended translation: update it before it is approved`,
  );
}

function requireNoTwin({ sql }: MainGlossary, term: StoredTerm, advice: string): void {
  const wanted = foldText(term.recommendedTranslation).text;
  const twins = sql(
    `SELECT ${TERM_COLUMNS} FROM term WHERE deleted_at IS NULL AND review_status = 'approved' AND source_fold = ?
     AND source_language = ? AND target_language = ? AND scope = ? AND priority = ? AND term_id <> ?`,
  );
  const twin = twins
    .all(...uniqueValues(term).slice(0, -1), term.priority, term.termId)
    .map(termOfRow)
    .find(({ recommendedTranslation }) => foldText(recommendedTranslation).text !== wanted);
  if (twin === undefined) return;
  throw new TermError(
    'term_conflict',
    `the approved term "${twin.termId}" has the same source term, scope and priority, and the translation "${twin.recommendedTranslation}": ${advice}`,
  );
}

function sourceOf({ source }: StoredTerm): string {
  return JSON.stringify([source.kind, String(source.observedAt), source.ref, source.author, source.note]);
}

function actionOf(from: ReviewStatus, to: ReviewStatus): ReviewAction {
  if (to === 'rejected') return from === 'rejected' ? 'update' : 'reject';
  return from === 'rejected' ? 'reopen' : 'update';
}
