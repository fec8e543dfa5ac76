import type { MemoryRecord, MemoryState } from '../../../domain/memory/memory-record.ts';
import type { Database } from '../../../engine/database/sqlite-database.ts';
import { createPairIds } from './pair-ids.ts';
import { createTally } from './tally.ts';
import { sourceKeysOf } from './text-keys.ts';

/** The reviewer, the time and the reason of a change. */
export interface ReviewNote {
  readonly reviewer: string;
  /** The token of the caller, where it is known. */
  readonly tokenId?: string | null;
  readonly reason: string | null;
  /** Unix seconds. */
  readonly at: number;
}

interface StateChange {
  readonly action: 'confirm' | 'supersede' | 'reject' | 'resolve';
  readonly to: MemoryState;
  /** The record that this one replaces, or that replaces this one. */
  readonly other: string | null;
  readonly note: ReviewNote;
}

/** Writes states and their history. Calls belong into a transaction. */
interface StateWriter {
  /** Changes the state of a record, and adds the change to its history. */
  change(record: MemoryRecord, change: StateChange): void;
  /** Makes a trusted record the default of its text when that has none. */
  makeDefaultIfNone(record: MemoryRecord): void;
}

/** Creates the writer of a file. */
export function createStateWriter(database: Database): StateWriter {
  const trust = database.prepare(
    `UPDATE record SET state = 'trusted', confirmed_at = ?, reviewer = ?, reason = ?, supersedes = ?, superseded_by = NULL
     WHERE record_id = ?`,
  );
  const supersede = database.prepare(
    `UPDATE record SET state = 'superseded', is_default = 0, superseded_by = ? WHERE record_id = ?`,
  );
  const reject = database.prepare(
    `UPDATE record SET state = 'rejected', reviewer = ?, reason = ? WHERE record_id = ?`,
  );
  const history = database.prepare(
    `INSERT INTO record_history (id, at, action, from_state, to_state, reviewer, token_id, reason, other_record_id)
     SELECT id, ?, ?, ?, ?, ?, ?, ?, ? FROM record WHERE record_id = ?`,
  );
  const endContextualDefaults = database.prepare(
    `UPDATE record SET is_default = 0
     WHERE source_key = ? AND is_default = 1 AND source_text = ? AND context_key <> ''`,
  );
  const makeDefault = database.prepare(
    `UPDATE record SET is_default = 1 WHERE record_id = ?
     AND NOT EXISTS (SELECT 1 FROM record o WHERE o.source_key = ? AND o.is_default = 1 AND o.source_text = ?)`,
  );
  const setDefault = database.prepare('UPDATE record SET is_default = 1 WHERE record_id = ?');
  const tally = createTally(database);
  const pairIdOf = createPairIds(database);

  const makeDefaultIfNone = (record: MemoryRecord): void => {
    const { normalized, sourceKey } = sourceKeysOf(record, record.source_text, {});
    makeDefault.run(record.record_id, sourceKey, normalized);
  };
  /** A record without context is the default whatever there was; a contextual one only where there is none. */
  const settleDefault = (record: MemoryRecord): void => {
    if (record.context_key !== '') {
      makeDefaultIfNone(record);
      return;
    }
    const { normalized, sourceKey } = sourceKeysOf(record, record.source_text, {});
    endContextualDefaults.run(sourceKey, normalized);
    setDefault.run(record.record_id);
  };

  return {
    makeDefaultIfNone,
    change: (record, { action, to, other, note: { reviewer, tokenId = null, reason, at } }) => {
      const { record_id: id, state } = record;
      if (to === 'trusted') {
        trust.run(at, reviewer, reason, other, id);
        settleDefault(record);
      } else if (to === 'superseded') supersede.run(other, id);
      else reject.run(reviewer, reason, id);
      history.run(at, action, state, to, reviewer, tokenId, reason, other, id);
      const pairId = pairIdOf(record);
      tally.add(pairId, state, -1);
      tally.add(pairId, to, 1);
    },
  };
}
