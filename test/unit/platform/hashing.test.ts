import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstat, open, readdir, readFile, symlink, writeFile, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { crc32 } from 'node:zlib';
import * as fc from 'fast-check';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { createRandom } from '../../../demo/game/seeded-random.ts';
import { BLOCK_BYTES, SINGLE_BLOCK_MAX_BYTES } from '../../../src/domain/release/blocks.ts';
import { blake3Hex, loadNativeBlake3, loadWebAssemblyBlake3 } from '../../../src/platform/hashing/blake3.ts';
import { createCrc64 } from '../../../src/platform/hashing/crc64.ts';
import { createDigestSet } from '../../../src/platform/hashing/digest-set.ts';
import { STAGED_MAX_BYTES } from '../../../src/platform/hashing/digests.ts';
import { createHashPool } from '../../../src/platform/hashing/hash-pool.ts';
import { blake3OfText } from '../../../src/platform/hashing/text-blake3.ts';
import { blockListOf } from '../../support/block-list-of.ts';
import { crc64Decimal } from '../../support/crc64-decimal.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** The input of the official test vectors: bytes 0 to 250, repeated. */
function vectorInput(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, i) => i % 251));
}

// First 32 bytes of "hash" in test_vectors/test_vectors.json of BLAKE3-team/BLAKE3.
const VECTORS: readonly (readonly [number, string])[] = [
  [0, 'af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262'],
  [1, '2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213'],
  [1024, '42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7'],
  [1025, 'd00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444'],
];

describe('digests', () => {
  describe('BLAKE3', () => {
    it.each(VECTORS)(
      'gives the official digest of %i bytes, by every implementation',
      async (length, expected) => {
        const input = vectorInput(length);
        expect(blake3Hex(input)).toBe(expected);
        for (const implementation of [await loadNativeBlake3(), await loadWebAssemblyBlake3()]) {
          const hasher = implementation.create();
          hasher.update(input);
          expect(hasher.digest().toString('hex'), implementation.name).toBe(expected);
        }
      },
    );

    it('gives the same by both implementations, however the bytes are split and hashers are mixed', async () => {
      const native = await loadNativeBlake3();
      const wasm = await loadWebAssemblyBlake3();
      fc.assert(
        fc.property(
          fc.array(fc.tuple(fc.boolean(), fc.uint8Array({ maxLength: 3000 })), { maxLength: 12 }),
          (steps) => {
            const [left, right] = [wasm.create(), wasm.create()];
            const [expectedLeft, expectedRight] = [native.create(), native.create()];
            for (const [toLeft, bytes] of steps) {
              (toLeft ? left : right).update(bytes);
              (toLeft ? expectedLeft : expectedRight).update(bytes);
            }
            expect(left.digest()).toEqual(expectedLeft.digest());
            expect(right.digest()).toEqual(expectedRight.digest());
          },
        ),
        { numRuns: 50 },
      );
    });

    it('starts again after a reset', async () => {
      for (const implementation of [await loadNativeBlake3(), await loadWebAssemblyBlake3()]) {
        const hasher = implementation.create();
        hasher.update(Buffer.from('something else'));
        hasher.reset();
        hasher.update(vectorInput(1025));
        expect(hasher.digest().toString('hex'), implementation.name).toBe(VECTORS[3]?.[1]);
      }
    });
  });

  describe('CRC-64/XZ', () => {
    it('gives the check value of the catalogue of CRC algorithms', async () => {
      expect(await crc64Decimal(Buffer.from('123456789'))).toBe('11051210869376104954');
      expect(await crc64Decimal(Buffer.alloc(0))).toBe('0');
    });

    it('does not depend on how the bytes are split, and can be used again', async () => {
      const crc = await createCrc64();
      for (const cut of [1, 4, 8]) {
        crc.reset();
        crc.update(Buffer.from('123456789').subarray(0, cut));
        crc.update(Buffer.from('123456789').subarray(cut));
        expect(crc.digest()).toBe('11051210869376104954');
      }
    });
  });
});

describe('a set of digests', () => {
  it('tells each digest that it has, also after it grew many times', () => {
    const set = createDigestSet();
    const digests = Array.from({ length: 20_000 }, (_, number) => blake3OfText(String(number)));
    expect(digests.filter((digest) => !set.add(digest))).toEqual([]);
    expect(digests.filter((digest) => set.add(digest))).toEqual([]);
  });

  it('tells digests apart that differ in one of the first 8 bytes, and keeps those that begin with zeros', () => {
    const set = createDigestSet();
    const zeros = new Uint8Array(16);
    expect([set.add(zeros), set.add(zeros)]).toEqual([true, false]);
    for (let byte = 0; byte < 8; byte += 1) {
      const other = new Uint8Array(16);
      other[byte] = 0x80;
      expect([set.add(other), set.add(other)]).toEqual([true, false]);
    }
  });

  it('reads a digest that is a part of a larger buffer', () => {
    const set = createDigestSet();
    const bytes = Uint8Array.from({ length: 32 }, (_, number) => number);
    expect(set.add(bytes.subarray(0, 16))).toBe(true);
    expect(set.add(bytes.subarray(16))).toBe(true);
    expect(set.add(bytes.slice(16))).toBe(false);
  });
});

async function fileOf(bytes: Buffer): Promise<FileHandle> {
  const path = join(await temporaryDirectory(), 'file');
  await writeFile(path, bytes);
  const file = await open(path, 'r+');
  onTestFinished(async () => {
    await file.close();
  });
  return file;
}

describe('hashing on threads', () => {
  const pool = createHashPool({ threads: 2 });
  afterAll(async () => {
    await pool.close();
  });

  describe('hashFile', () => {
    it.each([
      0,
      1,
      128 * 1024,
      SINGLE_BLOCK_MAX_BYTES,
      SINGLE_BLOCK_MAX_BYTES + 1,
      3 * SINGLE_BLOCK_MAX_BYTES + 77,
    ])('computes every digest of %i bytes in one pass', async (size) => {
      const bytes = createRandom(size + 1).bytes(size);
      const file = await fileOf(bytes);
      const digests = await pool.hashFile(file.fd, { blocks: true, extra: ['sha256', 'md5', 'crc32'] });
      expect(digests).toMatchObject({
        size,
        blake3: blake3Hex(bytes),
        crc64: await crc64Decimal(bytes),
        extra: {
          sha256: createHash('sha256').update(bytes).digest('hex'),
          md5: createHash('md5').update(bytes).digest('hex'),
          crc32: String(crc32(bytes)),
        },
      });
      expect(digests.blocks === null ? null : Buffer.from(digests.blocks)).toEqual(
        size > SINGLE_BLOCK_MAX_BYTES ? blockListOf(bytes) : null,
      );
      for (const fromDisk of [false, true]) {
        expect(await pool.hashContent(file.fd, { blocks: false, fromDisk })).toEqual({
          size,
          blake3: digests.blake3,
          blocks: null,
        });
      }
    });

    it('keeps the code of the file system error', async () => {
      await expect(pool.hashFile(1_000_000, { blocks: false, extra: [] })).rejects.toMatchObject({
        code: 'EBADF',
      });
    });

    it('ends with the reason of the signal, both running and queued', async () => {
      const file = await fileOf(Buffer.alloc(0));
      await file.truncate(4 * 1024 ** 3);
      const lone = createHashPool({ threads: 1 });
      onTestFinished(async () => {
        await lone.close();
      });
      // The worker runs before it gets the long work.
      await lone.hashBlocks(file.fd, { start: 0, end: 1 });
      const abort = new AbortController();
      const reason = new Error('no longer needed');
      const atWork = lone.hashFile(file.fd, { blocks: false, extra: [] }, abort.signal);
      const queued = lone.hashFile(file.fd, { blocks: false, extra: [] }, abort.signal);
      const outcomes = Promise.allSettled([atWork, queued]);
      abort.abort(reason);
      expect(await outcomes).toEqual([
        { status: 'rejected', reason },
        { status: 'rejected', reason },
      ]);
      await expect(lone.hashFile(file.fd, { blocks: false, extra: [] }, abort.signal)).rejects.toBe(reason);
      // The worker is free again.
      expect((await lone.hashBlocks(file.fd, { start: 0, end: 1 })).size).toBe(1);
    });

    it('runs many concurrently and mixes nothing up', async () => {
      const files = await Promise.all(
        Array.from({ length: 20 }, async (_, i) => await fileOf(Buffer.from(`content ${i}`))),
      );
      const digests = await Promise.all(
        files.map(async (file) => await pool.hashContent(file.fd, { blocks: true, fromDisk: true })),
      );
      expect(digests.map(({ blake3 }) => blake3)).toEqual(
        files.map((_, i) => blake3Hex(Buffer.from(`content ${i}`))),
      );
    });
  });

  describe('hashBlocks', () => {
    it('hashes each block of a span, fewer where the file ends', async () => {
      const bytes = createRandom(3).bytes(SINGLE_BLOCK_MAX_BYTES + 500);
      const file = await fileOf(bytes);
      for (const [start, end] of [
        [0, 1],
        [0, bytes.length],
        [BLOCK_BYTES, 3 * BLOCK_BYTES],
        [BLOCK_BYTES, BLOCK_BYTES + 4711],
        [SINGLE_BLOCK_MAX_BYTES, SINGLE_BLOCK_MAX_BYTES + 500],
        [SINGLE_BLOCK_MAX_BYTES, SINGLE_BLOCK_MAX_BYTES + BLOCK_BYTES],
        [2 * SINGLE_BLOCK_MAX_BYTES, 3 * SINGLE_BLOCK_MAX_BYTES],
      ] as const) {
        const expected = bytes.subarray(start, end);
        const found = await pool.hashBlocks(file.fd, { start, end });
        expect(found.size).toBe(expected.length);
        const digests: string[] = [];
        for (let at = 0; at < expected.length; at += BLOCK_BYTES)
          digests.push(blake3Hex(expected.subarray(at, at + BLOCK_BYTES)));
        expect(Buffer.from(found.digests).toString('hex')).toBe(digests.join(''));
      }
    });

    it('refuses a span that is empty or does not begin at a block', async () => {
      for (const [start, end] of [
        [1, BLOCK_BYTES],
        [BLOCK_BYTES, 4],
        [0, 0],
        [-BLOCK_BYTES, 3],
      ] as const) {
        await expect(pool.hashBlocks(0, { start, end })).rejects.toThrow(RangeError);
      }
    });
  });

  describe('the pool', () => {
    it('fails pending calls when it is closed, and accepts nothing afterwards', async () => {
      const file = await fileOf(Buffer.alloc(0));
      await file.truncate(4 * 1024 ** 3);
      const lone = createHashPool({ threads: 1 });
      const atWork = lone.hashFile(file.fd, { blocks: false, extra: [] });
      const queued = lone.hashFile(file.fd, { blocks: false, extra: [] });
      const outcomes = Promise.allSettled([atWork, queued]);
      await lone.close();
      expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
      await expect(lone.hashBlocks(file.fd, { start: 0, end: 1 })).rejects.toThrow('closed');
    });

    it('does not keep an idle process alive, but does while it works', () => {
      const source = `
      import { openSync } from 'node:fs';
      import { createHashPool } from ${JSON.stringify(new URL('../../../src/platform/hashing/hash-pool.ts', import.meta.url).href)};
      const pool = createHashPool({ threads: 2 });
      const fd = openSync(process.execPath, 'r');
      void pool.hashFile(fd, { blocks: false, extra: [] }).then(() => console.log('hashed'));
    `;
      const child = spawnSync(process.execPath, ['--input-type=module-typescript', '--eval', source], {
        timeout: 170_000,
        encoding: 'utf8',
      });
      expect(child.stdout).toBe('hashed\n');
      expect(child.status).toBe(0);
    });
  });
});

function bufferOf(bytes: Uint8Array): ArrayBuffer {
  const buffer = new ArrayBuffer(STAGED_MAX_BYTES);
  new Uint8Array(buffer).set(bytes);
  return buffer;
}

describe('stageFile', () => {
  const pool = createHashPool({ threads: 1 });
  afterAll(async () => {
    await pool.close();
  });

  it.each([0, 1, 128 * 1024 + 1, STAGED_MAX_BYTES])(
    'writes %i bytes read-only, gives their digests and the buffer back',
    async (size) => {
      const bytes = createRandom(size + 1).bytes(size);
      const path = join(await temporaryDirectory(), 'staged');
      const given = bufferOf(bytes);
      const { digests, buffer } = await pool.stageFile(path, given, size, { extra: ['sha256'] });
      expect(digests).toEqual({
        size,
        blake3: blake3Hex(bytes),
        blocks: null,
        crc64: await crc64Decimal(bytes),
        extra: { sha256: createHash('sha256').update(bytes).digest('hex') },
      });
      expect((await readFile(path)).equals(bytes)).toBe(true);
      expect((await lstat(path)).mode & 0o777).toBe(0o444);
      expect([given.byteLength, buffer.byteLength]).toEqual([0, STAGED_MAX_BYTES]);
    },
  );

  it('replaces a read-only file of an earlier attempt, and a link without following it', async () => {
    const directory = await temporaryDirectory();
    const path = join(directory, 'staged');
    const target = join(directory, 'target');
    const stage = async (text: string): Promise<unknown> =>
      await pool.stageFile(path, bufferOf(Buffer.from(text)), text.length, { extra: [] });
    await stage('a longer text');
    await stage('short');
    expect(await readFile(path, 'utf8')).toBe('short');
    await writeFile(target, 'untouched');
    await symlink(target, join(directory, 'link'));
    await pool.stageFile(join(directory, 'link'), bufferOf(Buffer.from('x')), 1, { extra: [] });
    expect(await readFile(target, 'utf8')).toBe('untouched');
    expect((await lstat(join(directory, 'link'))).isFile()).toBe(true);
  });

  it('stages many files concurrently, each under its own digest', async () => {
    const directory = await temporaryDirectory();
    const texts = Array.from({ length: 40 }, (_, index) => `text ${index}`);
    const staged = await Promise.all(
      texts.map(async (text, index) => {
        const buffer = bufferOf(Buffer.from(text));
        return await pool.stageFile(join(directory, String(index)), buffer, text.length, { extra: [] });
      }),
    );
    expect(staged.map(({ digests }) => digests.blake3)).toEqual(
      texts.map((text) => blake3Hex(Buffer.from(text))),
    );
    expect(await readdir(directory)).toHaveLength(40);
  });

  it('keeps the code of an error, and refuses invalid lengths', async () => {
    const path = join(await temporaryDirectory(), 'absent', 'staged');
    const buffer = new ArrayBuffer(8);
    for (const length of [-1, 0.5, 9]) {
      await expect(pool.stageFile(path, buffer, length, { extra: [] })).rejects.toThrow(RangeError);
    }
    await expect(pool.stageFile(path, buffer, 8, { extra: [] })).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('does not start when the signal is aborted, even from the queue', async () => {
    const directory = await temporaryDirectory();
    const path = join(directory, 'staged');
    const abort = new AbortController();
    const busy = Array.from(
      { length: 8 },
      async (_, index) =>
        await pool.stageFile(join(directory, `busy-${index}`), new ArrayBuffer(8), 8, { extra: [] }),
    );
    const queued = pool.stageFile(path, new ArrayBuffer(8), 8, { extra: [], signal: abort.signal });
    abort.abort(new Error('stopped'));
    await expect(queued).rejects.toThrow('stopped');
    await Promise.all(busy);
    await expect(
      pool.stageFile(path, new ArrayBuffer(8), 8, { extra: [], signal: abort.signal }),
    ).rejects.toThrow('stopped');
    expect(await readdir(dirname(path))).not.toContain('staged');
  });
});

describe('the digest of a text', () => {
  it('gives the digest of the bytes in UTF-8, for a text of any length', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 5000 }), (text) => {
        expect(Buffer.from(blake3OfText(text)).toString('hex')).toBe(blake3Hex(Buffer.from(text)));
      }),
    );
  });

  it('gives digests that later calls do not change', () => {
    const first = blake3OfText('第一話');
    const copy = first.slice();
    blake3OfText('第二話');
    expect(first).toEqual(copy);
  });
});
