/** A request target, split but not decoded. */
export interface RequestTarget {
  /** Begins with `/`, or is `*`. */
  readonly path: string;
  /** Without the `?`; empty if there is no query. */
  readonly query: string;
  /** Path and query. */
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
