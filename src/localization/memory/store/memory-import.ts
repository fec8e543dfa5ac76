import { confirmRecord, type ReviewNote } from './memory-changes.ts';
import type { MainMemory } from './memory-database.ts';
import { proposeRecords, type ProposedRecord } from './memory-writer.ts';

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
export function importRecords(memory: MainMemory, batch: ImportBatch): readonly ImportOutcome[] {
  return memory.database.transaction(() => importAll(memory, batch), { isTrial: batch.isDryRun });
}

function importAll(memory: MainMemory, { records, note }: ImportBatch): readonly ImportOutcome[] {
  return proposeRecords(memory, records, note.at, false).map((proposed, index): ImportOutcome => {
    if (proposed.outcome === 'refused') return { outcome: 'refused', message: proposed.reason };
    const wasAdded = proposed.outcome === 'added';
    if (records[index]?.isTrusted === true) return confirmOne(memory, proposed.record_id, note, wasAdded);
    return { outcome: wasAdded ? 'added' : 'unchanged', message: null };
  });
}

function confirmOne(
  memory: MainMemory,
  record_id: string,
  note: ReviewNote,
  wasAdded: boolean,
): ImportOutcome {
  const confirmed = confirmRecord(memory, { ...note, record_id, supersede_record_id: null, force: false });
  if (!confirmed.ok) return { outcome: 'conflict', message: confirmed.error.message };
  if (confirmed.value.changed) return { outcome: 'confirmed', message: null };
  return { outcome: wasAdded ? 'added' : 'unchanged', message: null };
}
