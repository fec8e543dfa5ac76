import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readDataIdentity } from '../../../../src/daemon/database/data-identity.ts';
import { createSilentLogger } from '../../../../src/platform/logging/logging.ts';
import { LeaseFiles, type LeaseHolder } from '../../../../src/snapshot/volume/lease-files.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const IDENTITY = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-[1-9][0-9]*$/;

async function identityOf(directory: string): Promise<LeaseHolder> {
  return await readDataIdentity(directory, createSilentLogger(), new Date(Date.UTC(2026, 0, 1)));
}

describe('the id of a data folder', () => {
  it('stays the same', async () => {
    const directory = await temporaryDirectory();
    const first = await identityOf(directory);
    expect(first.id).toMatch(IDENTITY);
    expect(await identityOf(directory)).toEqual(first);
    expect(await readdir(directory)).toEqual(['daemon.id']);
  });

  it.each([
    ['is junk', async (path: string) => await writeFile(path, Buffer.alloc(40, 0xe9))],
    ['is empty', async (path: string) => await writeFile(path, '')],
    ['is too long', async (path: string) => await writeFile(path, 'a'.repeat(10_000))],
    ['is a folder', async (path: string) => await mkdir(path)],
    ['is a link to itself', async (path: string) => await symlink(path, path)],
  ])('is replaced when it %s, and can be written to a lease', async (_what, damage) => {
    const directory = await temporaryDirectory();
    const path = join(directory, 'daemon.id');
    const before = await identityOf(directory);
    await rm(path);
    await damage(path);
    const after = await identityOf(directory);
    expect(after.id).toMatch(IDENTITY);
    expect(after.id).not.toBe(before.id);
    expect(await identityOf(directory)).toEqual(after);
    expect(await readdir(directory)).toEqual(['daemon.id', 'daemon.id.damaged-2026-01-01T00-00-00.000Z']);
    const files = new LeaseFiles(directory);
    await files.create(1, after, false);
    expect((await files.newest())?.content?.holder_id).toBe(after.id);
    expect(await readFile(join(directory, 'lease', '1'))).toHaveLength(1024);
  });
});
