import type { UnitState } from '../../../../domain/translation/unit-state.ts';
import { insertRow, type NewRow } from '../../../../engine/database/insert-row.ts';
import type { Provenance, Row, StoredTarget } from './target-rows.ts';
import { indexWithBatch } from './target-search.ts';
import type { Work, WorkReader } from './work.ts';

/** A target as the history has it; `untranslated` for one that was taken back. */
type RecordedTarget = Omit<StoredTarget, 'state'> & { readonly state: UnitState };

const OF_TARGET =
  'SELECT state, target_text, revision, entry FROM target WHERE unit_id = ? AND target_language = ?';
const OF_REMOVED = `SELECT 'untranslated' AS state, NULL AS target_text, revision, entry FROM removed_target
  JOIN target_history USING (entry) WHERE removed_target.unit_id = ? AND removed_target.target_language = ?`;
const ENTRY = 'SELECT * FROM target_history WHERE entry = ?';

/**
 * The newest state of a unit in its append-only history. The entries of a unit are a chain from the newest one to the first one.
 *
 * @returns the state, `untranslated` without a target; the text, `null` without a target; the revision of the target, or of the one
 * that was removed, 0 for a unit that never had one; and the newest entry, `null` without one
 */
export function newestOf(
  work: WorkReader,
  unitId: Uint8Array,
): {
  readonly state: UnitState;
  readonly text: string | null;
  readonly revision: number;
  readonly entry: number | null;
} {
  const row =
    work.sql(OF_TARGET).get(unitId, work.targetLanguage) ??
    work.sql(OF_REMOVED).get(unitId, work.targetLanguage);
  if (row === undefined) return { state: 'untranslated', text: null, revision: 0, entry: null };
  return {
    state: row['state'] as UnitState,
    text: row['target_text'] as string | null,
    revision: Number(row['revision']),
    entry: Number(row['entry']),
  };
}

/** Reads the entries of a unit, the newest first. */
export function* entriesOf(work: WorkReader, unitId: Uint8Array): Generator<Row, undefined> {
  let row = work.sql(ENTRY).get(newestOf(work, unitId).entry);
  while (row !== undefined) {
    yield row;
    row = work.sql(ENTRY).get(row['entry_before'] ?? null);
  }
  return undefined;
}

/** The revision in an entry; 0 without one. */
export function revisionIn(work: WorkReader, entry: number | null): number {
  return Number(work.sql(ENTRY).get(entry)?.['revision'] ?? 0);
}

/**
 * Adds an entry.
 *
 * @param before the newest entry of the unit so far
 * @returns the new entry, which its target must name
 */
export function addEntry(
  work: Work,
  target: RecordedTarget,
  provenance: Provenance,
  before: number | null,
): number {
  const entry = insertRow(work, 'target_history', {
    ...sharedColumns(work, target),
    entry_before: before,
    reviewer: provenance.reviewer,
    reviewer_token_id: provenance.reviewerTokenId,
    reason: provenance.reason,
    model: provenance.model,
    prompt_digest: provenance.promptDigest,
    glossary_generation: provenance.judgedBy?.generation ?? null,
    task_id: provenance.taskId,
    release_id: provenance.releaseId,
    at: target.updatedAt,
  });
  indexWithBatch(work, entry);
  return entry;
}

/** Names the newest entry of a unit whose target is gone, so that its history continues from there. */
export function keepAfterRemoval(work: Work, unitId: Uint8Array, entry: number | null): void {
  if (entry === null) return;
  work.sql('INSERT OR REPLACE INTO removed_target VALUES (?, ?, ?)').run(unitId, work.targetLanguage, entry);
}

/** The columns of a target that its history has, too. */
export function sharedColumns({ targetLanguage }: Work, target: RecordedTarget): NewRow {
  return {
    unit_id: target.unitId,
    target_language: targetLanguage,
    target_text: target.text,
    state: target.state,
    revision: target.revision,
    source_text: target.sourceText,
    source_digest: target.sourceDigest,
    author_kind: target.authorKind,
    token_id: target.tokenId,
    provider: target.provider,
    provider_run_id: target.providerRunId,
    propagated_from: target.propagatedFrom,
  };
}
