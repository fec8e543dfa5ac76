import { parseHttpDate } from './http-date.ts';

/** The validators of the current state of a representation. */
export interface Validators {
  /** A strong entity tag with its quotes. */
  readonly etag: string;
  /** Unix seconds. */
  readonly lastModified: number;
  /** Whether no two states of this resource carry this `lastModified` (RFC 9110, section 8.8.2.2). */
  readonly lastModifiedIsStrong: boolean;
}

/** The conditional fields of a request, named as Node names them. */
export interface ConditionalHeaders {
  readonly 'if-match'?: string | undefined;
  readonly 'if-none-match'?: string | undefined;
  readonly 'if-modified-since'?: string | undefined;
  readonly 'if-unmodified-since'?: string | undefined;
  readonly 'if-range'?: string | undefined;
}

/** The outcome of the preconditions: perform the method, answer 304, or answer 412. */
export type PreconditionOutcome = 'proceed' | 'not_modified' | 'failed';

// etagc of RFC 9110 section 8.8.3; fields are read as Latin-1, so obs-text is U+0080 to U+00FF.
const ENTITY_TAG = /^(?:W\/)?"[\u0021\u0023-\u007e\u0080-\u00ff]*"/;

/**
 * Evaluates `If-Match`, `If-Unmodified-Since`, `If-None-Match` and `If-Modified-Since`, in that order of precedence, of
 * a request that would otherwise be answered 200. A malformed list of entity tags matches nothing; an unreadable date
 * is ignored.
 *
 * @param method an upper-case method; only GET and HEAD can be answered 304
 * @param headers the conditional fields
 * @param validators of the selected representation, which exists
 * @param nowSeconds Unix seconds
 *
 * Source: RFC 9110, sections 13.1 and 13.2.2.
 */
export function evaluatePreconditions(
  method: string,
  headers: ConditionalHeaders,
  validators: Validators,
  nowSeconds: number,
): PreconditionOutcome {
  const ifMatch = headers['if-match'];
  if (ifMatch !== undefined) {
    if (!listMatches(ifMatch, validators.etag, 'strong')) return 'failed';
  } else if (modifiedAfter(headers['if-unmodified-since'], validators, nowSeconds) === true) {
    return 'failed';
  }

  const isRead = method === 'GET' || method === 'HEAD';
  const ifNoneMatch = headers['if-none-match'];
  if (ifNoneMatch !== undefined) {
    if (!listMatches(ifNoneMatch, validators.etag, 'weak')) return 'proceed';
    return isRead ? 'not_modified' : 'failed';
  }
  if (isRead && modifiedAfter(headers['if-modified-since'], validators, nowSeconds) === false) {
    return 'not_modified';
  }
  return 'proceed';
}

/**
 * Whether `If-Range` allows the `Range` field to be honoured: it is absent, or it carries exactly the current strong
 * entity tag, or exactly the current modification date while that is a strong validator.
 *
 * @param ifRange the field value
 * @param nowSeconds Unix seconds
 *
 * Source: RFC 9110, section 13.1.5.
 */
export function ifRangeHolds(
  ifRange: string | undefined,
  validators: Validators,
  nowSeconds: number,
): boolean {
  if (ifRange === undefined) return true;
  if (ifRange === validators.etag) return true;
  // Exact match: a date before or after the current one is another state, whichever comes first.
  return validators.lastModifiedIsStrong && parseHttpDate(ifRange, nowSeconds) === validators.lastModified;
}

/** Whether the representation changed after the date of a field; `null` when the field is absent or no date. */
function modifiedAfter(
  value: string | undefined,
  validators: Validators,
  nowSeconds: number,
): boolean | null {
  if (value === undefined) return null;
  const date = parseHttpDate(value, nowSeconds);
  return date === null ? null : validators.lastModified > date;
}

/** Whether `*` or one tag of the list matches a strong entity tag; `false` for anything that is no such list. */
function listMatches(value: string, etag: string, comparison: 'strong' | 'weak'): boolean {
  if (value === etag || value === '*') return true;
  let rest = value.replace(/^[ \t,]+/, '');
  let matches = false;
  while (rest !== '') {
    const tag = ENTITY_TAG.exec(rest)?.[0];
    if (tag === undefined) return false;
    matches ||= comparison === 'weak' && tag.startsWith('W/') ? tag.slice(2) === etag : tag === etag;
    const separator = /^[ \t]*(?:,[ \t,]*|$)/.exec(rest.slice(tag.length))?.[0];
    if (separator === undefined) return false;
    rest = rest.slice(tag.length + separator.length);
  }
  return matches;
}
