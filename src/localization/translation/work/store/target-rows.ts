import type { AUTHOR_KINDS } from '../../../../contract/schemas/vocabulary.ts';
import type { StateBefore } from '../../../../domain/translation/carry-over.ts';
import type { SqlRow } from '../../../../engine/database/checked-rows.ts';
import type { UnitState } from '../../../../domain/translation/unit-state.ts';

/** A row of translation.db. */
export type Row = SqlRow;

/** The kind of the author of a target. */
export type AuthorKind = (typeof AUTHOR_KINDS)[number];

/** A part of a text: UTF-16 code units, from `start` up to and without `end`. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** A finding on a target. */
export interface Finding {
  readonly check: string;
  /**
   * Where it comes from: the checks of this program, the Glossary, or a provider that has evaluated the target. A Glossary
   * override covers findings of the Glossary only.
   */
  readonly origin: 'target' | 'glossary' | 'evaluation';
  /** An `error` blocks the unit. */
  readonly severity: 'error' | 'warning' | 'info';
  readonly message: string;
  readonly waivable: boolean;
  readonly source_span: Span | null;
  readonly target_span: Span | null;
}

/** The newest target of a unit. */
export interface StoredTarget {
  readonly unitId: Uint8Array;
  readonly text: string;
  readonly state: Exclude<UnitState, 'untranslated'>;
  readonly stateBefore: StateBefore | null;
  /** Grows with every change of the target or its state, never begins again. */
  readonly revision: number;
  /** The source that the target was made for. */
  readonly sourceText: string;
  readonly sourceDigest: Uint8Array;
  readonly authorKind: AuthorKind;
  readonly tokenId: string | null;
  readonly provider: string | null;
  readonly providerRunId: string | null;
  readonly findings: readonly Finding[];
  /** Identity of the Glossary diagnosis that the findings hold; `null` without one. */
  readonly qaIdentity: string | null;
  readonly propagatedFrom: Uint8Array | null;
  readonly updatedAt: number;
}

/** The facts about one storing of a target that only the history has. */
export interface Provenance {
  readonly reviewer: string | null;
  /** The token of the reviewer; that of the target's author is in the target. */
  readonly reviewerTokenId: string | null;
  readonly reason: string | null;
  readonly model: string | null;
  readonly promptDigest: string | null;
  /** `null` for a target that was not judged for this. */
  readonly judgedBy: JudgedBy | null;
  readonly taskId: string | null;
  readonly releaseId: string | null;
}

/** The provenance of a change that the program makes automatically. */
export const NO_PROVENANCE: Provenance = {
  reviewer: null,
  reviewerTokenId: null,
  reason: null,
  model: null,
  promptDigest: null,
  judgedBy: null,
  taskId: null,
  releaseId: null,
};

/** A target in a row of the table `target`. */
export function targetOf(row: Row): StoredTarget {
  return {
    unitId: row['unit_id'] as Uint8Array,
    text: String(row['target_text']),
    state: row['state'] as StoredTarget['state'],
    stateBefore: row['state_before'] as StateBefore | null,
    revision: Number(row['revision']),
    sourceText: String(row['source_text']),
    sourceDigest: row['source_digest'] as Uint8Array,
    authorKind: row['author_kind'] as AuthorKind,
    tokenId: row['token_id'] as string | null,
    provider: row['provider'] as string | null,
    providerRunId: row['provider_run_id'] as string | null,
    findings: JSON.parse(String(row['findings'])) as Finding[],
    qaIdentity: row['qa_identity'] as string | null,
    propagatedFrom: row['propagated_from'] as Uint8Array | null,
    updatedAt: Number(row['updated_at']),
  };
}

/** Whether two digests are equal. */
export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}

/** The rules and the Glossary that a target was judged by. */
export interface JudgedBy {
  /** Another one for every change that can change a judgement. */
  readonly key: string;
  /** Of the main Glossary; `null` for another one. */
  readonly generation: number | null;
}

/**
 * Distinguishes containers that were proofread, in which a missing term can block.
 *
 * @param key of the rules and the Glossary
 */
export function containerKey(key: string, wasProofread: boolean): string {
  return wasProofread ? `${key} proofread` : key;
}
