import type { ReviewStatus } from './term.ts';

export interface ImportFacts {
  readonly known: ReviewStatus | null;
  readonly isSame: boolean;
  readonly read: ReviewStatus | null;
  readonly isReviewed: boolean;
  readonly hasTranslation: boolean;
}

/** The decision about a term: the steps in their order, or why there is none. */
export type ImportDecision =
  | { readonly kind: 'steps'; readonly steps: readonly ImportStep[] }
  | { readonly kind: 'conflict' | 'left_out'; readonly message: string };

export type ImportStep = 'add' | 'update' | 'approve' | 'deprecate';

/**
 * Decides about one term. Without a reviewer an import adds drafts and changes drafts, and never the decisions of people. With one,
 * terms get the state of the file, and approved ones that differ are changed.
 */
export function decideImport(facts: ImportFacts): ImportDecision {
  const { known, isSame, read, isReviewed } = facts;
  if (read === 'rejected') return leftOut('the file says that it is rejected');
  if (read === 'deprecated' && !isReviewed) {
    return leftOut('the file says that it is deprecated, which needs a trusted import with a reviewer');
  }
  if (known === 'rejected') return conflict('the Glossary has it as rejected; reopen it first');
  if (known !== null && known !== 'draft' && !isSame && !isReviewed) {
    return conflict(`the Glossary has it as ${known} with other values; a trusted import changes it`);
  }
  const wanted = isReviewed ? wantedStatus(facts) : 'draft';
  const steps: ImportStep[] = [
    ...(known === null ? (['add'] as const) : []),
    ...(known !== null && !isSame ? (['update'] as const) : []),
    ...transitionSteps(known ?? 'draft', wanted),
  ];
  return { kind: 'steps', steps };
}

/** The state that a reviewed term gets. A draft of the file stays a draft, and so does a term without a translation. */
function wantedStatus({ read, hasTranslation }: ImportFacts): ReviewStatus {
  if (read === 'draft' || !hasTranslation) return 'draft';
  return read ?? 'approved';
}

/** No step leads back to a draft: an import does not undo a decision. */
function transitionSteps(from: ReviewStatus, to: ReviewStatus): readonly ImportStep[] {
  if (to === 'draft' || from === to) return [];
  if (to === 'approved') return ['approve'];
  return from === 'draft' ? ['approve', 'deprecate'] : ['deprecate'];
}

function leftOut(message: string): ImportDecision {
  return { kind: 'left_out', message };
}

function conflict(message: string): ImportDecision {
  return { kind: 'conflict', message };
}
