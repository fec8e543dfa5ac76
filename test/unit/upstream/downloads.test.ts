import { partial } from '../../support/partial.ts';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { access, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseEntryDestination } from '../../../src/upstream/entry-rules.ts';
import { createDownloader, type DownloaderOptions } from '../../../src/upstream/http/downloader.ts';
import { releaseChunk } from '../../../src/upstream/http/staged-file.ts';
import type { UpstreamAdapter, UpstreamEntry } from '../../../src/upstream/upstream.ts';
import { blockCount } from '../../../src/domain/release/blocks.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import type { HashPool } from '../../../src/platform/hashing/digests.ts';
import { createHashPool } from '../../../src/platform/hashing/hash-pool.ts';
import { systemClock, type Clock } from '../../../src/platform/process/clock.ts';
import { seededBytes } from '../../support/generate-release.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import type { UpstreamFault } from '../../support/upstream-faults.ts';
import { adapterFor, configure, freeSignal, serve, upstreamErrorOf } from '../../support/upstream-harness.ts';
import {
  entityTagOf,
  type UpstreamServer,
  type UpstreamServerOptions,
} from '../../support/upstream-server.ts';

const BYTES = seededBytes('downloader', 3 * 1024 * 1024 + 123);
const LARGE = seededBytes('large', 6 * 1024 * 1024);
const SETTINGS = { headersTimeoutMs: 2000, stallTimeoutMs: 150, minimumBytesPerSecond: 0, maxAttempts: 3 };

let pool: HashPool;

interface Bench {
  readonly server: UpstreamServer;
  readonly adapter: UpstreamAdapter;
  readonly entry: UpstreamEntry;
  readonly staged: string;
  readonly received: number[];
  readonly sleeps: number[];
  download(
    signal?: AbortSignal,
    more?: Partial<DownloaderOptions>,
    entry?: UpstreamEntry,
  ): ReturnType<ReturnType<typeof createDownloader>['download']>;
}

async function bench(
  faults: readonly UpstreamFault[] = [],
  options: UpstreamServerOptions & { bytes?: Buffer } = {},
): Promise<Bench> {
  const bytes = options.bytes ?? BYTES;
  const server = await serve({ files: new Map([['file', bytes]]), faults: { file: faults }, ...options });
  const settings = { kind: 'manifest', manifest: { url: server.url }, ...SETTINGS };
  const adapter = adapterFor(settings);
  const received: number[] = [];
  const sleeps: number[] = [];
  const clock: Clock = {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      sleeps.push(ms);
    },
  };
  const entry: UpstreamEntry = {
    destination: parseEntryDestination('Table/file.bin', 'test'),
    size: bytes.length,
    digests: { sha256: createHash('sha256').update(bytes).digest('hex') },
    locator: `${server.url}/file`,
  };
  const staged = join(await temporaryDirectory(), 'staged');
  const deps: DownloaderOptions = {
    adapter,
    clock,
    pool,
    logger: { warn: () => undefined },
    limits: configure(settings),
  };
  return {
    server,
    adapter,
    entry,
    staged,
    received,
    sleeps,
    download: async (signal = freeSignal(), more = {}, other = entry) =>
      createDownloader({ ...deps, ...more }).download(other, staged, signal, (count) => received.push(count)),
  };
}

/** Asserts that the staged file exists, is whole, and is the only one. */
async function expectWhole(b: Bench, bytes: Buffer = BYTES): Promise<void> {
  expect((await readFile(b.staged)).equals(bytes)).toBe(true);
  expect(await readdir(dirname(b.staged))).toEqual(['staged']);
  expect(b.received.reduce((sum, count) => sum + count, 0)).toBe(bytes.length);
}

describe('downloader', () => {
  beforeAll(() => {
    pool = createHashPool({ threads: 1 });
  });
  afterAll(async () => pool.close());

  test('fetches, verifies and names a file, with its block list', async () => {
    const b = await bench();
    const digests = await b.download();
    expect(digests).toMatchObject({ size: BYTES.length, blake3: blake3Hex(BYTES) });
    expect(digests.blocks).toHaveLength(blockCount(BYTES.length) * 32);
    await expectWhole(b);
    expect(b.server.requests).toHaveLength(1);
  });

  test('fetches an empty file', async () => {
    const b = await bench([], { bytes: Buffer.alloc(0) });
    expect((await b.download()).size).toBe(0);
    await expectWhole(b, Buffer.alloc(0));
  });

  test.each<[string, UpstreamFault[]]>([
    ['truncations', [{ kind: 'truncate', afterBytes: 1_000_000, times: 2 }]],
    ['resets', [{ kind: 'reset', afterBytes: 700_000 }]],
    ['stalls', [{ kind: 'stall', afterBytes: 900_000 }]],
    [
      'errors',
      [
        { kind: 'status', status: 500 },
        { kind: 'status', status: 503, retryAfter: '2' },
      ],
    ],
  ])('survives %s', async (_, faults) => {
    const b = await bench(faults);
    await b.download();
    await expectWhole(b);
  });

  test('resumes with Range and If-Range where the bytes on disk end', async () => {
    const b = await bench([{ kind: 'truncate', afterBytes: 1_000_000 }]);
    await b.download();
    const second = b.server.requests[1];
    expect(second).toMatchObject({ status: 206 });
    expect(second?.headers['if-range']).toBe(entityTagOf(BYTES));
    expect(second?.headers.range).toBe('bytes=1000000-');
    await expectWhole(b);
  });

  test.each<[string, UpstreamFault[], UpstreamServerOptions]>([
    ['a 200 to the range', [{ kind: 'ignore-range' }], {}],
    ['a range that begins elsewhere', [{ kind: 'wrong-range', shift: 3 }], {}],
    ['a 416', [{ kind: 'status', status: 416 }], {}],
  ])('starts again after %s, and appends nothing', async (_, faults, options) => {
    const b = await bench([{ kind: 'truncate', afterBytes: 1_000_000 }, ...faults], options);
    await b.download();
    await expectWhole(b);
    expect(Math.min(...b.received)).toBeLessThan(0);
  });

  test('starts again when the file changed upstream meanwhile', async () => {
    const old = seededBytes('old', BYTES.length);
    const b = await bench(
      [
        { kind: 'truncate', afterBytes: 1_000_000 },
        { kind: 'replace', bytes: BYTES },
      ],
      { files: new Map([['file', old]]) },
    );
    await b.download();
    await expectWhole(b);
    expect(b.server.requests[1]?.status).toBe(200);
  });

  test('waits between attempts: jitter below a doubling bound, never sooner than Retry-After', async () => {
    const limits = { ...configure({}), backoffBaseMs: 100, backoffCapMs: 150, maxAttempts: 5 };
    const b = await bench([
      { kind: 'status', status: 500, times: 3 },
      { kind: 'status', status: 429, retryAfter: '2' },
    ]);
    await b.download(freeSignal(), { limits, random: () => 0.999 });
    expect(b.sleeps).toEqual([99, 149, 149, 2000]);
  });

  test('a cancelled download does not wait until the upstream takes requests again', async () => {
    const b = await bench([{ kind: 'status', status: 429, retryAfter: '300' }]);
    const controller = new AbortController();
    const reason = new Error('the task was cancelled');
    const clock: Clock = {
      ...systemClock,
      sleep: async (ms, signal) => {
        const wait = systemClock.sleep(ms, signal);
        controller.abort(reason);
        await wait;
      },
    };
    await expect(b.download(controller.signal, { clock })).rejects.toBe(reason);
    expect(b.server.requests).toHaveLength(1);
    await b.download();
    await expectWhole(b);
  });

  test('gives up after maxAttempts with the last failure', async () => {
    const b = await bench([{ kind: 'status', status: 500, times: 9 }]);
    expect(await upstreamErrorOf(b.download())).toMatchObject({ code: 'upstream_status', retryable: true });
    expect(b.server.requests).toHaveLength(3);
  });

  test('does not retry when a retry cannot help', async () => {
    const b = await bench([{ kind: 'status', status: 404 }]);
    expect(await upstreamErrorOf(b.download())).toMatchObject({ code: 'upstream_not_found' });
    expect(b.server.requests).toHaveLength(1);
  });

  test('wrong bytes once are fetched again; wrong bytes twice are fatal and leave nothing', async () => {
    const once = await bench([{ kind: 'wrong-bytes' }]);
    await once.download();
    await expectWhole(once);
    const twice = await bench([{ kind: 'wrong-bytes', times: 2 }]);
    const error = await upstreamErrorOf(twice.download());
    expect(error).toMatchObject({ code: 'digest_mismatch', retryable: false });
    expect(error.message).toMatch(
      /"Table\/file.bin": the catalog states sha256 [0-9a-f]{64}, the bytes have [0-9a-f]{64}/,
    );
    expect(await readdir(dirname(twice.staged))).toEqual([]);
    expect(twice.server.requests).toHaveLength(2);
  });

  test.each(['blake3', 'md5', 'crc32'] as const)('checks %s', async (kind) => {
    const b = await bench();
    const wrong = {
      ...b.entry,
      digests: { [kind]: kind === 'crc32' ? '1' : 'ab'.repeat(kind === 'md5' ? 16 : 32) },
    };
    expect((await upstreamErrorOf(b.download(freeSignal(), {}, wrong))).message).toContain(`states ${kind}`);
  });

  test('stops as soon as more bytes arrive than the catalog states', async () => {
    const declared = await bench([{ kind: 'oversize', extraBytes: 10, times: 2 }]);
    expect((await upstreamErrorOf(declared.download())).code).toBe('size_mismatch');
    expect(await readdir(dirname(declared.staged))).toEqual([]);
    const endless = await bench([{ kind: 'endless', times: 2 }]);
    const error = await upstreamErrorOf(endless.download());
    expect(error).toMatchObject({ code: 'size_mismatch', retryable: false });
    expect(Math.max(...endless.received)).toBeLessThanOrEqual(BYTES.length);
  });

  test('fetches files of unstated size, up to a bound', async () => {
    const b = await bench([{ kind: 'unsized' }]);
    const unsized = { ...b.entry, size: null, digests: {} };
    await b.download(freeSignal(), {}, unsized);
    await expectWhole(b);
    const bounded = await bench([{ kind: 'endless', times: 2 }]);
    const limits = { ...configure(SETTINGS), maxFileBytes: 1_000_000 };
    const error = await upstreamErrorOf(
      bounded.download(freeSignal(), { limits }, { ...bounded.entry, size: null }),
    );
    expect(error.message).toContain('upstream.maxFileBytes');
  });

  test('a cancelled download stops immediately and the next process resumes it', async () => {
    const b = await bench([{ kind: 'stall', afterBytes: 1_000_000 }]);
    const controller = new AbortController();
    const slow = { stallTimeoutMs: 60_000 };
    const adapter = adapterFor({ kind: 'manifest', manifest: { url: b.server.url }, ...slow });
    const reason = new Error('the task was cancelled');
    const running = b.download(controller.signal, {
      adapter: partial({
        open: async (...args) => {
          const body = await adapter.open(...args);
          return { ...body, chunks: abortAfter(body.chunks, 1_000_000, controller, reason) };
        },
      }),
    });
    await expect(running).rejects.toBe(reason);
    expect((await readdir(dirname(b.staged))).sort()).toEqual(['staged.part', 'staged.part.json']);
    await expect(access(b.staged)).rejects.toThrow('ENOENT');
    b.received.length = 0;
    await b.download();
    expect(b.server.requests.at(-1)).toMatchObject({ status: 206 });
    expect(b.server.requests.at(-1)?.headers.range).toBe('bytes=1000000-');
    await expectWhole(b);
  });

  test('a large part is resumable from its first byte, also after a kill', async () => {
    const b = await bench([{ kind: 'stall', afterBytes: 2_000_000 }], { bytes: LARGE });
    const controller = new AbortController();
    const seen = new AbortController();
    const running = b.download(controller.signal, {
      adapter: partial({
        open: async (...args) => {
          const body = await b.adapter.open(...args);
          return { ...body, chunks: abortAfter(body.chunks, 1, seen, null) };
        },
      }),
    });
    await once(seen.signal, 'abort');
    running.catch(() => undefined);
    // The side file exists while the body still arrives, so nothing must be written when the process dies.
    const deadline = performance.now() + 5000;
    let side = '';
    while (side === '' && performance.now() < deadline) {
      side = await readFile(`${b.staged}.part.json`, 'utf8').catch(() => '');
    }
    expect(JSON.parse(side)).toEqual({
      validator: entityTagOf(LARGE),
      locator: b.entry.locator,
      size: LARGE.length,
    });
    controller.abort();
    await expect(running).rejects.toThrow();
  });

  test.each([
    [
      'another locator',
      { validator: entityTagOf(BYTES), locator: 'http://127.0.0.1/other', size: BYTES.length },
    ],
    ['another size', { validator: entityTagOf(BYTES), locator: null, size: 5 }],
    ['nothing', 'torn{'],
  ])('does not trust a part whose side file names %s', async (_, side) => {
    const b = await bench();
    await writeFile(`${b.staged}.part`, 'garbage');
    const text =
      typeof side === 'string' ? side : JSON.stringify({ ...side, locator: side.locator ?? b.entry.locator });
    await writeFile(`${b.staged}.part.json`, text);
    await b.download();
    expect(b.server.requests.map((request) => request.headers.range)).toEqual([undefined]);
    await expectWhole(b);
  });

  test('a part with damaged bytes is detected by its digest and fetched again', async () => {
    const b = await bench();
    await writeFile(`${b.staged}.part`, Buffer.alloc(BYTES.length));
    const { locator, size } = b.entry;
    await writeFile(
      `${b.staged}.part.json`,
      JSON.stringify({ validator: entityTagOf(BYTES), locator, size }),
    );
    await b.download();
    await expectWhole(b);
  });

  test("does not resume an earlier process's part if no digest could detect damage", async () => {
    const b = await bench();
    const entry = { ...b.entry, digests: {} };
    await writeFile(`${b.staged}.part`, Buffer.alloc(1000));
    const side = { validator: entityTagOf(BYTES), locator: entry.locator, size: entry.size };
    await writeFile(`${b.staged}.part.json`, JSON.stringify(side));
    await b.download(freeSignal(), {}, entry);
    await expectWhole(b);
  });

  test('a small file is resumed within one call and leaves nothing behind when it fails', async () => {
    const bytes = seededBytes('small', 800_000);
    const b = await bench(
      [
        { kind: 'truncate', afterBytes: 300_000 },
        { kind: 'stall', afterBytes: 100 },
      ],
      { bytes },
    );
    await b.download();
    await expectWhole(b, bytes);
    expect(b.server.requests.map((request) => request.headers.range)).toEqual([
      undefined,
      'bytes=300000-',
      'bytes=300100-',
    ]);
    const failing = await bench([{ kind: 'truncate', afterBytes: 1000, times: 3 }], { bytes });
    expect((await upstreamErrorOf(failing.download())).code).toBe('upstream_truncated');
    const wrong = await bench([{ kind: 'wrong-bytes', times: 2 }], { bytes });
    expect((await upstreamErrorOf(wrong.download())).code).toBe('digest_mismatch');
    for (const failed of [failing, wrong]) expect(await readdir(dirname(failed.staged))).toEqual([]);
  });

  test('replaces any file of an earlier process under the staged name', async () => {
    const bytes = seededBytes('small', 1000);
    const b = await bench([], { bytes });
    await writeFile(b.staged, 'x'.repeat(5000));
    await b.download();
    await expectWhole(b, bytes);
  });

  test('errors of the file system keep their code', async () => {
    const b = await bench();
    const deps = { adapter: b.adapter, pool, clock: b.sleeps as never };
    const downloader = createDownloader({
      ...deps,
      logger: { warn: () => undefined },
      limits: configure(SETTINGS),
    });
    const missing = join(dirname(b.staged), 'missing', 'staged');
    await expect(downloader.download(b.entry, missing, freeSignal(), () => undefined)).rejects.toMatchObject({
      code: 'ENOENT',
    });
  });
});

async function* abortAfter(
  chunks: AsyncIterable<Uint8Array>,
  bytes: number,
  controller: AbortController,
  reason: Error | null,
): AsyncGenerator<Uint8Array> {
  let received = 0;
  for await (const chunk of chunks) {
    received += chunk.length;
    yield chunk;
    if (received >= bytes && !controller.signal.aborted) controller.abort(reason ?? undefined);
  }
}

describe('releaseChunk', () => {
  test('frees a chunk that has its memory to itself', () => {
    const chunk = Buffer.allocUnsafeSlow(100);
    releaseChunk(chunk);
    expect(chunk.byteLength).toBe(0);
  });

  test('keeps memory that others may use', () => {
    const shared = Buffer.alloc(100, 7);
    const part = Buffer.from(shared.buffer, shared.byteOffset, 99);
    releaseChunk(part);
    expect(part.every((byte) => byte === 7)).toBe(true);
    const across = new Uint8Array(new SharedArrayBuffer(4));
    releaseChunk(across);
    expect(across.byteLength).toBe(4);
    releaseChunk(new Uint8Array(0));
  });
});
