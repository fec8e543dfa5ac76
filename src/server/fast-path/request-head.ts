/** What the fast path understands of a request; whatever is not here does not decide an answer it gives. */
export interface FastHead {
  readonly method: 'GET' | 'HEAD';
  /** In origin form, as received. */
  readonly target: string;
  readonly range: string | undefined;
  readonly ifRange: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly requestId: string | undefined;
}

/** Most bytes of a head that the fast path reads. */
export const FAST_HEAD_BYTES = 8 * 1024;

const REQUEST_LINE = /^(GET|HEAD) (\/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*) HTTP\/1\.1\r\n/;
// Sticky: one field line after the other, each from where the last one ended.
const FIELD_LINE = /([A-Za-z0-9!#$%&'*+.^_`|~-]+):([\t\x20-\x7e]*)\r\n/y;
const HOST = /^[A-Za-z0-9._:[\]-]+$/;

/** Fields that change how a message is read or answered in ways that are left to the full parser. */
const FOREIGN = new Set([
  'content-length',
  'transfer-encoding',
  'trailer',
  'te',
  'expect',
  'upgrade',
  'http2-settings',
  'proxy-connection',
  'keep-alive',
  'if-match',
  'if-modified-since',
  'if-unmodified-since',
]);

/** Fields that are interpreted here; each may occur once. */
const INTERPRETED = new Set(['host', 'connection', 'range', 'if-range', 'if-none-match', 'x-request-id']);

/**
 * Reads exactly one plain request head.
 *
 * @param text the bytes received, as Latin-1
 * @returns `null` for anything that is not a complete head with nothing behind it, or that is out of the ordinary in any
 *   way; such a request may be perfectly valid and belongs to the full parser
 *
 * Source: RFC 9112, sections 2 to 5.
 */
export function parseFastHead(text: string): FastHead | null {
  if (!text.endsWith('\r\n\r\n')) return null;
  const line = REQUEST_LINE.exec(text);
  const target = line?.[2];
  if (line === null || target === undefined) return null;
  const fields = parseFields(text, line[0].length);
  if (fields === null) return null;
  const { host, connection, range } = fields;
  if (host === undefined || !HOST.test(host)) return null;
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return null;
  if (range?.includes(',') === true) return null;
  return {
    method: line[1] === 'HEAD' ? 'HEAD' : 'GET',
    target,
    range,
    ifRange: fields['if-range'],
    ifNoneMatch: fields['if-none-match'],
    requestId: fields['x-request-id'],
  };
}

type Fields = Readonly<Record<string, string | undefined>>;

/** The interpreted fields by their lower-case names, from `start` to the empty line that must end the text. */
function parseFields(text: string, start: number): Fields | null {
  const fields: Record<string, string | undefined> = {};
  const end = text.length - 2;
  let at = start;
  while (at < end) {
    FIELD_LINE.lastIndex = at;
    const field = FIELD_LINE.exec(text);
    if (field === null) return null;
    const name = (field[1] ?? '').toLowerCase();
    if (FOREIGN.has(name)) return null;
    if (INTERPRETED.has(name)) {
      if (fields[name] !== undefined) return null;
      fields[name] = trimOptionalWhitespace(field[2] ?? '');
    }
    at = FIELD_LINE.lastIndex;
  }
  return at === end ? fields : null;
}

function trimOptionalWhitespace(text: string): string {
  // Only space and tab can be there: the line had nothing else that trim() takes away.
  return text.trim();
}
