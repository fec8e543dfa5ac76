import { foldText } from '../../../domain/glossary/fold.ts';
import { isApprovable, statusAfterUpdate } from '../../../domain/glossary/lifecycle.ts';
import type { ReviewStatus } from '../../../domain/glossary/term.ts';
import type { Database } from '../../../engine/database/sqlite-database.ts';
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

/** Changes the terms of a file. Every change is one transaction with its entry in the history. */
export interface GlossaryWriter {
  /** @throws TermError `term_exists`, `term_conflict` */
  add(addition: TermAddition): StoredTerm;
  /** An update that changes nothing stores nothing. @throws TermError `unknown_term`, `term_exists`, `term_conflict`, `invalid_transition` */
  update(update: TermUpdate): StoredTerm;
  /** @throws TermError `unknown_term`, `term_conflict`, `term_approved`, `invalid_transition` */
  transition(transition: TermTransition): StoredTerm;
  /**
   * The live term of the same languages with an id, else the one with the same source term, scope and category.
   *
   * @returns `null` for a new term
   */
  findKnown(termId: string | null, fields: TermFields): StoredTerm | null;
  isKnownId(termId: string): boolean;
}

export function createGlossaryWriter(database: Database): GlossaryWriter {
  const store = createTermStore(database);
  const inTransaction =
    <Change>(change: (store: TermStore, change: Change) => StoredTerm) =>
    (wanted: Change): StoredTerm =>
      database.transaction(() => change(store, wanted));
  return {
    add: inTransaction(addTerm),
    update: inTransaction(updateTerm),
    transition: inTransaction(changeState),
    findKnown: (termId, fields) => {
      const named = termId === null ? null : store.find(termId);
      const isOfPair =
        named?.sourceLanguage === fields.sourceLanguage && named.targetLanguage === fields.targetLanguage;
      return isOfPair ? named : store.findEqual(fields);
    },
    isKnownId: store.isKnown,
  };
}

type TermStore = ReturnType<typeof createTermStore>;

interface HistoryEntry extends ChangeContext {
  readonly action: ReviewAction;
  readonly from: ReviewStatus | null;
  readonly to: ReviewStatus | null;
}

function createTermStore(database: Database) {
  const columns = `revision, source_term, source_fold, search_fold, aliases, recommended_translation,
    allowed_translations, source_language, target_language, category, priority, scope, review_status, source_kind,
    observed_at, source_ref, source_author, source_note, created_at, updated_at`.split(/\s*,\s*/);
  const insert = database.prepare(
    `INSERT INTO term (term_id, ${columns.join(', ')}) VALUES (:term_id, ${columns.map((each) => `:${each}`).join(', ')})`,
  );
  const update = database.prepare(
    `UPDATE term SET ${columns.map((each) => `${each} = :${each}`).join(', ')} WHERE term_id = :term_id`,
  );
  const bury = database.prepare('UPDATE term SET deleted_at = ? WHERE term_id = ?');
  const isKnown = database.prepare('SELECT 1 FROM term WHERE term_id = ?');
  const read = database.prepare(`SELECT ${TERM_COLUMNS} FROM term WHERE term_id = ? AND deleted_at IS NULL`);
  const equal = database.prepare(`SELECT term_id FROM term WHERE ${UNIQUE_TERM} AND term_id <> ?`);
  const equalRow = database.prepare(`SELECT ${TERM_COLUMNS} FROM term WHERE ${UNIQUE_TERM}`);
  const twins = database.prepare(
    `SELECT ${TERM_COLUMNS} FROM term WHERE deleted_at IS NULL AND review_status = 'approved' AND source_fold = ?
     AND source_language = ? AND target_language = ? AND scope = ? AND priority = ? AND term_id <> ?`,
  );
  const remember = database.prepare(
    `INSERT INTO review (term_id, revision, action, from_status, to_status, reviewer, token_id, reason, at, term)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const advance = database.prepare('UPDATE glossary SET generation = generation + 1');
  return {
    isKnown: (termId: string) => isKnown.get(termId) !== undefined,
    find: (termId: string): StoredTerm | null => {
      const row = read.get(termId);
      return row === undefined ? null : termOfRow(row);
    },
    findEqual: (fields: TermFields): StoredTerm | null => {
      const row = equalRow.get(...uniqueValues(fields));
      return row === undefined ? null : termOfRow(row);
    },
    get: (termId: string): StoredTerm => {
      const row = read.get(termId);
      if (row === undefined) throw new TermError('unknown_term', `there is no live term "${termId}"`);
      return termOfRow(row);
    },
    insert: (term: StoredTerm) => insert.run(parametersOf(term)),
    update: (term: StoredTerm) => update.run(parametersOf(term)),
    bury: (termId: string, now: number) => bury.run(now, termId),
    equalTerm: (term: StoredTerm) => equal.get(...uniqueValues(term), term.termId)?.['term_id'] ?? null,
    twins: (term: StoredTerm): StoredTerm[] => {
      const values = uniqueValues(term).slice(0, -1);
      return twins.all(...values, term.priority, term.termId).map(termOfRow);
    },
    /** Adds an entry to the history, and advances the generation of the file. */
    remember: (term: StoredTerm, { action, from, to, audit, now }: HistoryEntry) => {
      const { reviewer, tokenId, reason } = audit;
      const snapshot = JSON.stringify(parametersOf(term), (_key, value: unknown) =>
        typeof value === 'bigint' ? value.toString() : value,
      );
      remember.run(term.termId, term.revision, action, from, to, reviewer, tokenId, reason, now, snapshot);
      advance.run();
    },
  };
}

function addTerm(store: TermStore, { termId, fields, status, audit, now }: TermAddition): StoredTerm {
  if (store.isKnown(termId)) {
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
  requireUnique(store, term);
  if (status === 'approved') requireNoTwin(store, term, 'add it as a draft and approve it with force');
  store.insert(term);
  store.remember(term, { action: 'add', from: null, to: status, audit, now });
  return term;
}

function updateTerm(store: TermStore, update: TermUpdate): StoredTerm {
  const { termId, fields, status, isReviewed, audit, now } = update;
  const before = store.get(termId);
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
  if (isSemantic) requireUnique(store, term);
  if (isSemantic && to === 'approved') {
    requireTranslation(term);
    requireNoTwin(store, term, 'leave the reason out, and approve it with force');
  }
  store.update(term);
  store.remember(term, {
    action: actionOf(before.reviewStatus, to),
    from: before.reviewStatus,
    to,
    audit,
    now,
  });
  return term;
}

function changeState(store: TermStore, transition: TermTransition): StoredTerm {
  const { termId, kind, audit, now } = transition;
  const before = store.get(termId);
  const from = before.reviewStatus;
  const to = checkTransition(store, before, transition);
  const term: StoredTerm = {
    ...before,
    reviewStatus: to ?? from,
    revision: before.revision + 1,
    updatedAt: now,
  };
  store.update(term);
  if (to === null) store.bury(termId, now);
  store.remember(term, { action: kind, from, to, audit, now });
  return term;
}

/** @returns the state after the transition; `null` for a deleted term */
function checkTransition(
  store: TermStore,
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
  if (!force) requireNoTwin(store, term, 'deprecate that one, or send force');
  return 'approved';
}

function requireUnique(store: TermStore, term: StoredTerm): void {
  const equal = store.equalTerm(term);
  if (equal === null) return;
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

function requireNoTwin(store: TermStore, term: StoredTerm, advice: string): void {
  const wanted = foldText(term.recommendedTranslation).text;
  const twin = store
    .twins(term)
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
