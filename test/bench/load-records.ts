import { memoryIn, openMainMemory } from '../../src/localization/memory/store/memory-database.ts';
import { type ConfirmRequest, confirmRecords } from '../../src/localization/memory/store/memory-changes.ts';
import { type ProposedRecord, proposeRecords } from '../../src/localization/memory/store/memory-writer.ts';
import { indexTexts } from '../../src/localization/memory/store/text-index.ts';

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
    const store = memoryIn(database);
    for (let first = 0; first < count; first += BATCH_RECORDS) {
      const indexes = Array.from({ length: Math.min(BATCH_RECORDS, count - first) }, (_, at) => first + at);
      const records = indexes.map(recordOf);
      const trusted = records.filter((_, at) => isTrusted(first + at));
      // One transaction for all: a transaction of its own would set the waiting for the disk again.
      database.transaction(() => {
        proposeRecords(store, records, 1);
        confirmRecords(
          store,
          trusted.map(({ record_id }) => confirmationOf(record_id)),
        );
        indexTexts(store, BATCH_RECORDS);
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
