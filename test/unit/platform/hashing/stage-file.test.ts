import { createHash } from 'node:crypto';
import { lstat, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createRandom } from '../../../../src/cli/dev/seeded-random.ts';
import { BLOCK_SIZE } from '../../../../src/domain/release/blocks.ts';
import { blake3Hex } from '../../../../src/platform/hashing/blake3.ts';
import { crc64Decimal } from '../../../support/crc64-decimal.ts';
import { createHashPool } from '../../../../src/platform/hashing/hash-pool.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const pool = createHashPool({ threads: 1 });
afterAll(async () => {
  await pool.close();
});

function bufferOf(bytes: Uint8Array): ArrayBuffer {
  const buffer = new ArrayBuffer(BLOCK_SIZE);
  new Uint8Array(buffer).set(bytes);
  return buffer;
}

describe('stageFile', () => {
  it.each([0, 1, 128 * 1024 + 1, BLOCK_SIZE])(
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
      expect([given.byteLength, buffer.byteLength]).toEqual([0, BLOCK_SIZE]);
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
