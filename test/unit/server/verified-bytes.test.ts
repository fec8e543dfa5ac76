import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFile,
  chmod,
  link,
  mkdir,
  open,
  rename,
  rm,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { BLOCK_BYTES } from '../../../src/domain/release/blocks.ts';
import type { ManifestEntry } from '../../../src/domain/release/manifest.ts';
import { extentSpan } from '../../../src/server/bytes/extents.ts';
import { ObjectFault } from '../../../src/snapshot/objects/object-fault.ts';
import { createObjectSource, type ObjectSource } from '../../../src/snapshot/objects/object-source.ts';
import { blockListPath, objectPath } from '../../../src/snapshot/volume/layout.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { fakeRelease } from '../../fakes/fake-serving.ts';
import {
  CDN_HOST,
  patternBytes,
  serveFiles,
  startCdn,
  storeObject,
  type CdnFixture,
} from '../../support/cdn-fixture.ts';
import { startFronted } from '../../support/fast-path-fixture.ts';
import { openSocket, rawRequest } from '../../support/raw-http.ts';
import { until } from '../../support/until.ts';

const MIB = 1024 * 1024;

const small = patternBytes(5000);
const large = patternBytes(3 * MIB + 77, 2);

async function startWithFiles(
  options: Parameters<typeof startCdn>[0] = {},
): Promise<
  CdnFixture & { small: ManifestEntry; large: ManifestEntry; smallPath: string; largePath: string }
> {
  const cdn = await startCdn(options);
  const entries = await serveFiles(cdn, { 'small.bin': small, 'large.bin': large });
  const [smallEntry, largeEntry] = [...entries.values()];
  if (smallEntry === undefined || largeEntry === undefined) throw new Error('two entries were stored');
  return {
    ...cdn,
    small: smallEntry,
    large: largeEntry,
    smallPath: objectPath(cdn.root, smallEntry.blake3),
    largePath: objectPath(cdn.root, largeEntry.blake3),
  };
}

/** Overwrites bytes in place, as damage or a hostile writer would. */
async function overwrite(path: string, position: number, bytes: Buffer): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.write(bytes, 0, bytes.length, position);
  } finally {
    await file.close();
  }
}

async function expectRefused(cdn: CdnFixture, path: string, reason: string): Promise<void> {
  const answer = await cdn.request('GET', path);
  expect(answer.status).toBe(503);
  expect(answer.headers['retry-after']).toBe('10');
  expect(answer.headers['cache-control']).toBe('no-store');
  expect(JSON.parse(answer.body.toString())).toMatchObject({ code: 'not_distributable', reason });
  expect(cdn.serving.reports.length).toBeGreaterThan(0);
}

describe('verified bytes', () => {
  describe('every read of the volume is hashed, and few are made', () => {
    test('concurrent readers of an extent share one read', async () => {
      const cdn = await startWithFiles();
      const answers = await Promise.all(
        Array.from({ length: 12 }, async () => await cdn.request('GET', 'large.bin')),
      );
      for (const answer of answers) expect(answer.body.equals(large)).toBe(true);
      const extents = [0, 1, 2, 3]
        .map((extent) => extentSpan(extent, large.length))
        .map(({ start, end }) => `${start}-${end}`);
      expect(new Set(cdn.reads)).toEqual(new Set(extents));
      // A reader that is ahead of all others reads an extent alone, and it is kept at the second request.
      for (const extent of extents)
        expect(cdn.reads.filter((read) => read === extent).length).toBeLessThanOrEqual(2);
    });

    test('a range reads the blocks around it, and the whole extent at the second request', async () => {
      const cdn = await startWithFiles();
      for (let i = 0; i < 3; i += 1) {
        const start = MIB + BLOCK_BYTES - 5;
        const { body } = await cdn.request('GET', 'large.bin', { range: `bytes=${start}-${start + 9}` });
        expect(body.equals(large.subarray(start, start + 10))).toBe(true);
      }
      expect(cdn.reads).toEqual([`${MIB}-${MIB + 2 * BLOCK_BYTES}`, `${MIB}-${2 * MIB}`]);
    });

    test('concurrent readers of a large object share one read of its block list', async () => {
      let lists = 0;
      const cdn = await startWithFiles({
        limits: { blockCacheBytes: 0 },
        source: (root) => {
          const source = createObjectSource(root);
          return {
            ...source,
            blockList: async (entry) => {
              lists += 1;
              return await source.blockList(entry);
            },
          };
        },
      });
      await Promise.all(
        Array.from({ length: 12 }, async (_, order) => {
          const range = `bytes=${order * 10_000}-${order * 10_000 + 9}`;
          expect((await cdn.request('GET', 'large.bin', { range })).status).toBe(206);
        }),
      );
      expect(lists).toBe(1);
    });

    test('a slow client does not read an object without a block list once for each slice', async () => {
      const cdn = await startWithFiles({ limits: { inFlightBytes: 0 } });
      const whole = patternBytes(MIB, 3);
      const entry = await storeObject(cdn.root, 'whole.bin', whole);
      cdn.serving.serve([fakeRelease({ releaseId: 'r1', entries: [entry] })]);
      expect((await cdn.request('GET', 'whole.bin')).body.equals(whole)).toBe(true);
      expect(cdn.reads).toEqual([`0-${MIB}`, `0-${MIB}`]);
    });

    test('a client that asks past caches gets what the volume has now', async () => {
      const cdn = await startWithFiles();
      cdn.serving.refuseDamaged = false;
      for (let i = 0; i < 3; i += 1) await cdn.request('GET', 'small.bin');
      await overwrite(cdn.smallPath, 100, Buffer.from('x'));
      expect((await cdn.request('GET', 'small.bin')).status).toBe(200);
      const fields = { 'cache-control': 'max-age=0, No-Cache' };
      expect((await cdn.request('GET', 'small.bin', fields)).status).toBe(503);
      expect(cdn.serving.reports).toMatchObject([{ kind: 'damaged' }]);
    });
  });

  describe('a file in another state', () => {
    test('a change of its metadata is not damage', async () => {
      const cdn = await startWithFiles({ limits: { blockCacheBytes: 0 } });
      await cdn.request('GET', 'small.bin');
      await chmod(cdn.smallPath, 0o400);
      await link(cdn.smallPath, `${cdn.smallPath}.other`);
      expect((await cdn.request('GET', 'small.bin')).body.equals(small)).toBe(true);
      expect((await cdn.request('GET', 'small.bin')).status).toBe(200);
      expect(cdn.reads).toEqual(Array(3).fill('0-5000'));
      expect(cdn.serving.reports).toEqual([]);
    });

    test('bytes changed in place are detected', async () => {
      const cdn = await startWithFiles({ limits: { blockCacheBytes: 0 } });
      expect((await cdn.request('GET', 'small.bin')).status).toBe(200);
      await overwrite(cdn.smallPath, 100, Buffer.from('x'));
      await expectRefused(cdn, 'small.bin', 'EntryDamaged');
      expect(cdn.serving.reports[0]).toMatchObject({
        destination: 'small.bin',
        blake3: cdn.small.blake3,
        kind: 'damaged',
      });
    });

    test('one changed block of a large file leaves the others', async () => {
      const cdn = await startWithFiles({ limits: { blockCacheBytes: 0 } });
      cdn.serving.refuseDamaged = false;
      await cdn.request('GET', 'large.bin');
      await overwrite(cdn.largePath, 2 * MIB + 1, Buffer.from([(large[2 * MIB + 1] ?? 0) ^ 1]));
      const first = await cdn.request('GET', 'large.bin', { range: 'bytes=0-99' });
      expect(first.body.equals(large.subarray(0, 100))).toBe(true);
      expect((await cdn.request('GET', 'large.bin', { range: `bytes=${2 * MIB}-${2 * MIB}` })).status).toBe(
        503,
      );
      expect((await cdn.request('GET', 'large.bin', { range: `bytes=${3 * MIB}-` })).status).toBe(206);
    });

    test('a file that became shorter while it was open', async () => {
      const cdn = await startWithFiles({ limits: { blockCacheBytes: 0 } });
      await cdn.request('GET', 'small.bin');
      await truncate(cdn.smallPath, 4000);
      await expectRefused(cdn, 'small.bin', 'EntryMissing');
    });

    test('a file that became longer while it was open still has the bytes of the entry, until it is opened again', async () => {
      const cdn = await startWithFiles({ limits: { blockCacheBytes: 0 } });
      await cdn.request('GET', 'small.bin');
      await appendFile(cdn.smallPath, 'x');
      expect((await cdn.request('GET', 'small.bin')).body.equals(small)).toBe(true);
      cdn.serving.serve([...cdn.serving.state().byReleaseId.values()]);
      await expectRefused(cdn, 'small.bin', 'EntryMissing');
    });

    test('a removed or replaced file is served from the open descriptor, in its verified bytes', async () => {
      const cdn = await startWithFiles({ limits: { blockCacheBytes: 0 } });
      await cdn.request('GET', 'small.bin');
      await writeFile(`${cdn.smallPath}.new`, patternBytes(5000, 99));
      await rename(`${cdn.smallPath}.new`, cdn.smallPath);
      expect((await cdn.request('GET', 'small.bin')).body.equals(small)).toBe(true);
      // A switch closes the descriptor; the file under the name is no longer the entry.
      cdn.serving.serve([...cdn.serving.state().byReleaseId.values()]);
      await expectRefused(cdn, 'small.bin', 'EntryDamaged');
    });

    test('a repaired object is served again, without a restart', async () => {
      const cdn = await startWithFiles();
      await overwrite(cdn.smallPath, 0, Buffer.from('damage'));
      await expectRefused(cdn, 'small.bin', 'EntryDamaged');
      await writeFile(`${cdn.smallPath}.new`, small);
      await rename(`${cdn.smallPath}.new`, cdn.smallPath);
      cdn.serving.reports.length = 0;
      expect((await cdn.request('GET', 'small.bin')).body.equals(small)).toBe(true);
    });
  });

  describe('damage that another part found', () => {
    test('drops the bytes in memory', async () => {
      const cdn = await startWithFiles();
      cdn.serving.refuseDamaged = false;
      for (let i = 0; i < 2; i += 1) await cdn.request('GET', 'large.bin');
      expect(await cdn.metric('slipway_cdn_block_cache_bytes')).toBe(large.length);
      cdn.serving.tellDamage({
        blake3: cdn.large.blake3,
        report: { destination: 'large.bin', blake3: cdn.large.blake3, kind: 'damaged', message: 'scrubbed' },
      });
      expect(await cdn.metric('slipway_cdn_block_cache_bytes')).toBe(0);
    });

    test('and that was repaired: the repaired file is opened, not the old one', async () => {
      const cdn = await startWithFiles({ limits: { blockCacheBytes: 0 } });
      await cdn.request('GET', 'small.bin');
      await overwrite(cdn.smallPath, 0, Buffer.from('rot'));
      await writeFile(`${cdn.smallPath}.new`, small);
      await rename(`${cdn.smallPath}.new`, cdn.smallPath);
      cdn.serving.tellDamage({ blake3: cdn.small.blake3, report: null });
      expect((await cdn.request('GET', 'small.bin')).body.equals(small)).toBe(true);
      expect(cdn.serving.reports).toEqual([]);
    });

    test('and that was repaired in the middle of a download: it continues with the repaired file', async () => {
      const cdn = await startWithFiles({ limits: { blockCacheBytes: 0 } });
      const reader = await cdn.handler.parts.reader.open(cdn.large, 1, 'official');
      const read = async (start: number): Promise<Buffer> =>
        await reader.read({ start, end: start + 10 }, { keep: false, fromVolume: false });
      expect((await read(0)).equals(large.subarray(0, 10))).toBe(true);
      await overwrite(cdn.largePath, MIB + 3, Buffer.from([(large[MIB + 3] ?? 0) ^ 1]));
      await writeFile(`${cdn.largePath}.new`, large);
      await rename(`${cdn.largePath}.new`, cdn.largePath);
      expect((await read(MIB)).equals(large.subarray(MIB, MIB + 10))).toBe(true);
      expect(cdn.serving.reports).toEqual([]);
      reader.release();
      cdn.handler.close();
      await until(async () => (await cdn.metric('slipway_cdn_open_descriptors')) === 0);
    });
  });

  describe('a path that is not an object of the store is not read', () => {
    test.each<[string, (path: string) => unknown]>([
      ['missing', async () => undefined],
      ['a directory', async (path) => await mkdir(path)],
      ['a FIFO', (path) => execFileSync('mkfifo', [path])],
      [
        'a symbolic link to the very bytes',
        async (path) => {
          await writeFile(`${path}.real`, small);
          await symlink(`${path}.real`, path);
        },
      ],
      ['shorter', async (path) => await writeFile(path, small.subarray(1))],
      ['longer', async (path) => await writeFile(path, Buffer.concat([small, Buffer.from('x')]))],
      ['empty', async (path) => await writeFile(path, '')],
    ])('%s', async (_name, replace) => {
      const cdn = await startWithFiles();
      await rm(cdn.smallPath);
      await replace(cdn.smallPath);
      expect((await cdn.request('HEAD', 'small.bin')).status).toBe(503);
      cdn.serving.reports.length = 0;
      await expectRefused(cdn, 'small.bin', 'EntryMissing');
      expect(cdn.serving.reports[0]).toMatchObject({ kind: 'missing' });
      expect(await cdn.metric('slipway_cdn_open_descriptors')).toBe(0);
    });

    test.each<[string, (path: string) => Promise<void>]>([
      ['missing', async (path) => await rm(path)],
      ['changed', async (path) => await overwrite(path, 5, Buffer.from('x'))],
      ['shorter', async (path) => await truncate(path, 32)],
    ])('a block list that is %s', async (_name, spoil) => {
      const cdn = await startWithFiles();
      await spoil(blockListPath(cdn.root, cdn.large.blake3));
      const answer = await cdn.request('GET', 'large.bin', { range: 'bytes=0-0' });
      expect(answer.status).toBe(503);
      expect(cdn.serving.reports).toHaveLength(1);
    });
  });

  test('damage in the first block is found before the head is sent, in a later one the connection is cut', async () => {
    const cdn = await startWithFiles();
    cdn.serving.refuseDamaged = false;
    await overwrite(cdn.largePath, 2 * MIB + 500, Buffer.from([(large[2 * MIB + 500] ?? 0) ^ 0xff]));
    const answer = await cdn.request('GET', 'large.bin');
    expect(answer.status).toBe(200);
    expect(answer.headers['content-length']).toBe(String(large.length));
    expect(answer.body.length).toBeLessThanOrEqual(2 * MIB);
    expect(answer.body.equals(large.subarray(0, answer.body.length))).toBe(true);
    expect(cdn.serving.reports).toMatchObject([{ destination: 'large.bin', kind: 'damaged' }]);
    await overwrite(cdn.largePath, 1, Buffer.from([(large[1] ?? 0) ^ 0xff]));
    expect((await cdn.request('GET', 'large.bin')).status).toBe(503);
    expect(await cdn.metric('slipway_cdn_damage_total')).toBe(2);
    expect(await cdn.metric('slipway_cdn_in_flight_bytes')).toBe(0);
  });

  test.each([
    ['without a cache', 0],
    ['with a cache that has to let go all the time', 2.5 * MIB],
  ])('reused memory is never overwritten before its bytes are sent, %s', async (_name, cacheBytes) => {
    const cdn = await startWithFiles({ limits: { blockCacheBytes: cacheBytes } });
    const fileSize = large.length;
    const request = async (order: number): Promise<void> => {
      if (order % 4 === 3) {
        // The client disconnects in the middle: its buffers must not be returned while the network may still read them.
        const socket = await openSocket(cdn.port);
        socket.write(`GET /${CDN_HOST}/large.bin HTTP/1.1\r\nHost: a\r\n\r\n`);
        await once(socket, 'data');
        socket.destroy();
        return;
      }
      const start = order % 4 === 0 ? 0 : (order * 97_003) % (fileSize - 70_000);
      const end = order % 4 === 0 ? fileSize : start + 65_536;
      const { body } = await cdn.request('GET', 'large.bin', { range: `bytes=${start}-${end - 1}` });
      expect(body.equals(large.subarray(start, end))).toBe(true);
    };
    for (let round = 0; round < 4; round += 1) {
      await Promise.all(Array.from({ length: 24 }, async (_, order) => await request(order + 24 * round)));
    }
  });

  test('popular blocks come from memory, from their second request', async () => {
    const cdn = await startWithFiles();
    for (let i = 0; i < 3; i += 1) await cdn.request('GET', 'large.bin', { range: 'bytes=10-19' });
    expect(await cdn.metric('slipway_cdn_block_cache_misses_total')).toBe(2);
    expect(await cdn.metric('slipway_cdn_block_cache_hits_total')).toBe(1);
    expect(await cdn.metric('slipway_cdn_block_cache_bytes')).toBe(MIB);
    const answer = await cdn.request('GET', 'large.bin', { range: `bytes=${MIB - 7}-${MIB + 6}` });
    expect(answer.body.equals(large.subarray(MIB - 7, MIB + 7))).toBe(true);
    expect(await cdn.metric('slipway_cdn_block_cache_hits_total')).toBe(2);
  });

  test('without descriptors the answer is 503 overloaded; idle ones are closed first, and it recovers', async () => {
    let failures = 0;
    const cdn = await startWithFiles({
      source: (root): ObjectSource => {
        const source = createObjectSource(root);
        return {
          ...source,
          open: async (entry) => {
            if (failures === 0) return await source.open(entry);
            failures -= 1;
            throw new ObjectFault('exhausted', entry.blake3, 'too many open files', 'EMFILE');
          },
        };
      },
    });
    await cdn.request('GET', 'large.bin', { range: 'bytes=0-0' });
    failures = 1;
    expect((await cdn.request('GET', 'small.bin')).status).toBe(200);
    expect(await cdn.metric('slipway_cdn_open_descriptors')).toBe(1);
    cdn.serving.serve([...cdn.serving.state().byReleaseId.values()]);
    failures = 2;
    const answer = await cdn.request('GET', 'small.bin');
    expect(answer.status).toBe(503);
    expect(answer.headers['retry-after']).toBe('1');
    expect(JSON.parse(answer.body.toString())).toMatchObject({ code: 'overloaded' });
    expect(cdn.serving.reports).toEqual([]);
    expect((await cdn.request('GET', 'small.bin')).status).toBe(200);
  });

  test('slow clients hold one slice each when the budget is used up, and all bytes are right', async () => {
    const cdn = await startWithFiles({ limits: { inFlightBytes: 100_000 } });
    const answers = await Promise.all(
      Array.from({ length: 8 }, async () => await cdn.request('GET', 'large.bin')),
    );
    for (const answer of answers) expect(answer.body.equals(large)).toBe(true);
    expect(await cdn.metric('slipway_cdn_in_flight_bytes')).toBe(0);
  });

  describe('clients that disconnect or stall', () => {
    const huge = patternBytes(24 * MIB, 5);

    async function startHuge(clock?: FakeClock): Promise<CdnFixture> {
      const cdn = await startCdn(clock === undefined ? {} : { clock });
      const entry = await storeObject(cdn.root, 'huge.bin', huge);
      cdn.serving.serve([fakeRelease({ releaseId: 'r1', entries: [entry] })]);
      return cdn;
    }

    test('a client that leaves in the middle leaves nothing behind', async () => {
      const cdn = await startHuge();
      for (let i = 0; i < 20; i += 1) {
        const socket = await openSocket(cdn.port);
        socket.on('error', () => undefined);
        socket.write('GET /cdn.example/huge.bin HTTP/1.1\r\nHost: x\r\n\r\n');
        await once(socket, 'data');
        socket.resetAndDestroy();
      }
      await until(async () => (await cdn.metric('slipway_cdn_in_flight_bytes')) === 0);
      cdn.handler.close();
      await until(async () => (await cdn.metric('slipway_cdn_open_descriptors')) === 0);
      expect(cdn.serving.reports).toEqual([]);
    });

    test('a client that pauses gets the right bytes, whatever was read and released meanwhile', async () => {
      const cdn = await startCdn({ limits: { blockCacheBytes: 4 * MIB } });
      const entry = await storeObject(cdn.root, 'huge.bin', huge);
      cdn.serving.serve([fakeRelease({ releaseId: 'r1', entries: [entry] })]);
      for (let round = 0; round < 2; round += 1) await cdn.request('GET', 'huge.bin');
      const resting = await Promise.all(
        Array.from({ length: 4 }, async () => {
          const socket = await openSocket(cdn.port);
          socket.write(`GET /${CDN_HOST}/huge.bin HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
          await once(socket, 'readable');
          return socket;
        }),
      );
      await until(async () => (await cdn.metric('slipway_cdn_in_flight_bytes')) >= 4 * MIB);
      for (let round = 0; round < 3; round += 1) {
        expect((await cdn.request('GET', 'huge.bin')).body.equals(huge)).toBe(true);
      }
      for (const socket of resting) {
        const received = await buffer(socket);
        expect(received.subarray(received.indexOf('\r\n\r\n') + 4).equals(huge)).toBe(true);
      }
    });

    test('a client that reads nothing is cut off eventually, and holds at most two blocks', async () => {
      const clock = new FakeClock();
      const cdn = await startHuge(clock);
      const socket = await openSocket(cdn.port);
      socket.on('error', () => undefined);
      socket.pause();
      const [accepted] = await Promise.all([
        once(cdn.server, 'request'),
        new Promise((resolve) => {
          socket.write('GET /cdn.example/huge.bin HTTP/1.1\r\nHost: x\r\n\r\n', resolve);
        }),
      ]);
      const response = accepted[1] as ServerResponse;
      const closed = once(response, 'close');
      // The network accepts bytes until the buffers of the kernel are full. One check is not enough: on a busy machine
      // the network may not have accepted any bytes since the last one.
      let before = -1;
      let unchanged = 0;
      await until(async () => {
        const sent = await cdn.metric('slipway_cdn_sent_bytes_total');
        const isWaiting = (await cdn.metric('slipway_cdn_in_flight_bytes')) > 0;
        unchanged = isWaiting && sent === before ? unchanged + 1 : 0;
        before = sent;
        return unchanged === 20;
      });
      expect(await cdn.metric('slipway_cdn_in_flight_bytes')).toBeLessThanOrEqual(2 * MIB);
      await clock.advance(29_000);
      expect(response.destroyed).toBe(false);
      await clock.advance(600_000);
      await closed;
      expect(await cdn.metric('slipway_cdn_stalled_clients_total')).toBe(1);
      expect(await cdn.metric('slipway_cdn_in_flight_bytes')).toBe(0);
      socket.destroy();
    });

    test('a client that keeps reading is not cut off, however long it takes', async () => {
      const clock = new FakeClock();
      const cdn = await startHuge(clock);
      const socket = await openSocket(cdn.port);
      socket.write('GET /cdn.example/huge.bin HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
      let received = 0;
      for await (const chunk of socket) {
        received += (chunk as Buffer).length;
        await clock.advance(1000);
      }
      expect(received).toBeGreaterThan(huge.length);
    });

    test('a volume that never answers in the middle of a body: the connection is cut in two minutes, and the log says so', async () => {
      const clock = new FakeClock();
      const lines: string[] = [];
      const hang = Promise.withResolvers<never>();
      const cdn = await startWithFiles({
        clock,
        onLog: (line) => lines.push(line),
        source: (root) => {
          const source = createObjectSource(root);
          return {
            ...source,
            read: async (fd, start, memory) =>
              start < MIB ? await source.read(fd, start, memory) : await hang.promise,
          };
        },
      });
      const socket = await openSocket(cdn.port);
      const ended = once(socket, 'close');
      const received: Buffer[] = [];
      socket.on('error', () => undefined).on('data', (bytes: Buffer) => received.push(bytes));
      socket.write('GET /cdn.example/large.bin HTTP/1.1\r\nHost: x\r\n\r\n');
      await until(() => Buffer.concat(received).length > MIB);
      for (let second = 0; second < 119; second += 1) await clock.advance(1000);
      expect(socket.closed).toBe(false);
      for (let second = 0; second < 5; second += 1) await clock.advance(1000);
      await ended;
      const body = Buffer.concat(received);
      expect(body.subarray(body.indexOf('\r\n\r\n') + 4).equals(large.subarray(0, MIB))).toBe(true);
      expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual(
        expect.objectContaining({
          level: 'error',
          destination: 'large.bin',
          msg: expect.stringContaining('volume stopped answering during a response') as unknown,
        }),
      );
      expect(await cdn.metric('slipway_cdn_stalled_clients_total')).toBe(0);
      expect(cdn.handler.parts.drainWatch.watched).toBe(0);
      hang.reject(new ObjectFault('unreadable', cdn.large.blake3, 'the mount is gone', 'ESTALE'));
      await until(() => cdn.handler.parts.budget.used === 0);
    });

    test('a volume that does not answer gives 503 in time', async () => {
      const clock = new FakeClock();
      const hang = Promise.withResolvers<never>();
      const cdn = await startWithFiles({
        clock,
        source: (root) => ({ ...createObjectSource(root), open: async () => await hang.promise }),
      });
      const answer = cdn.request('GET', 'small.bin');
      await until(() => clock.sleeping > 0);
      await clock.advance(60_000);
      expect((await answer).status).toBe(503);
      hang.reject(new ObjectFault('unreadable', cdn.small.blake3, 'the mount is gone', 'ESTALE'));
      await until(() => cdn.serving.reports.length === 1);
    });
  });
});

const FILES = { 'small.bin': patternBytes(5000), 'large.bin': patternBytes(3 * MIB + 77, 2) };
type Name = keyof typeof FILES;

/** A volume whose bytes rot without a change of inode, size or time, as on a failing disk. */
async function startRotting(cacheBytes: number): Promise<{ cdn: CdnFixture; rot: () => void }> {
  let isRotten = false;
  const cdn = await startCdn({
    limits: { blockCacheBytes: cacheBytes },
    source: (root) => {
      const source = createObjectSource(root);
      return {
        ...source,
        read: async (fd, start, memory) => {
          const length = await source.read(fd, start, memory);
          if (isRotten) memory[Math.floor(length / 2)]! ^= 1;
          return length;
        },
      };
    },
  });
  cdn.serving.refuseDamaged = false;
  await serveFiles(cdn, FILES);
  return {
    cdn,
    rot: () => {
      isRotten = true;
    },
  };
}

interface Request {
  readonly method?: string;
  readonly file: Name;
  readonly fields?: Readonly<Record<string, string>>;
}

const REQUESTS: readonly (readonly [string, Request])[] = [
  ['a small file', { file: 'small.bin' }],
  ['a large file', { file: 'large.bin' }],
  ['a range', { file: 'large.bin', fields: { range: `bytes=${MIB + 10}-${MIB + 99_999}` } }],
  ['a small range', { file: 'small.bin', fields: { range: 'bytes=5-9' } }],
  ['several ranges', { file: 'large.bin', fields: { range: 'bytes=0-9,70000-70100,2000000-2000100' } }],
];

/** Sends a request and gives the whole answer, as far as it arrived. */
async function ask(port: number, { method = 'GET', file, fields }: Request): Promise<Buffer> {
  const socket = await openSocket(port);
  const received: Buffer[] = [];
  socket.on('error', () => undefined).on('data', (bytes: Buffer) => received.push(bytes));
  const head = Object.entries(fields ?? {}).map(([name, value]) => `${name}: ${value}\r\n`);
  // The fast path answers only while the connection stays open.
  socket.write(`${method} /${CDN_HOST}/${file} HTTP/1.1\r\nHost: h\r\n${head.join('')}\r\n`);
  socket.write(`HEAD /none HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`);
  await once(socket, 'close');
  return Buffer.concat(received);
}

describe.each([
  ['the fast path', true],
  ['the full server', false],
])('after the disk has rotted, %s', (_door, fast) => {
  describe.each([
    ['cold', 0],
    ['warm', 3],
    ['after HEAD', -1],
  ])('%s', (_state, before) => {
    test.each(REQUESTS)('sends no wrong byte of %s', async (_name, request) => {
      const { cdn, rot } = await startRotting(0);
      const { port } = await startFronted(cdn, { fast });
      for (let i = 0; i < before; i += 1) await ask(port, request);
      if (before < 0) await ask(port, { ...request, method: 'HEAD' });
      rot();
      const answer = await ask(port, request);
      expect(answer.toString('latin1').split(' ', 2)[1]).toBe('503');
      expect(cdn.serving.reports).toMatchObject([{ destination: request.file, kind: 'damaged' }]);
    });
  });

  test('sends what is in memory, which was hashed before the disk rotted, and drops it with the damage', async () => {
    const { cdn, rot } = await startRotting(64 * MIB);
    const { port } = await startFronted(cdn, { fast });
    const get = async (): ReturnType<typeof rawRequest> =>
      await rawRequest(port, 'GET', `/${CDN_HOST}/large.bin`);
    for (let i = 0; i < 3; i += 1) await get();
    rot();
    expect((await get()).body.equals(FILES['large.bin'])).toBe(true);
    const entry = [...cdn.serving.state().byReleaseId.values()].flatMap(({ index }) =>
      index.entry(index.find('large.bin')),
    );
    const { blake3 } = entry[0]!;
    const report = { destination: 'large.bin', blake3, kind: 'damaged' as const, message: 'scrubbed' };
    cdn.serving.tellDamage({ blake3, report });
    expect((await get()).status).toBe(503);
  });

  test('damage in the middle of a body ends the connection', async () => {
    const { cdn, rot } = await startRotting(0);
    const { port } = await startFronted(cdn, { fast });
    const socket = await openSocket(port);
    const received: Buffer[] = [];
    socket.on('error', () => undefined);
    socket.write(`GET /${CDN_HOST}/large.bin HTTP/1.1\r\nHost: h\r\n\r\n`);
    await once(socket, 'readable');
    rot();
    socket.on('data', (bytes: Buffer) => received.push(bytes));
    await once(socket, 'close');
    const answer = Buffer.concat(received);
    const body = answer.subarray(answer.indexOf('\r\n\r\n') + 4);
    expect(body.length).toBeLessThan(FILES['large.bin'].length);
    expect(body.equals(FILES['large.bin'].subarray(0, body.length))).toBe(true);
  });
});
