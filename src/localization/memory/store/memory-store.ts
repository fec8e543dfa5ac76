import type { MemoryMatch } from '../../../domain/memory/memory-match.ts';
import type { Database } from '../../../engine/database/sqlite-database.ts';
import { createConcordance } from './concordance.ts';
import { createMaintenance } from './maintenance.ts';
import { createMemoryChanges, type MemoryChanges } from './memory-changes.ts';
import type { ReadableDatabase } from '../../other-database.ts';
import { createMemoryImport, type ImportRecords } from './memory-import.ts';
import { createMemoryLookup, type FindMatches, type MemoryLookup } from './memory-lookup.ts';
import { createMemoryReads, type MemoryReads } from './memory-reads.ts';
import { createMemoryWriter, type MemoryWriter } from './memory-writer.ts';
import { createTextIndexWriter, type IndexTexts } from './text-index.ts';

/** The reads of an open file. */
export interface ReadableStore extends MemoryReads {
  readonly find: FindMatches;
  /** Finds the matches of several texts in one state of the file. The way to the file is paid once, not for each text. */
  findAll(lookups: readonly MemoryLookup[]): MemoryMatch[][];
  readonly search: ReturnType<typeof createConcordance>;
}

/** The reads and writes of the main file. */
export interface WritableStore extends ReadableStore, MemoryWriter, MemoryChanges {
  readonly importRecords: ImportRecords;
  readonly indexTexts: IndexTexts;
  readonly maintain: ReturnType<typeof createMaintenance>;
}

/** Prepares the reads of a file. */
export function createReadableStore(database: ReadableDatabase): ReadableStore {
  const find = createMemoryLookup(database);
  const begin = database.prepare('BEGIN');
  const end = database.prepare('COMMIT');
  return {
    ...createMemoryReads(database),
    find,
    findAll: (lookups) => {
      begin.run();
      try {
        return lookups.map(find);
      } finally {
        end.run();
      }
    },
    search: createConcordance(database),
  };
}

/** Prepares the reads and writes of a file. */
export function createWritableStore(database: Database): WritableStore {
  const writer = createMemoryWriter(database);
  const changes = createMemoryChanges(database);
  return {
    ...createReadableStore(database),
    ...writer,
    ...changes,
    importRecords: createMemoryImport(database, writer, changes),
    indexTexts: createTextIndexWriter(database),
    maintain: createMaintenance(database),
  };
}
