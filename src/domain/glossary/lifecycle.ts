import type { ReviewStatus } from './term.ts';

/**
 * The state of a term after an update. An approved term that changes becomes a draft, unless a reviewer stands for the
 * change. A draft can be rejected and a rejected term opened again; the other transitions have actions of their own.
 *
 * @returns `null` when the transition does not exist
 */
export function statusAfterUpdate({
  from,
  wanted,
  isSemantic,
  isReviewed,
}: {
  readonly from: ReviewStatus;
  readonly wanted: ReviewStatus | null;
  /** Whether a field changes that translations are judged by. */
  readonly isSemantic: boolean;
  /** Whether a reviewer and a reason are given. */
  readonly isReviewed: boolean;
}): ReviewStatus | null {
  const losesApproval = from === 'approved' && isSemantic;
  if (wanted === null || wanted === from) return losesApproval && !isReviewed ? 'draft' : from;
  if (wanted === 'draft') return from === 'rejected' || losesApproval ? 'draft' : null;
  return wanted === 'rejected' && from === 'draft' ? 'rejected' : null;
}

/** Whether a term of this state can be approved. */
export function isApprovable(from: ReviewStatus): boolean {
  return from === 'draft' || from === 'deprecated';
}
