import { openMainMemory } from '../../src/localization/memory/store/memory-database.ts';
import type { ConfirmRequest } from '../../src/localization/memory/store/memory-changes.ts';
import { createWritableStore } from '../../src/localization/memory/store/memory-store.ts';
import type { ProposedRecord } from '../../src/localization/memory/store/memory-writer.ts';

/** Records to load. */
export interface LoadedRecords {
  readonly count: number;
  readonly recordOf: (index: number) => ProposedRecord;
  readonly isTrusted: (index: number) => boolean;
}

const BATCH_RECORDS = 20_000;
const CACHE_KIBIBYTES = 1024 * 1024;

/**
 * Writes the main file of a Translation Memory through its own store, with its texts indexed, and closes it. Nothing waits for the
 * disk, since the bench can write the file again, and all indexes fit into the cache.
 */
export function loadRecords(path: string, { count, recordOf, isTrusted }: LoadedRecords): void {
  const database = openMainMemory(path);
  try {
    database.prepare('PRAGMA synchronous = OFF').run();
    database.prepare(`PRAGMA cache_size = -${CACHE_KIBIBYTES}`).run();
    const store = createWritableStore(database);
    for (let first = 0; first < count; first += BATCH_RECORDS) {
      const indexes = Array.from({ length: Math.min(BATCH_RECORDS, count - first) }, (_, at) => first + at);
      const records = indexes.map(recordOf);
      const trusted = records.filter((_, at) => isTrusted(first + at));
      // One transaction for all: a transaction of its own would set the waiting for the disk again.
      database.transaction(() => {
        store.propose(records, 1);
        store.confirmAll(trusted.map(({ record_id }) => confirmationOf(record_id)));
        store.indexTexts(BATCH_RECORDS);
      });
    }
  } finally {
    database.close();
  }
}

/** The confirmation of a record by the bench. */
export function confirmationOf(record_id: string): ConfirmRequest {
  return { record_id, supersede_record_id: null, force: false, reviewer: 'bench', reason: null, at: 1 };
}
