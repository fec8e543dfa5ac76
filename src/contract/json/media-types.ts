/** Media type of JSON. Source: RFC 8259, section 11. */
export const JSON_MEDIA_TYPE = 'application/json';

/** Media type of every error body. Source: RFC 9457, section 6.1. */
export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

const JSON_IN_UTF8 = /^application\/json(?:\s*;\s*charset="?utf-8"?)?\s*$/i;

/** Whether a Content-Type is JSON in UTF-8. */
export function isJsonMediaType(contentType: string | undefined): boolean {
  return contentType !== undefined && JSON_IN_UTF8.test(contentType);
}
