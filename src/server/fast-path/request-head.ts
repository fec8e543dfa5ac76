/** What the fast path reads from a request. */
export interface FastHead {
  readonly method: 'GET' | 'HEAD';
  /** The path in origin form, as received; it has no query. */
  readonly target: string;
  readonly range: string | undefined;
  readonly ifRange: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly requestId: string | undefined;
}

/** Most bytes of a head that the fast path reads. */
export const FAST_HEAD_BYTES = 8 * 1024;

const REQUEST_LINE = /^(GET|HEAD) (\/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*) HTTP\/1\.1\r\n/;
// Sticky: each match begins where the last one ended.
const FIELD_LINE = /([A-Za-z0-9!#$%&'*+.^_`|~-]+):([\t\x20-\x7e]*)\r\n/y;
const HOST = /^[A-Za-z0-9._:[\]-]+$/;

/** Fields that send a request to the full server: they frame the message, add conditions or carry credentials. */
const FOREIGN = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
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
 * @returns `null` unless the text is one complete plain head with nothing after it; the full parser must read any other
 *   text, which may be a valid request
 *
 * Source: RFC 9112, sections 2 to 5.
 */
export function readRequestHead(text: string): FastHead | null {
  const line = REQUEST_LINE.exec(text);
  const fields = line === null ? null : readFields(text, line[0].length);
  if (line === null || fields === null) return null;
  const { host, connection, range } = fields;
  if (host === undefined || !HOST.test(host)) return null;
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return null;
  if (range?.includes(',') === true) return null;
  return {
    method: line[1] === 'GET' ? 'GET' : 'HEAD',
    target: line[2] ?? '',
    range,
    ifRange: fields['if-range'],
    ifNoneMatch: fields['if-none-match'],
    requestId: fields['x-request-id'],
  };
}

/** The interpreted fields by their lower-case names, from `at` up to the empty line that must end the text. */
function readFields(text: string, at: number): Readonly<Record<string, string | undefined>> | null {
  if (!text.endsWith('\r\n')) return null;
  const fields: Record<string, string | undefined> = {};
  const end = text.length - 2;
  FIELD_LINE.lastIndex = at;
  while (FIELD_LINE.lastIndex < end) {
    const field = FIELD_LINE.exec(text);
    const name = (field?.[1] ?? '').toLowerCase();
    if (field === null || FOREIGN.has(name)) return null;
    if (!INTERPRETED.has(name)) continue;
    if (fields[name] !== undefined) return null;
    // The line has no other white space than spaces and tabs.
    fields[name] = (field[2] ?? '').trim();
  }
  return FIELD_LINE.lastIndex === end ? fields : null;
}
