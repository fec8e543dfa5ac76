import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseEntryDestination } from '../../../src/upstream/entry-rules.ts';
import { createDownloader } from '../../../src/upstream/http/downloader.ts';
import type { UpstreamEntry } from '../../../src/upstream/upstream.ts';
import type { HashPool } from '../../../src/platform/hashing/digests.ts';
import { createHashPool } from '../../../src/platform/hashing/hash-pool.ts';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';
import type { Clock } from '../../../src/platform/process/clock.ts';
import { startSeeing } from '../../support/fake-registry.ts';
import { seededBytes } from '../../support/generate-release.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { adapterFor, configure, freeSignal, upstreamErrorOf } from '../../support/upstream-harness.ts';

const MIB = 1024 * 1024;
/** Text, so that codings make it smaller. */
const TEXT = Buffer.from('one line of a table\n'.repeat(20_000));

/** A member of gzip that decodes to nothing. */
const NOTHING = gzipSync('');

let pool: HashPool;

interface Site {
  /** Downloads the file. @returns the requests, and the bytes that were sent */
  download(entry?: Partial<UpstreamEntry>): Promise<{
    readonly requests: readonly Seen[];
    readonly sent: number;
    readonly waits: readonly number[];
  }>;
}

interface Seen {
  readonly range: string | undefined;
  readonly condition: string | undefined;
  readonly cache: string | undefined;
}

/** Starts a server with one file. It counts what it sends. */
async function startSite(
  bytes: Buffer,
  answer: (request: IncomingMessage, response: ServerResponse, count: number) => void,
): Promise<Site> {
  const requests: Seen[] = [];
  let sent = 0;
  const server = await startSeeing((request, response) => {
    const { range, 'if-range': condition, 'cache-control': cache } = request.headers;
    requests.push({ range, condition: condition as string | undefined, cache });
    const write = response.write.bind(response);
    response.write = ((piece: Buffer, ...rest: []) => {
      sent += piece.length;
      return write(piece, ...rest);
    }) as ServerResponse['write'];
    answer(request, response, requests.length);
  });
  const waits: number[] = [];
  const clock: Clock = {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    sleep: async (ms) => void waits.push(ms),
  };
  const section = { kind: 'manifest', manifest: { url: server.url } };
  const adapter = adapterFor(section);
  const deps = { adapter, pool, clock, logger: createSilentLogger(), limits: configure(section) };
  return {
    download: async (change = {}) => {
      const entry: UpstreamEntry = {
        destination: parseEntryDestination('Table/file.bin', 'test'),
        size: bytes.length,
        digests: { sha256: createHash('sha256').update(bytes).digest('hex') },
        locator: `${server.url}/file`,
        ...change,
      };
      const staged = join(await temporaryDirectory(), 'staged');
      await createDownloader(deps).download(entry, staged, freeSignal(), () => undefined);
      expect((await readFile(staged)).equals(bytes)).toBe(true);
      return { requests, sent, waits };
    },
  };
}

/** Sends a range of a file in one write, at most so much of it. */
function sendPart(
  request: IncomingMessage,
  response: ServerResponse,
  { bytes, most = Infinity, headers = {} }: { bytes: Buffer; most?: number; headers?: object },
): void {
  const [, first] = /^bytes=(\d+)-$/.exec(request.headers.range ?? '') ?? [];
  const start = Number(first ?? 0);
  const rest = bytes.subarray(start);
  response.writeHead(first === undefined ? 200 : 206, {
    'content-length': rest.length,
    ...(first === undefined ? {} : { 'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` }),
    ...headers,
  });
  response.write(rest.subarray(0, most), () => {
    if (rest.length > most) response.destroy();
    else response.end();
  });
}

beforeAll(() => {
  pool = createHashPool({ threads: 1 });
});
afterAll(async () => pool.close());

describe('a server that names a content coding although none was asked for', () => {
  const codings = {
    gzip: gzipSync(TEXT),
    'x-gzip': gzipSync(TEXT),
    deflate: deflateSync(TEXT),
    br: brotliCompressSync(TEXT),
    zstd: zstdCompressSync(TEXT),
  };
  const siteOf = async (coding: string, body: Buffer, length = true): Promise<Site> =>
    await startSite(TEXT, (_request, response) => {
      response.writeHead(200, {
        'content-encoding': coding,
        ...(length ? { 'content-length': body.length } : {}),
      });
      response.write(body);
      response.end();
    });

  test.each(['UTF-8', 'none', 'binary', 'aws-chunked', '', 'identity', 'aws-chunked, utf-8'])(
    'is believed with plain bytes under the name %j, with and without a stated digest',
    async (name) => {
      await (await siteOf(name, TEXT)).download();
      await (await siteOf(name, TEXT)).download({ size: null, digests: {} });
    },
  );

  test.each(Object.entries(codings))('is decoded when size and digest then fit: %s', async (name, body) => {
    const { requests, sent } = await (await siteOf(name, body)).download();
    expect(requests).toHaveLength(1);
    expect(sent).toBe(body.length);
    await (await siteOf(name, body, false)).download();
  });

  test.each(['gzip', 'a-coding-that-nobody-knows'])(
    'is believed when the stated size is that of the bytes on the wire: %s',
    async (name) => {
      const { requests } = await (await siteOf(name, TEXT)).download();
      expect(requests).toHaveLength(1);
    },
  );

  test.each([
    ['plain bytes', TEXT],
    ['bytes that are stored in it', codings.gzip],
  ])('is believed without a length, too, for %s', async (_case, bytes) => {
    const site = await startSite(bytes, (_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(bytes);
    });
    expect((await site.download()).requests).toHaveLength(2);
  });

  test.each<[string, Buffer, Partial<UpstreamEntry>, string, RegExp]>([
    ['without a digest', codings.gzip, { digests: {} }, 'upstream_status', /"gzip" although identity/],
    ['without a size', codings.br, { size: null }, 'upstream_status', /"br" although identity/],
    [
      'for other bytes',
      gzipSync(TEXT.map((byte) => byte ^ 1)),
      {},
      'digest_mismatch',
      /"gzip", which was decoded/,
    ],
    ['for fewer bytes', gzipSync(TEXT.subarray(9)), {}, 'upstream_truncated', /399991 of 400000/],
    [
      'for one byte more',
      gzipSync(Buffer.concat([TEXT, Buffer.of(1)])),
      {},
      'size_mismatch',
      /decodes to more than/,
    ],
    ['for a bomb', gzipSync(Buffer.alloc(64 * MIB)), {}, 'size_mismatch', /decodes to more than/],
    [
      'for members without content',
      Buffer.concat([...Array.from({ length: 30_000 }, () => NOTHING), codings.gzip]),
      {},
      'size_mismatch',
      /sends more than 515536 bytes/,
    ],
    ['for no bytes in it', Buffer.from('no gzip'), {}, 'digest_mismatch', /are not in that coding/],
  ])('is refused with the name of the coding %s', async (_case, body, entry, code, message) => {
    const name = body === codings.br ? 'br' : 'gzip';
    const failed = await upstreamErrorOf((await siteOf(name, body)).download(entry));
    expect(failed).toMatchObject({ code, message: expect.stringMatching(message) as string });
  });

  test.each(Object.entries(codings))(
    'is asked again when its bytes end too early: %s',
    async (name, body) => {
      const failed = await upstreamErrorOf((await siteOf(name, body.subarray(0, -20))).download());
      expect(failed).toMatchObject({ code: 'upstream_truncated', retryable: true });
    },
  );

  test('is refused with its name for a document', async () => {
    const body = gzipSync('{"release_id":"r","entries":[]}');
    const server = await startSeeing((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(body);
    });
    const adapter = adapterFor({ kind: 'manifest', manifest: { url: server.url } });
    const failed = await upstreamErrorOf(adapter.fetchCatalog(null, freeSignal()));
    expect(failed.message).toContain('Content-Encoding "gzip" although identity was requested');
  });

  test('is believed with plain bytes for a document', async () => {
    const server = await startSeeing((_request, response) => {
      const entry = '{"destination":"a","size":1}';
      response.writeHead(200, { 'content-encoding': 'UTF-8' });
      response.end(`{"release_id":"r","entries":[${entry}]}`);
    });
    const adapter = adapterFor({ kind: 'manifest', manifest: { url: server.url } });
    expect((await adapter.fetchCatalog(null, freeSignal()))?.releaseId).toBe('r');
  });
});

describe('a server that breaks connections', () => {
  test('gives 60 MB in pieces of 2 MB in one go, and each byte once', async () => {
    const bytes = seededBytes('pieces', 60 * MIB);
    const site = await startSite(bytes, (request, response) => {
      sendPart(request, response, { bytes, most: 2 * MIB, headers: { etag: '"v"' } });
    });
    const { requests, sent, waits } = await site.download();
    expect(requests).toHaveLength(30);
    expect(sent).toBe(bytes.length);
    expect(waits.every((ms) => ms === 0)).toBe(true);
  });

  test.each([
    ['no validator', {}],
    ['a weak validator', { etag: 'W/"v"' }],
    ['a date that is too young', { 'last-modified': new Date().toUTCString() }],
  ])('gives each byte once with %s, where a digest decides', async (_case, headers) => {
    const bytes = seededBytes('weak', 12 * MIB);
    const site = await startSite(bytes, (request, response) => {
      sendPart(request, response, { bytes, most: 4 * MIB, headers });
    });
    const { requests, sent } = await site.download();
    expect(sent).toBe(bytes.length);
    expect(requests.map(({ range }) => range)).toEqual([undefined, `bytes=${4 * MIB}-`, `bytes=${8 * MIB}-`]);
    expect(requests.every(({ condition }) => condition === undefined)).toBe(true);
  });

  test('gives each byte once although each answer has a validator of its own, where a digest decides', async () => {
    const bytes = seededBytes('validators', 12 * MIB);
    const site = await startSite(bytes, (request, response, count) => {
      if (request.headers['if-range'] !== undefined) delete request.headers.range;
      sendPart(request, response, { bytes, most: 4 * MIB, headers: { etag: `"${count}"` } });
    });
    const { requests } = await site.download();
    // One piece came twice, until the condition was left out.
    expect(requests.map(({ range, condition }) => [range, condition])).toEqual([
      [undefined, undefined],
      [`bytes=${4 * MIB}-`, '"1"'],
      [`bytes=${4 * MIB}-`, undefined],
      [`bytes=${8 * MIB}-`, undefined],
    ]);
  });

  test('and gives no more than a window of a range is asked for the next one', async () => {
    const bytes = seededBytes('windows', 3 * MIB);
    const site = await startSite(bytes, (request, response) => {
      const start = Number(/\d+/.exec(request.headers.range ?? '')?.[0] ?? 0);
      const window = bytes.subarray(start, start + MIB);
      response.writeHead(206, {
        'content-length': window.length,
        'content-range': `bytes ${start}-${start + window.length - 1}/${bytes.length}`,
        etag: '"v"',
      });
      response.write(window);
      response.end();
    });
    const { requests, sent } = await site.download();
    expect(sent).toBe(bytes.length);
    // It answers with a window also where none was asked for.
    expect(requests.map(({ range }) => range)).toEqual([undefined, `bytes=${MIB}-`, `bytes=${2 * MIB}-`]);
  });

  test.each([400, 412, 501])('and refuses ranges with %s is asked for the whole file', async (status) => {
    const bytes = seededBytes('refused', 2 * MIB);
    const site = await startSite(bytes, (request, response, count) => {
      if (request.headers.range !== undefined) response.writeHead(status).end();
      else
        sendPart(request, response, { bytes, most: count === 1 ? MIB : Infinity, headers: { etag: '"v"' } });
    });
    const { requests } = await site.download();
    expect(requests.map(({ range }) => range)).toEqual([undefined, `bytes=${MIB}-`, undefined]);
  });

  test.each<[string, number, Record<string, string>]>([
    ['through a proxy that says so', 203, {}],
    ['too early', 425, {}],
    ['when its limit of requests, which it tells with 403, is over', 403, { 'retry-after': '1' }],
  ])('gives the file %s', async (_case, status, headers) => {
    const bytes = seededBytes('statuses', 1000);
    const site = await startSite(bytes, (_request, response, count) => {
      response.writeHead(count === 1 ? status : 200, headers);
      response.end(bytes);
    });
    expect((await site.download()).requests).toHaveLength(status === 203 ? 1 : 2);
  });

  test('starts over without a validator and a digest, because nothing would tell whether the pieces fit', async () => {
    const bytes = seededBytes('unproven', 2 * MIB);
    const site = await startSite(bytes, (request, response, count) => {
      sendPart(request, response, { bytes, most: count === 1 ? MIB : Infinity });
    });
    const { requests } = await site.download({ digests: {} });
    expect(requests.map(({ range }) => range)).toEqual([undefined, undefined]);
  });

  test('and changes the file in between is asked for the whole file once more, past caches', async () => {
    const [old, bytes] = [seededBytes('old', 2 * MIB), seededBytes('new', 2 * MIB)];
    const site = await startSite(bytes, (request, response, count) => {
      if (count === 1) sendPart(request, response, { bytes: old, most: MIB });
      else sendPart(request, response, { bytes });
    });
    const { requests } = await site.download();
    expect(requests.map(({ range, cache }) => [range, cache])).toEqual([
      [undefined, undefined],
      [`bytes=${MIB}-`, undefined],
      [undefined, 'no-cache'],
    ]);
  });

  test.each([
    ['sends nothing new', 0],
    ['drips less than progress', 1000],
  ])('fails after five attempts when it %s', async (_case, most) => {
    const bytes = seededBytes('stuck', 2 * MIB);
    let attempts = 0;
    const site = await startSite(bytes, (request, response) => {
      attempts += 1;
      sendPart(request, response, { bytes, most, headers: { etag: '"v"' } });
    });
    expect((await upstreamErrorOf(site.download())).retryable).toBe(true);
    expect(attempts).toBe(5);
  });

  test.each([
    ['never gets further', 0],
    ['gets a little further each time', 64 * 1024],
  ])('fails after five attempts when it ignores ranges and %s', async (_case, more) => {
    const bytes = seededBytes('again', 3 * MIB);
    let attempts = 0;
    const site = await startSite(bytes, (request, response) => {
      attempts += 1;
      delete request.headers.range;
      sendPart(request, response, { bytes, most: MIB + attempts * more });
    });
    expect((await upstreamErrorOf(site.download())).code).toMatch(/^upstream_/);
    // The first one brought something.
    expect(attempts).toBe(6);
  });
});

describe('a cache in between', () => {
  test('with an old copy is asked past, and gives the file', async () => {
    const [old, bytes] = [seededBytes('stale', MIB), seededBytes('fresh', MIB)];
    const site = await startSite(bytes, (request, response) => {
      const isPast = request.headers['cache-control'] === 'no-cache';
      sendPart(request, response, { bytes: isPast ? bytes : old });
    });
    const { requests } = await site.download();
    expect(requests.map(({ cache }) => cache)).toEqual([undefined, 'no-cache']);
  });

  test.each(['digest_mismatch', 'size_mismatch'])(
    'that keeps its old copy is named in the message: %s',
    async (code) => {
      const bytes = seededBytes('fresh', MIB);
      const old = seededBytes('stale', code === 'digest_mismatch' ? MIB : MIB + 1);
      const site = await startSite(bytes, (request, response) => sendPart(request, response, { bytes: old }));
      const failed = await upstreamErrorOf(site.download());
      expect(failed).toMatchObject({
        code,
        retryable: false,
        message: expect.stringContaining('a cache in between may still hold an old copy') as string,
      });
    },
  );

  test.each([403, 404])('that remembers that there is nothing (%s) is asked past, once', async (status) => {
    const bytes = seededBytes('absent', 1000);
    const site = await startSite(bytes, (request, response) => {
      if (request.headers['cache-control'] === 'no-cache') sendPart(request, response, { bytes });
      else response.writeHead(status, { age: '60' }).end();
    });
    expect((await site.download()).requests).toHaveLength(2);
    const absent = await startSite(bytes, (_request, response) => void response.writeHead(status).end());
    expect((await upstreamErrorOf(absent.download())).code).toMatch(/^upstream_(?:not_found|forbidden)$/);
  });

  test('that answers "not modified" to a request without a condition is asked past once, and then named', async () => {
    const bytes = seededBytes('conditions', 1000);
    const once = await startSite(bytes, (request, response) => {
      const isPast = request.headers['cache-control'] === 'no-cache';
      if (isPast) sendPart(request, response, { bytes });
      else response.writeHead(304).end();
    });
    expect((await once.download()).requests).toHaveLength(2);
    const server = await startSeeing((_request, response) => void response.writeHead(304).end());
    const adapter = adapterFor({ kind: 'manifest', manifest: { url: server.url } });
    expect(await upstreamErrorOf(adapter.fetchCatalog(null, freeSignal()))).toMatchObject({
      code: 'upstream_not_modified',
      message: expect.stringContaining('to a request without a condition') as string,
    });
    expect(server.seen).toHaveLength(2);
  });
});
