import process from 'node:process';
import { expect, test } from 'vitest';
import { fakeRelease } from '../../../fakes/fake-serving.ts';
import { CDN_HOST, patternBytes, startCdn, storeObject } from '../../../support/cdn-fixture.ts';
import { startFronted } from '../../../support/fast-path-fixture.ts';
import { openSocket } from '../../../support/raw-http.ts';

const REQUESTS = Number(process.env['SLIPWAY_FUZZ_REQUESTS'] ?? '6000');
const SEED = Number(process.env['SLIPWAY_FUZZ_SEED'] ?? '20260731');
const AT_ONCE = 8;
const REPEATS = 12;
/** How conversations are led. */
interface Patience {
  /** How long an answer may take to begin before the next request is sent nevertheless: many are never answered. */
  readonly beginMs: number;
  /** How long nothing must come before an answer that began counts as whole. */
  readonly quietMs: number;
}

const QUICK: Patience = { beginMs: 60, quietMs: 0 };
/** For conversations that are asked again, one at a time: no request overlaps with the answer before it. */
const PATIENT: Patience = { beginMs: 500, quietMs: 60 };

/** A small generator whose every run with the same seed is the same. */
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

interface Conversation {
  readonly pieces: readonly string[];
  readonly waits: boolean;
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
  '/healthz',
  '/healthz',
  '/healthz',
  '/healthz?a=b',
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
];
const COMMON_FIELDS = [
  'User-Agent: fuzz/1.0',
  'Accept: */*',
  'Accept-Encoding: gzip',
  'X-Request-Id: fuzz-0001-0001',
  'Authorization: Basic eDp5',
  'host-x:  spaced  ',
];

function makeRequest(random: Random, { etags, lastModified }: Material): string {
  const isOdd = random.chance(30);
  let method = random.chance(75) ? 'GET' : 'HEAD';
  let target = `/${CDN_HOST}/${random.chance(30) ? 'r1/' : ''}${random.pick(TARGETS)}`;
  let version = 'HTTP/1.1';
  const fields = [
    random.chance(95)
      ? 'Host: cdn.example'
      : random.pick(['host:cdn.example:80', 'Host:', 'HOST: a b', 'Host: [::1]:8']),
  ];
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
  let lineEnd = '\r\n';
  let tail = '';
  if (isOdd) {
    const kind = random.below(8);
    if (kind === 0) method = random.pick(['POST', 'OPTIONS', 'get', 'DELETE', 'G ET', '', 'GETT', 'HEAD ']);
    else if (kind === 1) target = random.pick(ODD_TARGETS);
    else if (kind === 2)
      version = random.pick(['HTTP/1.0', 'HTTP/2.0', 'HTTP/1.2', 'http/1.1', '', 'HTTP/1.1 ']);
    else if (kind === 3) lineEnd = random.pick(['\n', '\r', '\r\n']);
    else if (kind === 4) tail = random.pick(['x', '\r\n', 'GET / HTTP/1.1\r\n', '\0']);
    else if (kind === 5) fields.shift();
    else fields.splice(random.below(fields.length + 1), 0, random.pick(ODD_FIELDS));
    if (random.chance(20)) fields.push(random.pick(ODD_FIELDS));
  }
  const request = `${method} ${target} ${version}${lineEnd}${fields.map((field) => field + lineEnd).join('')}${lineEnd}${tail}`;
  return isOdd && random.chance(15) ? mutate(random, request) : request;
}

function mutate(random: Random, request: string): string {
  const at = random.below(request.length);
  const kind = random.below(3);
  if (kind === 0) return request.slice(0, at) + request.slice(at + 1);
  const byte = String.fromCharCode(random.below(256));
  return request.slice(0, at) + byte + request.slice(kind === 1 ? at : at + 1);
}

/** A request that makes the server close, so that the end of all answers is seen. */
const LAST = `GET /${CDN_HOST}/a.bin HTTP/1.1\r\nHost: cdn.example\r\nConnection: close\r\n\r\n`;

/**
 * Sends pieces one after the other; the next one when an answer to the last has begun to come, or at once where no
 * answer can be expected.
 */
async function converse(port: number, { pieces, waits }: Conversation, patience = QUICK): Promise<string> {
  const socket = await openSocket(port);
  socket.setNoDelay(true);
  const chunks: Buffer[] = [];
  let wake: (() => void) | null = null;
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    wake?.();
  });
  // A server that closes on a bad request may reset what was still on its way.
  socket.on('error', () => wake?.());
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      wake?.();
      resolve();
    });
  });
  const news = async (limitMs: number): Promise<void> => {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, limitMs);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    wake = null;
  };
  for (const piece of pieces) {
    if (socket.destroyed) break;
    const before = chunks.length;
    socket.write(piece, 'latin1');
    if (waits) {
      let limit = chunks.length === before ? patience.beginMs : patience.quietMs;
      while (!socket.destroyed && limit > 0) {
        const came = chunks.length;
        await news(limit);
        limit = chunks.length === came ? 0 : patience.quietMs;
      }
    } else await new Promise((resolve) => setImmediate(resolve));
  }
  const timer = setTimeout(() => socket.end(), 400);
  await closed;
  clearTimeout(timer);
  return normalize(Buffer.concat(chunks).toString('latin1'));
}

/** Takes the moment, ids and random delimiters out of answers. */
function normalize(text: string): string {
  return text
    .replaceAll(/^Date: .*GMT\r$/gm, 'Date: now\r')
    .replaceAll(/boundary=[0-9a-f]{32}/g, 'boundary=B')
    .replaceAll(/--[0-9a-f]{32}/g, '--B')
    .replaceAll(/"request_id":"[^"]*"/g, '"request_id":"id"')
    .replaceAll(/^x-request-id: .*$/gim, 'x-request-id: id');
}

const REFUSAL = /HTTP\/1\.1 4[0-9]{2} [A-Za-z ]+\r\nConnection: close\r\n\r\n$/;

/**
 * Whether two conversations that end with a malformed message differ only in how many answers in front of it came out
 * before the connection was refused. node:http parses bytes that were read for it in one go, and those it reads itself
 * with pauses in between, in which an answer may finish; neither waits for answers that are still being read.
 */
function isOvertaken(text: string, other: string): boolean {
  if (!REFUSAL.test(text) && !REFUSAL.test(other)) return false;
  const [left, right] = [text.replace(REFUSAL, ''), other.replace(REFUSAL, '')];
  return left.startsWith(right) || right.startsWith(left);
}

/** Whether anything is sent while an answer may still be on its way: without waiting, or behind the end of a head. */
function overlaps({ pieces, waits }: Conversation): boolean {
  return !waits || pieces.some((piece) => /\n\r?\n./s.test(piece));
}

async function startPair(): Promise<{
  readonly on: Awaited<ReturnType<typeof startFronted>>;
  readonly off: Awaited<ReturnType<typeof startFronted>>;
  readonly material: Material;
}> {
  const cdn = await startCdn();
  const files = [
    ['a.bin', 10],
    ['b/kilo.bin', 1024],
    ['b/64k.bin', 65_536],
    ['quarter.bin', 262_144],
    ['large.bin', 2_500_000],
    ['empty.bin', 0],
    ['b/sp ace.txt', 300],
  ] as const;
  const entries = [];
  for (const [name, size] of files) entries.push(await storeObject(cdn.root, name, patternBytes(size, size)));
  cdn.serving.serve([fakeRelease({ releaseId: 'r1', entries })]);
  const off = await startFronted(cdn, { fast: false });
  const on = await startFronted(cdn, { fast: true });
  return {
    on,
    off,
    material: {
      etags: entries.map(({ blake3 }) => `"${blake3}"`),
      lastModified: new Date(1_760_000_000_000).toUTCString(),
    },
  };
}

test('every answer of the fast path is the one of the full server', { timeout: 300_000 }, async () => {
  const { on, off, material } = await startPair();
  const random = new Random(SEED);
  // What differs is asked again, alone and with patience; it counts unless both servers can be seen to give the same
  // answer. One race is left, and only where something was sent without waiting for an answer: see isOvertaken.
  const suspects: Conversation[] = [];
  let requests = 0;
  let next = 0;
  const conversations: Conversation[] = [];
  while (next < REQUESTS) {
    const length = 1 + random.below(6);
    const list = Array.from({ length }, () => makeRequest(random, material));
    next += length;
    const shape = random.below(10);
    if (shape === 0) conversations.push({ pieces: [list.join('') + LAST], waits: false });
    else if (shape === 1) {
      const [first = ''] = list;
      const at = random.below(first.length);
      conversations.push({
        pieces: [first.slice(0, at), first.slice(at), ...list.slice(1), LAST],
        waits: false,
      });
    } else conversations.push({ pieces: [...list, LAST], waits: true });
    requests += length;
  }
  const queue = conversations.values();
  const work = async (): Promise<void> => {
    for (const conversation of queue) {
      const [fast, full] = await Promise.all([
        converse(on.port, conversation),
        converse(off.port, conversation),
      ]);
      if (fast !== full) suspects.push(conversation);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const differences: string[] = [];
  let overtaken = 0;
  for (const conversation of suspects) {
    const fast = new Set<string>();
    const full = new Set<string>();
    for (let turn = 0; turn < REPEATS && fast.isDisjointFrom(full); turn += 1) {
      fast.add(await converse(on.port, conversation, PATIENT));
      full.add(await converse(off.port, conversation, PATIENT));
    }
    if (!fast.isDisjointFrom(full)) continue;
    if (
      overlaps(conversation) &&
      [...fast].every((text) => [...full].some((other) => isOvertaken(text, other)))
    ) {
      overtaken += 1;
      continue;
    }
    const show = (answers: ReadonlySet<string>): string[] => [...answers].map((text) => text.slice(0, 500));
    differences.push(JSON.stringify({ ...conversation, fast: show(fast), full: show(full) }));
  }
  console.log(
    `seed ${SEED}: ${requests} requests in ${conversations.length} conversations, ${on.fast.length} answered by the fast path, ` +
      `${on.fullRequests()} by the full server behind it, ${suspects.length} asked again, ${overtaken} overtaken by a refusal, ${differences.length} differences`,
  );
  expect(differences.slice(0, 3)).toEqual([]);
  expect(on.fast.length).toBeGreaterThan(requests / 20);
});

test('a request split at any byte has the same answer', { timeout: 60_000 }, async () => {
  const { on, off, material } = await startPair();
  const plain = `GET /${CDN_HOST}/b/kilo.bin HTTP/1.1\r\nHost: cdn.example\r\nIf-None-Match: ${material.etags[0] ?? ''}\r\n\r\n`;
  const expected = await converse(off.port, { pieces: [plain, LAST], waits: false });
  expect(expected).toContain('200 OK');
  for (let at = 1; at < plain.length; at += 1) {
    const pieces = [plain.slice(0, at), plain.slice(at), LAST];
    expect(await converse(on.port, { pieces, waits: false })).toBe(expected);
  }
});
