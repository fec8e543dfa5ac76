import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { describe, expect, it } from 'vitest';
import { FAST_ARGUMENTS } from '../support/image-node-options.ts';
import { blockListOf } from '../support/block-list-of.ts';
import type { SnapshotId } from '../../src/domain/release/digest.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import { loadManifest } from '../../src/snapshot/manifest/manifest-loader.ts';
import { listReleaseIds, readReleaseRecord } from '../../src/snapshot/volume/release-records.ts';
import { SNAPSHOT_FAILPOINTS } from '../../src/snapshot/volume/snapshot-failpoints.ts';
import { sharedFixture } from '../support/shared-fixture.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const CHILD = resolve(import.meta.dirname, '../support/store-writer-child.ts');

interface Published {
  readonly release: string;
  readonly snapshot_id: SnapshotId;
  readonly version: number;
}

/** Publishes a release in its own process, which dies at the failpoint. Returns the signal that ended it. */
async function publish(root: string, version: number, failpoint?: string): Promise<NodeJS.Signals | null> {
  const args = [CHILD, root, `r${version}`, String(version), ...(failpoint === undefined ? [] : [failpoint])];
  const child = spawn(process.execPath, [...FAST_ARGUMENTS, ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  if (code !== null) expect(code).toBe(0);
  return signal;
}

/** Checks that every object and block list matches its name. */
async function checkObjects(root: string): Promise<void> {
  for (const shard of await readdir(join(root, 'objects'))) {
    for (const name of await readdir(join(root, 'objects', shard))) {
      const bytes = await readFile(join(root, 'objects', shard, name.replace(/\.blocks$/, ''))).catch(
        () => null,
      );
      if (!name.endsWith('.blocks')) {
        expect(blake3Hex(bytes ?? Buffer.from('absent'))).toBe(`${shard}${name}`);
      } else if (bytes !== null) {
        expect((await readFile(join(root, 'objects', shard, name))).equals(blockListOf(bytes))).toBe(true);
      }
    }
  }
}

/** Returns the state that readers see, after checking that all of it exists. */
async function checkStore(root: string): Promise<Published> {
  await checkObjects(root);
  for (const id of await listReleaseIds(root, 'official')) {
    const record = await readReleaseRecord(root, 'official', id);
    if (record === null) throw new Error(`the record of ${id} vanished`);
    const { index, missing } = await loadManifest({
      root,
      snapshotId: record.snapshot_id,
      checkObjects: true,
    });
    expect([index.header.release_id, missing.count]).toEqual([id, 0]);
  }
  const published = JSON.parse(await readFile(join(root, 'attest/current.json'), 'utf8')) as Published;
  const { index, missing } = await loadManifest({
    root,
    snapshotId: published.snapshot_id,
    checkObjects: true,
  });
  expect([index.header.release_id, missing.count]).toEqual([published.release, 0]);
  return published;
}

const first = sharedFixture(async (atEnd) => {
  const root = await temporaryDirectory(atEnd);
  expect(await publish(root, 1)).toBeNull();
  return { root };
});

describe.each(SNAPSHOT_FAILPOINTS)('a writer that is killed at %s', (failpoint) => {
  it('leaves the old or the new release, and the next attempt completes the new one', async () => {
    const root = await temporaryDirectory();
    await cp(first().root, root, { recursive: true });
    const old = await checkStore(root);
    expect(await publish(root, 2, failpoint)).toBe('SIGKILL');
    const published =
      SNAPSHOT_FAILPOINTS.indexOf(failpoint) >= SNAPSHOT_FAILPOINTS.indexOf('snapshot.attestation.renamed');
    const after = await checkStore(root);
    if (published) expect(after.version).toBe(2);
    else expect(after).toEqual(old);
    expect(await publish(root, 2)).toBeNull();
    expect((await checkStore(root)).version).toBe(2);
    expect(await readdir(join(root, 'attest'))).toEqual(['current.json', 'history']);
  });
});
