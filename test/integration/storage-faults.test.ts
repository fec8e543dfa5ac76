import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Mounting needs root and the capability. Elsewhere the tests are skipped, and the reason is printed. */
function canMount(): boolean {
  try {
    execFileSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt'], { stdio: 'ignore' });
    return true;
  } catch (error) {
    if (process.env['CI'] === 'true') throw new Error('CI must be able to mount a tmpfs', { cause: error });
    console.warn('SKIPPED: disk full and read-only volume need the right to mount a tmpfs');
    return false;
  }
}

async function tmpfs(size: string): Promise<string> {
  const directory = await temporaryDirectory();
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'slipway-test', directory]);
  onTestFinished(() => {
    execFileSync('umount', ['-l', directory]);
  });
  return directory;
}

/** A system whose volume is a file system of this size, with a first release upstream. */
async function systemOnTmpfs(
  size: string,
): Promise<{ system: TestSystem; upstream: string; files: Map<string, Buffer> }> {
  const upstream = await temporaryDirectory();
  const files = sampleFiles();
  await writeReleaseTree(upstream, { id: 'r90_one', files });
  const snapshotRoot = await tmpfs(size);
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    snapshotRoot,
  });
  return { system, upstream, files };
}

describe.skipIf(!canMount())('the volume', () => {
  it('full: the sync fails with the reason and the old release stays served', async () => {
    const { system, upstream, files } = await systemOnTmpfs('24m');
    const before = await system.untilReady(true);
    const next = new Map(files).set('Windows_PatchPack/huge.bundle', Buffer.alloc(40 * 1024 * 1024, 1));
    await writeReleaseTree(upstream, { id: 'r91_two', files: next });
    expect(await system.run('sync')).toMatchObject({ status: 'failed', failure_code: 'no_space' });
    expect((await system.untilReady(true)).snapshot_id).toBe(before.snapshot_id);
    expect((await fetch(system.cdn('TableBundles/Excel.zip'))).status).toBe(200);
  });

  it('full although it seemed to have enough space: the same', async () => {
    const { system, upstream, files } = await systemOnTmpfs('24m');
    const before = await system.untilReady(true);
    // Other files on the same volume use up the rest, including the inodes.
    try {
      writeFileSync(join(system.snapshotRoot, 'filler'), Buffer.alloc(32 * 1024 * 1024));
    } catch (error) {
      expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC');
    }
    await writeReleaseTree(upstream, {
      id: 'r91_two',
      files: new Map(files).set('new.bin', Buffer.alloc(500_000, 3)),
    });
    expect(await system.run('sync')).toMatchObject({ status: 'failed', failure_code: 'no_space' });
    expect((await system.untilReady(true)).snapshot_id).toBe(before.snapshot_id);
  });

  it('read-only: the daemon reports it, the server keeps serving, and both recover', async () => {
    const { system, upstream, files } = await systemOnTmpfs('64m');
    await system.untilReady(true);
    execFileSync('mount', ['-o', 'remount,ro', system.snapshotRoot]);
    await writeReleaseTree(upstream, {
      id: 'r91_two',
      files: new Map(files).set('new.bin', Buffer.alloc(9, 3)),
    });
    expect(await system.run('sync')).toMatchObject({ status: 'failed', failure_code: 'read_only' });
    expect((await fetch(system.cdn('TableBundles/Excel.zip'))).status).toBe(200);
    execFileSync('mount', ['-o', 'remount,rw', system.snapshotRoot]);
    expect(await system.run('sync')).toMatchObject({ status: 'succeeded' });
    await expect
      .poll(async () => (await system.untilReady(true)).release_id, { timeout: 60_000 })
      .toBe('r91_two');
  });
});
