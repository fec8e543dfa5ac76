import type { UnitState } from '../../../../domain/translation/unit-state.ts';
import { prepareInsert, type NewRow } from '../../../../engine/database/insert-row.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import type { Provenance, Row, StoredTarget } from './target-rows.ts';

/** A target as the history has it; `untranslated` for one that was taken back. */
type RecordedTarget = Omit<
  StoredTarget,
  'state' | 'stateBefore' | 'updatedAt' | 'findings' | 'qaIdentity'
> & {
  readonly state: UnitState;
};

interface Newest {
  /** `untranslated` without a target. */
  readonly state: UnitState;
  /** Of the target; `null` without one. */
  readonly text: string | null;
  /** Of the target, or of the one that was removed; 0 for a unit that never had one. */
  readonly revision: number;
  /** The newest entry of the history; `null` without one. */
  readonly entry: number | null;
}

/** All columns but `entry`, which SQLite counts. */
const COLUMNS =
  `entry_before unit_id target_language revision target_text state source_text source_digest author_kind token_id
  reviewer reviewer_token_id reason provider provider_run_id model prompt_digest glossary_generation propagated_from task_id release_id
  at`.split(/\s+/);

/** The append-only history of targets. The entries of a unit are a chain from the newest one to the first one. */
interface TargetHistory {
  newestOf(unitId: Uint8Array): Newest;
  /** @param before the newest entry of the unit so far @returns the new entry, which its target must name */
  add(target: RecordedTarget, provenance: Provenance, at: number, before: number | null): number;
  /** Names the newest entry of a unit whose target is gone, so that its history continues from there. */
  keepAfterRemoval(unitId: Uint8Array, entry: number | null): void;
  /** The revision in an entry; 0 without one. */
  revisionOf(entry: number | null): number;
  /** Reads the entries of a unit, the newest first. */
  entriesOf(unitId: Uint8Array): Generator<Row, undefined>;
}

/** Creates the history of one target language; call it inside a transaction. */
export function createTargetHistory(database: Database, targetLanguage: string): TargetHistory {
  const ofTarget = database.prepare(
    'SELECT state, target_text, revision, entry FROM target WHERE unit_id = ? AND target_language = ?',
  );
  const ofRemoved =
    database.prepare(`SELECT 'untranslated' AS state, NULL AS target_text, revision, entry FROM removed_target
    JOIN target_history USING (entry) WHERE removed_target.unit_id = ? AND removed_target.target_language = ?`);
  const at = database.prepare('SELECT * FROM target_history WHERE entry = ?');
  const keep = database.prepare('INSERT OR REPLACE INTO removed_target VALUES (?, ?, ?)');
  const newestOf = (unitId: Uint8Array): Newest => {
    const row = ofTarget.get(unitId, targetLanguage) ?? ofRemoved.get(unitId, targetLanguage);
    if (row === undefined) return { state: 'untranslated', text: null, revision: 0, entry: null };
    return {
      state: row['state'] as UnitState,
      text: row['target_text'] as string | null,
      revision: Number(row['revision']),
      entry: Number(row['entry']),
    };
  };
  return {
    newestOf,
    add: createEntryWriter(database, targetLanguage),
    keepAfterRemoval: (unitId, entry) => {
      if (entry !== null) keep.run(unitId, targetLanguage, entry);
    },
    revisionOf: (entry) => Number(at.get(entry)?.['revision'] ?? 0),
    *entriesOf(unitId): Generator<Row, undefined> {
      let row = at.get(newestOf(unitId).entry);
      while (row !== undefined) {
        yield row;
        row = at.get(row['entry_before'] ?? null);
      }
      return undefined;
    },
  };
}

function createEntryWriter(database: Database, targetLanguage: string): TargetHistory['add'] {
  const insert = prepareInsert(database, 'target_history', COLUMNS);
  return (target, provenance, at, before) => {
    const { reviewer, reason, model, promptDigest, judgedBy, taskId, releaseId } = provenance;
    return insert({
      ...sharedColumns(target, targetLanguage),
      entry_before: before,
      reviewer,
      reviewer_token_id: provenance.reviewerTokenId,
      reason,
      model,
      prompt_digest: promptDigest,
      glossary_generation: judgedBy?.generation ?? null,
      task_id: taskId,
      release_id: releaseId,
      at,
    });
  };
}

/** The columns of a target that its history has, too. */
export function sharedColumns(target: RecordedTarget, targetLanguage: string): NewRow {
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
