import { spawnSync } from 'node:child_process';
import { mkdir, rename, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BLOCK_SIZE } from '../../../../src/domain/release/blocks.ts';
import type { ManifestEntry } from '../../../../src/domain/release/manifest.ts';
import { blake3Hex } from '../../../../src/platform/hashing/blake3.ts';
import { readBlockList } from '../../../../src/snapshot/objects/block-list.ts';
import { blockListPath, objectPath } from '../../../../src/snapshot/volume/layout.ts';
import { objectFaultOf } from '../../../../src/snapshot/objects/object-fault.ts';
import { fileIdentity, openObject, sameIdentity } from '../../../../src/snapshot/objects/object-reader.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const BYTES = Buffer.from('the bytes of an object');
const BLAKE3 = blake3Hex(BYTES);

async function storeWith(bytes: Buffer): Promise<{ root: string; path: string }> {
  const root = await temporaryDirectory();
  const path = objectPath(root, blake3Hex(bytes));
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, bytes);
  return { root, path };
}

describe('openObject', () => {
  it('opens a regular file of the right size and reports when it changes', async () => {
    const { root, path } = await storeWith(BYTES);
    const object = await openObject({ root, blake3: BLAKE3, size: BYTES.length });
    expect(object.size).toBe(BYTES.length);
    expect(sameIdentity(object.identity, await fileIdentity(object.fd))).toBe(true);
    await utimes(path, 1, 1);
    expect(sameIdentity(object.identity, await fileIdentity(object.fd))).toBe(false);
    await object.close();
    await object.close();
    await expect(fileIdentity(object.fd)).rejects.toMatchObject({ code: 'EBADF' });
  });

  it.each([
    ['missing', async (path: string) => await rm(path)],
    ['missing', async (path: string) => await rm(dirname(path), { recursive: true })],
    ['size_mismatch', async (path: string) => await truncate(path, 3)],
    [
      'not_regular',
      async (path: string) => {
        await rename(path, `${path}.aside`);
        await symlink(`${path}.aside`, path);
      },
    ],
    [
      'not_regular',
      async (path: string) => {
        await rm(path);
        await mkdir(path);
      },
    ],
    [
      'not_regular',
      async (path: string) => {
        await rm(path);
        expect(spawnSync('mkfifo', [path]).status).toBe(0);
      },
    ],
  ] as const)('is the fault %s', async (kind, spoil) => {
    const { root, path } = await storeWith(BYTES);
    await spoil(path);
    await expect(openObject({ root, blake3: BLAKE3, size: BYTES.length })).rejects.toMatchObject({
      name: 'ObjectFault',
      kind,
      blake3: BLAKE3,
    });
  });

  it.each([
    ['EMFILE', 'exhausted'],
    ['ENFILE', 'exhausted'],
    ['EIO', 'unreadable'],
    ['EACCES', 'unreadable'],
    ['ESTALE', 'unreadable'],
    ['ELOOP', 'not_regular'],
    ['ENOENT', 'missing'],
  ])('treats %s as %s', (code, kind) => {
    const fault = objectFaultOf(Object.assign(new Error('no'), { code }), BLAKE3, 'object');
    expect(fault).toMatchObject({ kind, code });
  });
});

describe('readBlockList', () => {
  const bytes = Buffer.alloc(BLOCK_SIZE + 1, 'x');
  const list = Buffer.concat([
    Buffer.from(blake3Hex(bytes.subarray(0, BLOCK_SIZE)), 'hex'),
    Buffer.from(blake3Hex(bytes.subarray(BLOCK_SIZE)), 'hex'),
  ]);
  const entry: Pick<ManifestEntry, 'blake3' | 'size' | 'blocks'> = {
    blake3: blake3Hex(bytes),
    size: bytes.length,
    blocks: blake3Hex(list),
  };

  it('returns the list only when it is the one that the manifest names', async () => {
    const { root } = await storeWith(bytes);
    await expect(readBlockList({ root, entry })).rejects.toMatchObject({ kind: 'missing' });
    await writeFile(blockListPath(root, entry.blake3), list);
    expect(Buffer.from(await readBlockList({ root, entry }))).toEqual(list);
    const changed = Buffer.from(list);
    changed[40] = (changed[40] ?? 0) ^ 1;
    await writeFile(blockListPath(root, entry.blake3), changed);
    await expect(readBlockList({ root, entry })).rejects.toMatchObject({ kind: 'digest_mismatch' });
    await truncate(blockListPath(root, entry.blake3), 32);
    await expect(readBlockList({ root, entry })).rejects.toMatchObject({ kind: 'size_mismatch' });
  });
});
