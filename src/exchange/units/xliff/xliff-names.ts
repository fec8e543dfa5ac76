/** The namespace of XLIFF 1.1, which has the elements of 1.2 that are read here. */
export const XLIFF_ONE_ONE = 'urn:oasis:names:tc:xliff:document:1.1';
/** The namespace of XLIFF 1.2. */
export const XLIFF_ONE = 'urn:oasis:names:tc:xliff:document:1.2';
/** The namespace of XLIFF 2.0, which 2.1 kept. */
export const XLIFF_TWO = 'urn:oasis:names:tc:xliff:document:2.0';

/** The `ctype` of a character that XML cannot carry, in XLIFF 1.2. */
export const CODE_POINT_TYPE = 'x-code-point';

/** Names of values that XLIFF has no element for: the category of a note, or the type of a context. */
export const OWN = {
  archiveEntry: 'x-slipway-archive-entry',
  pathId: 'x-slipway-path-id',
  previousSource: 'x-slipway-previous-source',
  previousTarget: 'x-slipway-previous-target',
  revision: 'x-slipway-revision',
  /** Followed by the key of a context, percent-encoded. */
  context: 'x-slipway-context-',
} as const;

export const OWN_PREFIX = 'x-slipway-';

/** Stands behind the prefix of a value that is written as JSON, because XML cannot carry one of its characters. */
export const JSON_MARK = 'json-';
