import { createHash } from 'node:crypto';
import { open, writeFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import process from 'node:process';
import { crc32 } from 'node:zlib';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { BLOCK_SIZE } from '../../../../src/domain/release/blocks.ts';
import { blake3Hex } from '../../../../src/platform/hashing/blake3.ts';
import { crc64Decimal } from '../../../support/crc64-decimal.ts';
import { createHashPool } from '../../../../src/platform/hashing/hash-pool.ts';
import { createRandom } from '../../../../src/cli/dev/seeded-random.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const pool = createHashPool({ threads: 2 });
afterAll(async () => {
  await pool.close();
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

describe('hashFile', () => {
  it.each([0, 1, 128 * 1024, BLOCK_SIZE, BLOCK_SIZE + 1, 3 * BLOCK_SIZE + 77])(
    'computes every digest of %i bytes in one pass',
    async (size) => {
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
      const blocks: string[] = [];
      for (let start = 0; start < size; start += BLOCK_SIZE) {
        blocks.push(blake3Hex(bytes.subarray(start, start + BLOCK_SIZE)));
      }
      expect(digests.blocks === null ? null : Buffer.from(digests.blocks).toString('hex')).toBe(
        size > BLOCK_SIZE ? blocks.join('') : null,
      );
      expect(await pool.hashContent(file.fd, { blocks: false })).toEqual({
        size,
        blake3: digests.blake3,
        blocks: null,
      });
    },
  );

  it('keeps the code of the file system error', async () => {
    await expect(pool.hashFile(1_000_000, { blocks: false, extra: [] })).rejects.toMatchObject({
      code: 'EBADF',
    });
  });

  it('ends with the reason of the signal, both running and queued', async () => {
    const file = await fileOf(Buffer.alloc(0));
    await file.truncate(4 * 1024 * BLOCK_SIZE);
    const lone = createHashPool({ threads: 1 });
    onTestFinished(async () => {
      await lone.close();
    });
    const abort = new AbortController();
    const reason = new Error('no longer needed');
    const atWork = lone.hashFile(file.fd, { blocks: false, extra: [] }, abort.signal);
    const queued = lone.hashFile(file.fd, { blocks: false, extra: [] }, abort.signal);
    const outcomes = Promise.allSettled([atWork, queued]);
    // The answer to a block proves that the worker runs; it overtakes the current file of the worker.
    const block = await lone.hashBlock(file.fd, 0, 10);
    expect(block.bytes).toEqual(Buffer.alloc(10));
    abort.abort(reason);
    expect(await outcomes).toEqual([
      { status: 'rejected', reason },
      { status: 'rejected', reason },
    ]);
    await expect(lone.hashFile(file.fd, { blocks: false, extra: [] }, abort.signal)).rejects.toBe(reason);
    // The worker is free again.
    expect((await lone.hashBlock(file.fd, 5, 6)).bytes).toEqual(Buffer.alloc(1));
  });

  it('runs many concurrently and mixes nothing up', async () => {
    const files = await Promise.all(
      Array.from({ length: 20 }, async (_, i) => await fileOf(Buffer.from(`content ${i}`))),
    );
    const digests = await Promise.all(
      files.map(async (file) => await pool.hashContent(file.fd, { blocks: true })),
    );
    expect(digests.map(({ blake3 }) => blake3)).toEqual(
      files.map((_, i) => blake3Hex(Buffer.from(`content ${i}`))),
    );
  });
});

describe('hashContent', () => {
  it('hashes only a span, fewer bytes where the file ends', async () => {
    const bytes = createRandom(4).bytes(BLOCK_SIZE + 500);
    const file = await fileOf(bytes);
    for (const [start, end] of [
      [0, BLOCK_SIZE],
      [BLOCK_SIZE, BLOCK_SIZE + 500],
      [200_000, 200_001],
      [BLOCK_SIZE + 400, BLOCK_SIZE + 900],
      [7, 7],
    ] as const) {
      const expected = bytes.subarray(start, end);
      expect(await pool.hashContent(file.fd, { blocks: false, span: { start, end } })).toEqual({
        size: expected.length,
        blake3: blake3Hex(expected),
        blocks: null,
      });
    }
  });
});

describe('hashBlock', () => {
  it('returns the bytes of the span with their digest, fewer where the file ends', async () => {
    const bytes = createRandom(3).bytes(BLOCK_SIZE + 500);
    const file = await fileOf(bytes);
    for (const [start, end] of [
      [0, 0],
      [0, BLOCK_SIZE],
      [BLOCK_SIZE, 2 * BLOCK_SIZE],
      [BLOCK_SIZE + 500, BLOCK_SIZE + 600],
      [17, 4711],
    ] as const) {
      const expected = bytes.subarray(start, end);
      const block = await pool.hashBlock(file.fd, start, end);
      expect(block.bytes.equals(expected)).toBe(true);
      expect(Buffer.from(block.blake3).toString('hex')).toBe(blake3Hex(expected));
    }
  });

  it('refuses an invalid span or one of more than a block', async () => {
    for (const [start, end] of [
      [0, BLOCK_SIZE + 1],
      [5, 4],
      [-1, 3],
    ] as const) {
      await expect(pool.hashBlock(0, start, end)).rejects.toThrow(RangeError);
    }
  });
});

describe('the pool', () => {
  it('fails pending calls when it is closed, and accepts nothing afterwards', async () => {
    const file = await fileOf(Buffer.alloc(0));
    await file.truncate(4 * 1024 * BLOCK_SIZE);
    const lone = createHashPool({ threads: 1 });
    const atWork = lone.hashFile(file.fd, { blocks: false, extra: [] });
    const queued = lone.hashFile(file.fd, { blocks: false, extra: [] });
    const outcomes = Promise.allSettled([atWork, queued]);
    await lone.close();
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(lone.hashBlock(file.fd, 0, 1)).rejects.toThrow('closed');
  });

  it('does not keep an idle process alive, but does while it works', () => {
    const source = `
      import { openSync } from 'node:fs';
      import { createHashPool } from ${JSON.stringify(new URL('../../../../src/platform/hashing/hash-pool.ts', import.meta.url).href)};
      const pool = createHashPool({ threads: 2 });
      const fd = openSync(process.execPath, 'r');
      void pool.hashFile(fd, { blocks: false, extra: [] }).then(() => console.log('hashed'));
    `;
    const child = spawnSync(process.execPath, ['--input-type=module-typescript', '--eval', source], {
      timeout: 15_000,
      encoding: 'utf8',
    });
    expect(child.stdout).toBe('hashed\n');
    expect(child.status).toBe(0);
  });
});
