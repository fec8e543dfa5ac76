import { parseHttpDate } from './http-date.ts';

export interface Validators {
  /** A strong entity tag with its quotes. */
  readonly etag: string;
  readonly lastModified: number;
  /** Whether no other state of this resource carries this `lastModified` (RFC 9110, section 8.8.2.2). */
  readonly lastModifiedIsStrong: boolean;
}

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
 * `If-Modified-Since` holds for exactly the current date alone, as in nginx by default. Another date is no date of this resource: a
 * client sends the time of its file, and that file can be of another release, or half of one.
 *
 * @param method an upper-case method; only GET and HEAD can be answered 304
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
  } else if (wasModifiedSince(headers['if-unmodified-since'], validators, nowSeconds)) {
    return 'failed';
  }

  const isRead = method === 'GET' || method === 'HEAD';
  const ifNoneMatch = headers['if-none-match'];
  if (ifNoneMatch !== undefined) {
    if (!listMatches(ifNoneMatch, validators.etag, 'weak')) return 'proceed';
    return isRead ? 'not_modified' : 'failed';
  }
  return isRead && isCurrentDate(headers['if-modified-since'], validators, nowSeconds)
    ? 'not_modified'
    : 'proceed';
}

/**
 * Whether `If-Range` allows the `Range` field to be honoured: it is absent, or it carries exactly the current strong
 * entity tag, or exactly the current modification date while that is a strong validator.
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
  return isCurrentDate(ifRange, validators, nowSeconds);
}

function isCurrentDate(
  value: string | undefined,
  { lastModified, lastModifiedIsStrong }: Validators,
  nowSeconds: number,
): boolean {
  return value !== undefined && lastModifiedIsStrong && parseHttpDate(value, nowSeconds) === lastModified;
}

/** Whether the representation changed after the date of a field; not when the field is absent or no date. */
function wasModifiedSince(
  value: string | undefined,
  { lastModified }: Validators,
  nowSeconds: number,
): boolean {
  const date = value === undefined ? null : parseHttpDate(value, nowSeconds);
  return date !== null && lastModified > date;
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
