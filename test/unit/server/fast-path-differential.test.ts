import { hash } from 'node:crypto';
import process from 'node:process';
import { expect, test } from 'vitest';
import { createRandom } from '../../../demo/game/seeded-random.ts';
import { etagOf } from '../../support/byte-path.ts';
import { HttpConnection } from '../../support/http-connection.ts';
import { parseAnswer, type RawAnswer } from '../../support/raw-http.ts';
import { startTestServer, type TestServer } from '../../support/start-test-server.ts';
import { until } from '../../support/until.ts';

// The same requests go to two real servers, with and without the fast path, over the listener of production. Every
// response must be the same byte for byte except in the fields that normalize() names.
//
// The requests allow only one possible response: a client sends the next request when it has the whole previous
// response. Only well-formed requests are pipelined or split, because a server may refuse a malformed message before,
// or instead of, the responses that it still owes.

const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? '2000');
const SEED = Number(process.env['FUZZ_SEED'] ?? '20260731');
const AT_ONCE = 8;
const CDN_HOST = 'cdn.example';

/** A small generator that repeats its sequence for the same seed. */
class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  pick<T>(values: readonly T[]): T {
    const value = values[this.below(values.length)];
    if (value === undefined) throw new RangeError('nothing to pick from');
    return value;
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }
}

/** The bytes of one write, and the number of responses when all of it is well-formed. */
interface Piece {
  readonly bytes: string;
  readonly requests: number;
  /** Where the bytes are split into two writes; 0: nowhere. */
  readonly splitAt: number;
}

interface Material {
  readonly etags: readonly string[];
  readonly lastModified: string;
}

const TARGETS = [
  'a.bin',
  'b/kilo.bin',
  'b/64k.bin',
  'quarter.bin',
  'large.bin',
  'empty.bin',
  'b/sp%20ace.txt',
];
const ODD_TARGETS = [
  `/${CDN_HOST}/none.bin`,
  `/${CDN_HOST}/a.bin?x=1`,
  `/${CDN_HOST}/%61.bin`,
  `/${CDN_HOST}/%zz`,
  `/${CDN_HOST}/../a.bin`,
  `/${CDN_HOST}/b%2fkilo.bin`,
  `/${CDN_HOST}//a.bin`,
  `/${CDN_HOST}`,
  `/${CDN_HOST}/`,
  '/',
  '*',
  '/launcher',
  '/admin/',
  '/healthz/',
  `http://h/${CDN_HOST}/a.bin`,
  `/${CDN_HOST}/a.bin#f`,
  `/${CDN_HOST}/a\\b`,
  `/${CDN_HOST}/r2/a.bin`,
  `//${CDN_HOST}/a.bin`,
  `/${CDN_HOST}/ä`,
  `/${CDN_HOST}/r1/a.bin`,
  `/${CDN_HOST}/r1/b/kilo.bin`,
  `/${CDN_HOST}/a.bin%00`,
  `/${CDN_HOST}/"a".bin`,
  'a.bin',
];
const RANGES = [
  'bytes=0-0',
  'bytes=0-',
  'bytes=-1',
  'bytes=-0',
  'bytes=5-2',
  'bytes=0-99999999999999999999',
  'bytes=999999999-',
  'bytes=1-100',
  'bytes=0-1,3-4',
  'bytes=, 0-3',
  'items=0-1',
  'bytes=',
  'bytes=a-b',
  'BYTES=2-9',
  'bytes =0-1',
  'bytes= 0-1',
  'bytes=1023-1024',
  'bytes=65535-',
  'bytes=100-65635',
  'bytes=1048570-1048590',
  'bytes=0-1048575',
  'bytes=-65536',
  'bytes=+1-2',
  '',
];
const ODD_FIELDS = [
  'Content-Length: 0',
  'Content-Length: 3',
  'Transfer-Encoding: chunked',
  'Expect: 100-continue',
  'Upgrade: websocket',
  'If-Match: *',
  'If-Match: "x"',
  'If-Modified-Since: Sat, 01 Jan 2022 00:00:00 GMT',
  'If-Unmodified-Since: Sat, 01 Jan 2022 00:00:00 GMT',
  'Connection: close',
  'Connection: Keep-Alive',
  'Connection: upgrade',
  'Connection:',
  'Connection: keep-alive, close',
  'Proxy-Connection: close',
  'Host: second',
  'Range: bytes=0-1',
  'Range: bytes=0-1\r\nRange: bytes=2-3',
  'If-None-Match: *',
  'If-None-Match: "x"\r\nIf-None-Match: "y"',
  'If-Range: "x"',
  'If-Range: "x"\r\nIf-Range: "y"',
  'X-Folded: a\r\n b',
  'X Space: 1',
  'NoColon',
  ': empty',
  'X-Nul: a\0b',
  'X-Bell: a\x07b',
  'X-High: \xe4',
  'X-Tab:\tv\t',
  'X-Empty:',
  'X-Bare: a\nY: b',
  'X-Cr: a\rb',
  'Host : space',
  'TE: trailers',
  'Trailer: x',
  'Keep-Alive: timeout=1',
  'X-Del: a\x7f',
  'Authorization: Bearer x',
  'Accept-Encoding: gzip, br',
  'Cookie: a=b',
  'X-Request-Id: abcdefgh',
  `X-Long: ${'l'.repeat(7900)}`,
  `X-Longer: ${'l'.repeat(17_000)}`,
  'x-(odd): 1',
  'HTTP2-Settings: x',
  'Content-Type: text/plain',
  'Origin: null\r\nOrigin: https://play.example.org',
];
const COMMON_FIELDS = [
  'User-Agent: fuzz/1.0',
  'Accept: */*',
  'Accept-Encoding: gzip',
  'X-Request-Id: fuzz-0001-0001',
  'Authorization: Basic eDp5',
  'host-x:  spaced  ',
  'Origin: https://play.example.org',
];

/** A request that a server cannot refuse as malformed, and whose response leaves the connection open. */
function makePlainRequest(random: Random, { etags, lastModified }: Material): string {
  const method = random.pick(['GET', 'GET', 'GET', 'HEAD', 'HEAD', 'OPTIONS', 'DELETE']);
  const directory = random.chance(30) ? 'r1/' : '';
  const target = random.chance(8) ? 'none.bin' : `${random.pick(TARGETS)}${random.chance(5) ? '?x=1' : ''}`;
  const fields = ['Host: cdn.example'];
  if (random.chance(15)) fields.push('Connection: keep-alive');
  while (random.chance(40)) fields.push(random.pick(COMMON_FIELDS));
  if (random.chance(35)) fields.push(`${random.pick(['Range', 'range', 'RANGE'])}: ${random.pick(RANGES)}`);
  if (random.chance(12))
    fields.push(`If-Range: ${random.pick([...etags, lastModified, 'W/"x"', '"x"', ''])}`);
  if (random.chance(15)) {
    fields.push(
      `If-None-Match: ${random.pick([...etags, `W/${etags[0] ?? ''}`, etags.join(', '), '*', '"x"', 'junk', ''])}`,
    );
  }
  return `${method} /${CDN_HOST}/${directory}${target} HTTP/1.1\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`;
}

/** A request with something odd about it. */
function makeOddRequest(random: Random, material: Material): string {
  const [line = '', ...fields] = makePlainRequest(random, material).trimEnd().split('\r\n');
  let [method = '', target = '', version = ''] = line.split(' ');
  let lineEnd = '\r\n';
  let tail = '';
  const kind = random.below(8);
  if (kind === 0) method = random.pick(['POST', 'get', 'G ET', '', 'GETT', 'HEAD ']);
  else if (kind === 1) target = random.pick(ODD_TARGETS);
  else if (kind === 2)
    version = random.pick(['HTTP/1.0', 'HTTP/2.0', 'HTTP/1.2', 'http/1.1', '', 'HTTP/1.1 ']);
  else if (kind === 3) lineEnd = random.pick(['\n', '\r', '\r\n']);
  else if (kind === 4) tail = random.pick(['x', '\r\n', 'GET / HTTP/1.1\r\n', '\0']);
  else if (kind === 5)
    fields[0] = random.pick(['X: y', 'host:cdn.example:80', 'Host:', 'HOST: a b', 'Host: [::1]:8']);
  else fields.splice(random.below(fields.length + 1), 0, random.pick(ODD_FIELDS));
  if (random.chance(20)) fields.push(random.pick(ODD_FIELDS));
  const request = `${method} ${target} ${version}${lineEnd}${fields.map((field) => field + lineEnd).join('')}${lineEnd}${tail}`;
  return random.chance(15) ? mutate(random, request) : request;
}

function mutate(random: Random, request: string): string {
  const at = random.below(request.length);
  const kind = random.below(3);
  if (kind === 0) return request.slice(0, at) + request.slice(at + 1);
  const byte = String.fromCharCode(random.below(256));
  return request.slice(0, at) + byte + request.slice(kind === 1 ? at : at + 1);
}

const HEAD_END = /\r?\n\r?\n/;

/** The pieces of an odd request: bytes after its head are a separate piece, sent after the response. */
function oddPieces(request: string): readonly Piece[] {
  const end = HEAD_END.exec(request);
  if (end === null) return [{ bytes: request, requests: 0, splitAt: 0 }];
  const behind = request.slice(end.index + end[0].length);
  const head = { bytes: request.slice(0, end.index + end[0].length), requests: 1, splitAt: 0 };
  return behind === '' ? [head] : [head, { bytes: behind, requests: 0, splitAt: 0 }];
}

function makeConversation(random: Random, material: Material): readonly Piece[] {
  const length = 1 + random.below(6);
  const shape = random.below(10);
  const plain = Array.from({ length }, () => makePlainRequest(random, material));
  if (shape === 0) return [{ bytes: plain.join(''), requests: length, splitAt: 0 }];
  return plain.flatMap((bytes, at) => {
    if (shape === 1) return [{ bytes, requests: 1, splitAt: random.below(bytes.length) }];
    return random.chance(30)
      ? oddPieces(makeOddRequest(random, material))
      : [{ bytes, requests: 1, splitAt: at === 0 && random.chance(5) ? bytes.length - 1 : 0 }];
  });
}

/** A request that makes the server close, so that the end of all responses is visible. */
const LAST: Piece = {
  bytes: `GET /${CDN_HOST}/a.bin HTTP/1.1\r\nHost: cdn.example\r\nConnection: close\r\n\r\n`,
  requests: 1,
  splitAt: 0,
};

/** Sends the pieces and returns every response, and the bytes after the last one. */
async function converse(port: number, pieces: readonly Piece[]): Promise<string> {
  const connection = await HttpConnection.open(port);
  const transcript: string[] = [];
  let isOpen = true;
  for (const piece of [...pieces, LAST]) {
    if (!isOpen) break;
    if (piece.splitAt > 0) {
      connection.send(piece.bytes.slice(0, piece.splitAt));
      await new Promise((resolve) => setImmediate(resolve));
    }
    connection.send(piece.bytes.slice(piece.splitAt));
    if (piece.requests === 0) {
      // No response is due: the end of the input makes the server respond to this.
      connection.socket.end();
      break;
    }
    // An unknown method is answered with a body.
    const methods = piece.bytes.match(/(?:^|\r\n\r\n)[^ ]*/g)?.map((text) => text.trim()) ?? [];
    for (let at = 0; at < piece.requests && isOpen; at += 1) {
      const answer = await connection.answer(methods[at] ?? 'GET');
      transcript.push(normalize(answer));
      // An interim response precedes the one that is due.
      if (answer.status >= 100 && answer.status < 200) at -= 1;
      isOpen = !answer.wasCut && answer.headers['connection'] !== 'close';
    }
  }
  const { rest } = await connection.closed();
  const last = rest.length === 0 ? '' : normalize({ ...parseAnswer(rest), wasCut: false });
  return [...transcript, `then ${last}`].join('\n');
}

/**
 * A response without the fields that differ between two responses to one request: the date, request ids and multipart
 * delimiters.
 */
function normalize({ head, headers, body, wasCut }: RawAnswer): string {
  const named = head
    .replace(/^Date: [^\r]* GMT\r?$/im, 'Date:')
    .replace(/^x-request-id: [^\r]*/im, 'x-request-id:')
    .replace(/boundary=[0-9a-f]{32}/, 'boundary=B');
  const isText = /^(?:application\/problem|multipart)/.test(headers['content-type'] ?? '');
  const content = isText
    ? body
        .toString('latin1')
        .replaceAll(/--[0-9a-f]{32}/g, '--B')
        .replaceAll(/"instance":"[^"]*"/g, '"instance":""')
    : `${body.length} bytes ${hash('sha256', body)}`;
  return [named, content, wasCut ? 'cut' : ''].join('\n');
}

interface Pair {
  readonly on: TestServer;
  readonly off: TestServer;
  readonly material: Material;
}

const FILES = {
  'a.bin': 10,
  'b/kilo.bin': 1024,
  'b/64k.bin': 65_536,
  'quarter.bin': 262_144,
  'large.bin': 1_200_000,
  'empty.bin': 0,
  'b/sp ace.txt': 300,
};

async function startPair(): Promise<Pair> {
  const files = Object.fromEntries(
    Object.entries(FILES).map(([name, size]) => [name, createRandom(size).bytes(size)]),
  );
  let created = 0;
  const start = async (fast: boolean): Promise<TestServer> => {
    const server = await startTestServer({
      fast,
      refresh: false,
      config: {
        cdn: { host: CDN_HOST },
        log: { access: 'none' },
        // The messages are complete or ended by the client; anything else must not take long.
        limits: { headersTimeoutMs: 3000, keepAliveTimeoutMs: 20_000 },
      },
    });
    const official = await server.store.addRelease({ releaseId: 'r1', files });
    created = official.created_at;
    const issuedAt = Math.floor(Date.now() / 1000);
    server.daemon.setEnvelope(server.store.attest({ version: 1, issuedAt, lifetime: 3600, official }));
    server.parts.room.refresher.start();
    await until(() => server.parts.room.serving.verdict('official').distributable);
    return server;
  };
  const [on, off] = await Promise.all([start(true), start(false)]);
  return {
    on,
    off,
    material: {
      etags: Object.values(files).map((bytes) => etagOf(bytes)),
      lastModified: new Date(created * 1000).toUTCString(),
    },
  };
}

const portOf = ({ listening }: TestServer): number => listening.port ?? 0;

test('every response with the fast path equals the one without it', { timeout: 3_600_000 }, async () => {
  const { on, off, material } = await startPair();
  const random = new Random(SEED);
  const conversations: Array<readonly Piece[]> = [];
  for (let requests = 0; requests < REQUESTS;) {
    const pieces = makeConversation(random, material);
    conversations.push(pieces);
    requests += pieces.reduce((sum, piece) => sum + Math.max(1, piece.requests), 0);
  }
  const differences: string[] = [];
  const queue = conversations.values();
  const work = async (): Promise<void> => {
    for (const pieces of queue) {
      const [fast, full] = await Promise.all([converse(portOf(on), pieces), converse(portOf(off), pieces)]);
      if (fast !== full) differences.push(JSON.stringify({ pieces, fast, full }, null, 1).slice(0, 6000));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  expect(differences.slice(0, 3), `seed ${SEED}, ${differences.length} differences`).toEqual([]);
});

test('a plain request is answered on the fast path, which keeps the connection', async () => {
  const { on } = await startPair();
  const connection = await HttpConnection.open(portOf(on));
  for (const method of ['GET', 'HEAD', 'GET']) {
    connection.send(`${method} /${CDN_HOST}/b/kilo.bin HTTP/1.1\r\nHost: cdn.example\r\n\r\n`);
    expect((await connection.answer(method)).status).toBe(200);
    expect(on.listening.fastPath?.connections).toBe(1);
  }
  connection.destroy();
});

test('a request split at any byte has the same response', async () => {
  const { on, off, material } = await startPair();
  const bytes = `GET /${CDN_HOST}/b/kilo.bin HTTP/1.1\r\nHost: cdn.example\r\nIf-None-Match: ${material.etags[0] ?? ''}\r\n\r\n`;
  const expected = await converse(portOf(off), [{ bytes, requests: 1, splitAt: 0 }]);
  expect(expected).toContain('200 OK');
  for (let splitAt = 1; splitAt < bytes.length; splitAt += 1) {
    expect(await converse(portOf(on), [{ bytes, requests: 1, splitAt }])).toBe(expected);
  }
});
