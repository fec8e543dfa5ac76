import type { MemoryState } from '../../../domain/memory/memory-record.ts';
import type { Database } from '../../../engine/database/sqlite-database.ts';

/** The numbers of records by pair of languages and state, so that a summary need not count them. */
interface Tally {
  /** Adds to the number of records; negative to take away. Calls belong into the transaction that changes the records. */
  add(pairId: number, state: MemoryState, records: number): void;
}

/** Creates the tally of a file. */
export function createTally(database: Database): Tally {
  const add = database.prepare(
    `INSERT INTO tally (pair_id, state, records) VALUES (?, ?, ?)
     ON CONFLICT (pair_id, state) DO UPDATE SET records = records + excluded.records`,
  );
  return {
    add: (pairId, state, records) => {
      add.run(pairId, state, records);
    },
  };
}
