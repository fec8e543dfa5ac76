import type { MemoryProvenance, MemoryState } from '../../domain/memory/memory-record.ts';

/** A record as a file has it. Values that the file does not have are `null`. */
export interface ReadMemoryRecord {
  readonly record_id: string | null;
  readonly state: MemoryState | null;
  /** Language tags as the file writes them. */
  readonly source_language: string;
  readonly target_language: string;
  readonly source_text: string;
  readonly target_text: string;
  readonly context: Readonly<Record<string, string>>;
  /** The origin is not read: what a file says about it is not ours to trust. */
  readonly provenance: Omit<MemoryProvenance, 'origin'>;
  readonly reviewer: string | null;
  readonly line: number;
}

/** A unit of a file: the records of its targets, or why it cannot be used. */
export type TmxUnit =
  | { readonly kind: 'records'; readonly records: readonly ReadMemoryRecord[] }
  | { readonly kind: 'problem'; readonly line: number; readonly message: string };

/** Types of our own values in `prop` elements. */
export const TMX_PROPERTIES = {
  state: 'x-state',
  /** Followed by the key of a context. */
  context: 'x-context-',
  /** Followed by the name of a value of the provenance. */
  provenance: 'x-provenance-',
} as const;

export const TMX_PROVENANCE = ['provider', 'provider_run_id', 'task_id', 'unit_id', 'release_id'] as const;

/** The `type` of a `ph` element for a character that XML cannot carry. */
export const CODE_POINT_TYPE = 'x-code-point';

/** The provenance of a record that is read. @param read gives the value of a name */
export function readProvenance(read: (name: string) => string | null): ReadMemoryRecord['provenance'] {
  return {
    provider: read('provider'),
    provider_run_id: read('provider_run_id'),
    task_id: read('task_id'),
    unit_id: read('unit_id'),
    release_id: read('release_id'),
  };
}
