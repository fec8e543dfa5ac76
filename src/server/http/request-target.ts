/** A request target, split but not decoded. */
export interface RequestTarget {
  /** Begins with `/`, or is `*`. */
  readonly path: string;
  /** Without the `?`; empty if there is no query. */
  readonly query: string;
  readonly text: string;
}

const ABSOLUTE_FORM = /^https?:\/\/[^/?#]*/i;

/**
 * Splits the target of a request. The authority of the absolute form is dropped, because nothing here uses it.
 *
 * @param target as on the request line
 * @returns `null` if it is not a target of an origin server
 *
 * Source: RFC 9112, section 3.2.
 */
export function splitTarget(target: string): RequestTarget | null {
  if (target === '*') return { path: '*', query: '', text: '*' };
  let text = target;
  if (!target.startsWith('/')) {
    const authority = ABSOLUTE_FORM.exec(target);
    if (authority === null) return null;
    const rest = target.slice(authority[0].length);
    text = rest.startsWith('/') ? rest : `/${rest}`;
  }
  const mark = text.indexOf('?');
  return mark === -1
    ? { path: text, query: '', text }
    : { path: text.slice(0, mark), query: text.slice(mark + 1), text };
}

/**
 * Writes the first segment of a path as plain text when it is the CDN host with escapes, such as `%2E` for a dot: both forms name
 * the same resource, so they must get the same answer.
 *
 * @param host the CDN host, which has only characters that need no escape
 *
 * Source: RFC 3986, section 6.2.2.2.
 */
export function withPlainHost(target: RequestTarget, host: string): RequestTarget {
  const [, first = ''] = target.path.split('/', 2);
  if (!first.includes('%') || decoded(first) !== host) return target;
  const path = `/${host}${target.path.slice(1 + first.length)}`;
  return { path, query: target.query, text: path + target.text.slice(target.path.length) };
}

function decoded(text: string): string | null {
  return isWellEncoded(text) ? decodeURIComponent(text) : null;
}

/** Whether every percent sign begins an octet and the octets are UTF-8. */
export function isWellEncoded(text: string): boolean {
  if (!text.includes('%')) return true;
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    // decodeURIComponent reports malformed text only by throwing.
    return false;
  }
}
