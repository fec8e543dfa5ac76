/** Media type of JSON. Source: RFC 8259, section 11. */
export const JSON_MEDIA_TYPE = 'application/json';

/** The range of every media type, for bytes of which each file has its own. Source: RFC 9110, section 12.5.1. */
export const ANY_MEDIA_TYPE = '*/*';

/** Media type of every error body. Source: RFC 9457, section 6.1. */
export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

// A parameter may be left out after its semicolon (RFC 9110, section 5.6.6).
const JSON_IN_UTF8 = /^application\/json[ \t]*(?:;[ \t]*(?:charset="?utf-8"?[ \t]*)?)*$/i;

/** Whether a Content-Type is JSON in UTF-8. */
export function isJsonMediaType(contentType: string | undefined): boolean {
  return contentType !== undefined && JSON_IN_UTF8.test(contentType);
}
