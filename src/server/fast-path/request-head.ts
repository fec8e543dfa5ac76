/** The fields that the fast path understands; whatever is not here does not decide an answer it gives. */
export interface FastFields {
  readonly range: string | undefined;
  readonly ifRange: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly requestId: string | undefined;
  readonly authorization: string | undefined;
  readonly via: string | undefined;
}

/** What the fast path understands of a request. */
export interface FastHead {
  readonly method: 'GET' | 'HEAD';
  /** Path and query in origin form, as received. */
  readonly target: string;
  readonly fields: FastFields;
}

/** Most bytes of a head that the fast path reads. */
export const FAST_HEAD_BYTES = 8 * 1024;

const TARGET = /^\/[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*$/;
const VERSION = ' HTTP/1.1\r\n';
/** Longer field blocks are read anew each time, so that an idle connection holds little. */
const REMEMBERED_CHARACTERS = 1024;
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
const INTERPRETED = new Set([
  'host',
  'connection',
  'range',
  'if-range',
  'if-none-match',
  'x-request-id',
  'authorization',
  'via',
]);

/** Reads the request heads of one connection. A client mostly sends the same fields again; those are read once. */
export class FastHeadReader {
  #block = '';
  #fields: FastFields | null = null;

  /**
   * Reads exactly one plain request head.
   *
   * @param text the bytes received, as Latin-1
   * @returns `null` for anything that is not a complete head with nothing behind it, or that is out of the ordinary in
   *   any way; such a request may be perfectly valid and belongs to the full parser
   *
   * Source: RFC 9112, sections 2 to 5.
   */
  read(text: string): FastHead | null {
    const method = text.startsWith('GET ') ? 'GET' : text.startsWith('HEAD ') ? 'HEAD' : null;
    if (method === null) return null;
    const start = method.length + 1;
    const end = text.indexOf(' ', start);
    if (end < 0 || !text.startsWith(VERSION, end)) return null;
    const target = text.slice(start, end);
    if (!TARGET.test(target)) return null;
    const fields = this.#read(text.slice(end + VERSION.length));
    return fields === null ? null : { method, target, fields };
  }

  #read(block: string): FastFields | null {
    if (this.#fields !== null && block === this.#block) return this.#fields;
    const fields = parseFieldBlock(block);
    if (fields !== null && block.length <= REMEMBERED_CHARACTERS) {
      this.#block = block;
      this.#fields = fields;
    }
    return fields;
  }
}

function parseFieldBlock(block: string): FastFields | null {
  const fields = parseFields(block);
  if (fields === null) return null;
  const { host, connection, range } = fields;
  if (host === undefined || !HOST.test(host)) return null;
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return null;
  if (range?.includes(',') === true) return null;
  return {
    range,
    ifRange: fields['if-range'],
    ifNoneMatch: fields['if-none-match'],
    requestId: fields['x-request-id'],
    authorization: fields['authorization'],
    via: fields['via'],
  };
}

/** The interpreted fields by their lower-case names, up to the empty line that must end the block. */
function parseFields(block: string): Readonly<Record<string, string | undefined>> | null {
  if (!block.endsWith('\r\n')) return null;
  const fields: Record<string, string | undefined> = {};
  const end = block.length - 2;
  let at = 0;
  while (at < end) {
    FIELD_LINE.lastIndex = at;
    const field = FIELD_LINE.exec(block);
    if (field === null) return null;
    const name = (field[1] ?? '').toLowerCase();
    if (FOREIGN.has(name)) return null;
    if (INTERPRETED.has(name)) {
      if (fields[name] !== undefined) return null;
      // Only spaces and tabs: the line had nothing else that trim() takes away.
      fields[name] = (field[2] ?? '').trim();
    }
    at = FIELD_LINE.lastIndex;
  }
  return at === end ? fields : null;
}
