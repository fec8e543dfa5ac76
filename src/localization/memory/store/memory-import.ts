import type { Database } from '../../../engine/database/sqlite-database.ts';
import type { MemoryChanges } from './memory-changes.ts';
import type { MemoryWriter, ProposedRecord } from './memory-writer.ts';
import type { ReviewNote } from './state-writer.ts';

/** A record of an imported file. */
export interface ImportedRecord extends ProposedRecord {
  /** Whether the reviewer of the import makes it trusted. */
  readonly isTrusted: boolean;
}

/** Records to import together. */
export interface ImportBatch {
  readonly records: readonly ImportedRecord[];
  /** The person who stands for the trusted records. */
  readonly note: ReviewNote;
  readonly isDryRun: boolean;
}

/** The outcome for one record. */
export interface ImportOutcome {
  /** `conflict` for a record that stays a candidate, because another one is trusted with another target. */
  readonly outcome: 'added' | 'confirmed' | 'unchanged' | 'conflict' | 'refused';
  readonly message: string | null;
}

/** Imports records in one transaction, in their order. The same import again changes nothing. */
export type ImportRecords = (batch: ImportBatch) => readonly ImportOutcome[];

/** Creates the import of a file of the Translation Memory. */
export function createMemoryImport(
  database: Pick<Database, 'transaction'>,
  { propose }: Pick<MemoryWriter, 'propose'>,
  { confirm }: Pick<MemoryChanges, 'confirm'>,
): ImportRecords {
  const confirmOne = (recordId: string, note: ReviewNote, wasAdded: boolean): ImportOutcome => {
    const confirmed = confirm({ ...note, record_id: recordId, supersede_record_id: null, force: false });
    if (!confirmed.ok) return { outcome: 'conflict', message: confirmed.error.message };
    if (confirmed.value.changed) return { outcome: 'confirmed', message: null };
    return { outcome: wasAdded ? 'added' : 'unchanged', message: null };
  };
  const importAll = ({ records, note }: ImportBatch): ImportOutcome[] =>
    propose(records, note.at, false).map((proposed, index): ImportOutcome => {
      if (proposed.outcome === 'refused') return { outcome: 'refused', message: proposed.reason };
      if (records[index]?.isTrusted === true) {
        return confirmOne(proposed.record_id, note, proposed.outcome === 'added');
      }
      return { outcome: proposed.outcome === 'added' ? 'added' : 'unchanged', message: null };
    });
  return (batch) => database.transaction(() => importAll(batch), { isTrial: batch.isDryRun });
}
