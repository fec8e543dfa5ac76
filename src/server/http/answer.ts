import { stringifyJsonExact } from '../../contract/json/json-exact.ts';
import { JSON_MEDIA_TYPE } from '../../contract/json/media-types.ts';

/** The result of a handler; the router writes it, without the body for HEAD. */
export interface Answer {
  readonly status: number;
  /** Lower-case names; `content-length` is added. */
  readonly headers: Readonly<Record<string, string>>;
  /** The parts in order; several if one would be too large to build in one step. */
  readonly body: readonly Uint8Array[];
}

/** For answers that depend on the verdict or on the time: no cache may store them. */
export const NO_STORE = 'no-store';

/** For answers that a cache may store but must revalidate before use. */
export const NO_CACHE = 'no-cache';

/** Headers of a JSON answer of this service. */
export function jsonHeaders(cacheControl: string): Readonly<Record<string, string>> {
  return { 'content-type': `${JSON_MEDIA_TYPE}; charset=utf-8`, 'cache-control': cacheControl };
}

/**
 * An answer with one JSON value, which must be small: it is rendered in one step.
 *
 * @param value plain data; bigint becomes bare digits
 */
export function jsonAnswer(
  value: unknown,
  options: {
    readonly cacheControl: string;
    readonly status?: number;
    readonly headers?: Record<string, string>;
  },
): Answer {
  return {
    status: options.status ?? 200,
    headers: { ...jsonHeaders(options.cacheControl), ...options.headers },
    body: [Buffer.from(stringifyJsonExact(value))],
  };
}

/**
 * Leads from a path to the same with a slash at its end. The location is relative, so that it holds behind a proxy that adds a prefix;
 * the query is left out, because it can hold a token.
 *
 * @param path begins with a slash
 *
 * Source: RFC 3986, section 5.2; RFC 9110, section 10.2.2.
 */
export function slashRedirect(path: string): Answer {
  const location = `${path.slice(path.lastIndexOf('/') + 1)}/`;
  return { status: 308, headers: { location, 'cache-control': NO_CACHE }, body: [] };
}
