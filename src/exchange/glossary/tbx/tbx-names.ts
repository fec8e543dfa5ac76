import type { ReviewStatus } from '../../../domain/glossary/term.ts';

/** Whether a namespace is that of TBX: none for version 2, one of ISO 30042 for version 3 and its drafts. Source: ISO 30042:2019. */
export function isTbxNamespace(namespace: string): boolean {
  return namespace === '' || namespace.startsWith('urn:iso:std:iso:30042:');
}

/** The beginning of the namespaces whose elements are named as data categories, in the style "DCT" of version 3. */
export const TBX_MODULES = 'http://www.tbxinfo.net/ns/';

/** The administrative states that are written. Source: TBX-Basic, data category `administrativeStatus`. */
export const TBX_STATUS = {
  preferred: 'preferredTerm-admn-sts',
  admitted: 'admittedTerm-admn-sts',
  deprecated: 'deprecatedTerm-admn-sts',
} as const;

/** The data categories that are read and written. Those of ours begin with `x-`. */
export const TBX_CATEGORIES = {
  status: 'administrativeStatus',
  subject: 'subjectField',
  source: 'source',
  termId: 'x-term-id',
  reviewStatus: 'x-review-status',
  priority: 'x-priority',
  author: 'x-source-author',
  /** Of a term without a translation, which no language set can name. */
  targetLanguage: 'x-target-language',
  /** Followed by the key of the scope. */
  scope: 'x-scope-',
} as const;

/** The review states that an entry can have; a rejected term is not exported. */
export const TBX_REVIEW_STATES: readonly ReviewStatus[] = ['draft', 'approved', 'deprecated'];
