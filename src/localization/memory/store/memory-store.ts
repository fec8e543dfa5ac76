import type { MemoryMatch } from '../../../domain/memory/memory-match.ts';
import type { Database } from '../../../engine/database/sqlite-database.ts';
import { createConcordance, type Search } from './concordance.ts';
import { maintainIndexes, createTextIndexWriter, type IndexTexts } from './text-index.ts';
import { createMemoryChanges, type MemoryChanges, type ReviewNote } from './memory-changes.ts';
import type { ReadableDatabase } from '../../other-database.ts';
import { createMemoryLookup, type FindMatches, type MemoryLookup } from './memory-lookup.ts';
import { createMemoryReads, type MemoryReads } from './memory-reads.ts';
import { createMemoryWriter, type MemoryWriter, type ProposedRecord } from './memory-writer.ts';

export interface ReadableStore extends MemoryReads {
  readonly find: FindMatches;
  /** Finds the matches of several texts in one state of the file. The way to the file is paid once, not for each text. */
  findAll(lookups: readonly MemoryLookup[]): MemoryMatch[][];
  readonly search: Search;
  close(): void;
}

export interface WritableStore extends ReadableStore, MemoryWriter, MemoryChanges {
  readonly importRecords: ImportRecords;
  readonly indexTexts: IndexTexts;
  /** Runs the upkeep; pauses after each step. */
  maintain(): Generator<void, void>;
}

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
    close: () => {
      database.close();
    },
  };
}

export function createWritableStore(database: Database): WritableStore {
  const writer = createMemoryWriter(database);
  const changes = createMemoryChanges(database);
  return {
    ...createReadableStore(database),
    ...writer,
    ...changes,
    importRecords: createMemoryImport(database, writer, changes),
    indexTexts: createTextIndexWriter(database),
    maintain: () => maintainIndexes(database),
  };
}

export interface ImportedRecord extends ProposedRecord {
  /** Whether the reviewer of the import makes it trusted. */
  readonly isTrusted: boolean;
}

export interface ImportBatch {
  readonly records: readonly ImportedRecord[];
  /** The person who vouches for the trusted records. */
  readonly note: ReviewNote;
  readonly isDryRun: boolean;
}

export interface ImportOutcome {
  /** `conflict` for a record that stays a candidate, because another one is trusted with another target. */
  readonly outcome: 'added' | 'confirmed' | 'unchanged' | 'conflict' | 'refused';
  readonly message: string | null;
}

/** Imports records in one transaction, in their order. The same import again changes nothing. */
type ImportRecords = (batch: ImportBatch) => readonly ImportOutcome[];

function createMemoryImport(database: Database, writer: MemoryWriter, changes: MemoryChanges): ImportRecords {
  const confirmOne = (recordId: string, note: ReviewNote, wasAdded: boolean): ImportOutcome => {
    const confirmed = changes.confirm({
      ...note,
      record_id: recordId,
      supersede_record_id: null,
      force: false,
    });
    if (!confirmed.ok) return { outcome: 'conflict', message: confirmed.error.message };
    if (confirmed.value.changed) return { outcome: 'confirmed', message: null };
    return { outcome: wasAdded ? 'added' : 'unchanged', message: null };
  };
  const importAll = ({ records, note }: ImportBatch): ImportOutcome[] =>
    writer.propose(records, note.at, false).map((proposed, index): ImportOutcome => {
      if (proposed.outcome === 'refused') return { outcome: 'refused', message: proposed.reason };
      if (records[index]?.isTrusted === true) {
        return confirmOne(proposed.record_id, note, proposed.outcome === 'added');
      }
      return { outcome: proposed.outcome === 'added' ? 'added' : 'unchanged', message: null };
    });
  return (batch) => database.transaction(() => importAll(batch), { isTrial: batch.isDryRun });
}
