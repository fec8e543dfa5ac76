import type { Term } from '../../../domain/glossary/term.ts';

/** Where a term comes from. */
export interface TermSource {
  readonly kind: 'manual' | 'imported';
  /** Unix seconds, an int64. */
  readonly observedAt: number | bigint;
  readonly ref: string | null;
  readonly author: string | null;
  readonly note: string | null;
}

/** The fields of a term that callers write. */
export type TermFields = Omit<Term, 'termId' | 'revision' | 'reviewStatus'> & { readonly source: TermSource };

/** A term of the file. Times are Unix seconds. */
export interface StoredTerm extends Term {
  readonly source: TermSource;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** The person behind a change. */
export interface TermAudit {
  readonly reviewer: string | null;
  readonly reason: string | null;
  readonly tokenId: string | null;
}

/** The changes of the history. */
export type ReviewAction = 'add' | 'update' | 'reject' | 'reopen' | 'approve' | 'deprecate' | 'delete';
