import type { IncomingMessage, ServerResponse } from 'node:http';

/** Header fields of a response, names and values in turn. */
type FieldList = readonly string[];

/** Which pages of other origins may read the public reads: resource bytes and `/v1`. */
export interface Cors {
  readonly dependsOnOrigin: boolean;
  /**
   * The fields of every response of a public read.
   *
   * @param origin of the request, if it names one
   */
  fieldsFor(origin: string | undefined): FieldList;
}

/** The fields of a response that a page may read besides those that every page may. */
const EXPOSED = 'Accept-Ranges, Content-Range, ETag, Retry-After, X-Request-Id';
/** The fields that a page may send with a read. A server whose public reads need a token takes it in `Authorization`. */
const ALLOWED_FIELDS =
  'Range, If-Range, If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since, Authorization, X-Request-Id, Traceparent, Tracestate';
const PREFLIGHT: FieldList = [
  'Access-Control-Allow-Methods',
  'GET, HEAD',
  'Access-Control-Allow-Headers',
  ALLOWED_FIELDS,
  'Access-Control-Max-Age',
  '86400',
];

/**
 * Makes the rule from the configured origins. With `*` every response says so, also without an `Origin`, so that caches
 * store one response for all. With a list, a response names the origin of its request and says that it depends on it.
 * Credentials are never allowed.
 *
 * @param origins `*`, or origins as browsers send them; none turns CORS off
 *
 * Source: Fetch standard, section 3.3 "CORS protocol", and its note on CORS and HTTP caches.
 */
export function createCors(origins: readonly string[]): Cors {
  if (origins.length === 0) return { dependsOnOrigin: false, fieldsFor: () => [] };
  const allowing = (origin: string): FieldList => [
    'Access-Control-Allow-Origin',
    origin,
    'Access-Control-Expose-Headers',
    EXPOSED,
  ];
  if (origins.includes('*')) {
    const fields = allowing('*');
    return { dependsOnOrigin: false, fieldsFor: () => fields };
  }
  const known = new Set(origins);
  return {
    dependsOnOrigin: true,
    fieldsFor: (origin) => [
      'Vary',
      'Origin',
      ...(origin !== undefined && known.has(origin) ? allowing(origin) : []),
    ],
  };
}

/** Adds the fields to the response to a public read, and to OPTIONS the ones that answer a preflight. */
export function addCorsFields(
  cors: Cors,
  { headers, method }: IncomingMessage,
  response: ServerResponse,
): void {
  const fields = cors.fieldsFor(headers.origin);
  const isAllowed = fields.includes('Access-Control-Allow-Origin');
  const all = method === 'OPTIONS' && isAllowed ? [...fields, ...PREFLIGHT] : fields;
  for (let at = 0; at + 1 < all.length; at += 2) response.setHeader(all[at] ?? '', all[at + 1] ?? '');
}
