/** The parts of a request that the fast path uses. */
export interface FastHead {
  readonly method: 'GET' | 'HEAD';
  /** The path in origin form, as received; it has no query. */
  readonly target: string;
  readonly range: string | undefined;
  readonly ifRange: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly requestId: string | undefined;
  readonly origin: string | undefined;
  readonly traceparent: string | undefined;
}

/** Maximum number of bytes of a head that the fast path reads. */
export const FAST_HEAD_BYTES = 8 * 1024;

const REQUEST_LINE = /^(GET|HEAD) (\/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*) HTTP\/1\.1\r\n/;
// Sticky: each match begins at the end of the last one.
const FIELD_LINE = /([A-Za-z0-9!#$%&'*+.^_`|~-]+):([\t\x20-\x7e]*)\r\n/y;
const HOST = /^[A-Za-z0-9._:[\]-]+$/;

/** Fields that send a request to the full server: they frame the message, add conditions, carry credentials or ask past caches. */
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
  'cache-control',
]);

/** Fields that are interpreted here; each may occur once. */
const INTERPRETED = new Set([
  'host',
  'connection',
  'range',
  'if-range',
  'if-none-match',
  'x-request-id',
  'origin',
  'traceparent',
]);

/** A longer field block is parsed for every request, so that an idle connection holds little memory. */
const REMEMBERED_CHARACTERS = 1024;

type Fields = Omit<FastHead, 'method' | 'target'>;

/** Reads the request heads of one connection. Fields that equal those of the last request are not parsed again. */
export class RequestHeadReader {
  #block = '';
  #fields: Fields | null = null;

  /**
   * Reads exactly one plain request head.
   *
   * @param text the bytes received, as Latin-1
   * @returns `null` unless the text is one complete plain head with nothing after it; any other text may be a valid
   *   request, which the full parser must read
   *
   * Source: RFC 9112, sections 2 to 5.
   */
  read(text: string): FastHead | null {
    const line = REQUEST_LINE.exec(text);
    if (line === null) return null;
    const block = text.slice(line[0].length);
    const fields = this.#fields !== null && block === this.#block ? this.#fields : readFields(block);
    if (fields === null) return null;
    if (block.length <= REMEMBERED_CHARACTERS) {
      this.#block = block;
      this.#fields = fields;
    }
    const method = line[1] === 'GET' ? 'GET' : 'HEAD';
    return { method, target: line[2] ?? '', ...fields };
  }
}

function readFields(block: string): Fields | null {
  const fields = parseFields(block);
  const host = fields?.['host'];
  if (fields === null || host === undefined || !HOST.test(host)) return null;
  const { connection, range } = fields;
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return null;
  if (range?.includes(',') === true) return null;
  return {
    range,
    ifRange: fields['if-range'],
    ifNoneMatch: fields['if-none-match'],
    requestId: fields['x-request-id'],
    origin: fields['origin'],
    traceparent: fields['traceparent'],
  };
}

/** The interpreted fields by their lower-case names, up to the empty line that must end the block. */
function parseFields(block: string): Readonly<Record<string, string | undefined>> | null {
  if (!block.endsWith('\r\n')) return null;
  const fields: Record<string, string | undefined> = {};
  const end = block.length - 2;
  FIELD_LINE.lastIndex = 0;
  while (FIELD_LINE.lastIndex < end) {
    const field = FIELD_LINE.exec(block);
    const name = (field?.[1] ?? '').toLowerCase();
    if (field === null || FOREIGN.has(name)) return null;
    if (!INTERPRETED.has(name)) continue;
    if (fields[name] !== undefined) return null;
    // The only white space in the line is spaces and tabs.
    fields[name] = (field[2] ?? '').trim();
  }
  return FIELD_LINE.lastIndex === end ? fields : null;
}
