import type { Term } from '../../../domain/glossary/term.ts';

export interface TermSource {
  readonly kind: 'manual' | 'imported';
  /** Unix seconds, an int64. */
  readonly observedAt: number | bigint;
  readonly ref: string | null;
  readonly author: string | null;
  readonly note: string | null;
}

export type TermFields = Omit<Term, 'termId' | 'revision' | 'reviewStatus'> & { readonly source: TermSource };

/** A term of the file. Times are Unix seconds. */
export interface StoredTerm extends Term {
  readonly source: TermSource;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface TermAudit {
  readonly reviewer: string | null;
  readonly reason: string | null;
  readonly tokenId: string | null;
}

export type ReviewAction = 'add' | 'update' | 'reject' | 'reopen' | 'approve' | 'deprecate' | 'delete';

type TermErrorCode =
  | 'unknown_term'
  | 'term_exists'
  | 'term_conflict'
  | 'term_approved'
  | 'invalid_transition';

/** A refused change. Its code survives the way out of the thread. */
export class TermError extends Error {
  readonly code: TermErrorCode;

  constructor(code: TermErrorCode, message: string) {
    super(message);
    this.name = 'TermError';
    this.code = code;
  }
}
