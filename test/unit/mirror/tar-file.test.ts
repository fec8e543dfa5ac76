import { describe, expect, it } from 'vitest';
import {
  listTar,
  TAR_END,
  TarError,
  tarHeader,
  tarPadding,
  type TarMember,
} from '../../../src/mirror/bundle/tar-file.ts';

const FILE = Buffer.concat([tarHeader('a', 3), Buffer.from('one'), tarPadding(3)]);

async function list(...parts: readonly Buffer[]): Promise<readonly TarMember[] | string> {
  const archive = Buffer.concat(parts);
  try {
    return await listTar(
      async (start, end) => await Promise.resolve(archive.subarray(start, end)),
      archive.length,
    );
  } catch (error) {
    if (error instanceof TarError) return error.message;
    throw error;
  }
}

describe('the end of an archive', () => {
  const members = [{ path: 'a', offset: 512, size: 3 }];

  it.each([
    ['is left out', []],
    ['is two empty blocks', [TAR_END]],
    ['fills a record', [TAR_END, Buffer.alloc(8 * 1024)]],
  ])('%s', async (_what, end) => {
    expect(await list(FILE, ...end)).toEqual(members);
  });

  it.each([
    ['a second archive', [FILE, TAR_END]],
    ['a byte', [Buffer.alloc(100), Buffer.from([1])]],
    ['more empty blocks than a record has', [Buffer.alloc(1024 * 1024)]],
  ])('is not followed by %s', async (_what, rest) => {
    expect(await list(FILE, TAR_END, ...rest)).toBe('other bytes follow the archive, which ends at 1024');
  });
});
