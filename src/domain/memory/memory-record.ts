/** States of a record. Only `trusted` ones are reused. */
export type MemoryState = 'candidate' | 'trusted' | 'superseded' | 'rejected';

export interface MemoryProvenance {
  readonly origin: 'worker' | 'task_update' | 'proofread' | 'import' | 'manual';
  readonly provider: string | null;
  readonly provider_run_id: string | null;
  readonly task_id: string | null;
  readonly unit_id: string | null;
  readonly release_id: string | null;
}

export interface LanguagePair {
  readonly source_language: string;
  readonly target_language: string;
}

/** One record, in the form of the reports. Its texts, context and provenance never change; its state does. */
export interface MemoryRecord extends LanguagePair {
  readonly record_id: string;
  readonly state: MemoryState;
  readonly source_text: string;
  readonly target_text: string;
  readonly context: Readonly<Record<string, string>>;
  /** Empty when the context has none of the keys that identify a place. */
  readonly context_key: string;
  /** Whether it also serves units of other contexts; only trusted records. */
  readonly is_default: boolean;
  readonly identity: string;
  readonly provenance: MemoryProvenance;
  readonly reviewer: string | null;
  readonly reason: string | null;
  readonly supersedes: string | null;
  readonly superseded_by: string | null;
  readonly created_at: number;
  readonly confirmed_at: number | null;
  readonly use_count: number;
  readonly last_used_at: number | null;
}
