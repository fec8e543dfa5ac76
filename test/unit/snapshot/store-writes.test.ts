import {
  chmod,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { STORE_FORMAT_VERSION } from '../../../src/contract/formats/store-format.ts';
import { SINGLE_BLOCK_MAX_BYTES } from '../../../src/domain/release/blocks.ts';
import { manifestDigestOf, type Blake3Hex } from '../../../src/domain/release/digest.ts';
import type { ReleaseId } from '../../../src/domain/release/release-id.ts';
import { noFailpoints, type Failpoints } from '../../../src/platform/files/failpoints.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import { createHashPool } from '../../../src/platform/hashing/hash-pool.ts';
import { blockListPath, manifestPath, objectPath } from '../../../src/snapshot/volume/layout.ts';
import { SNAPSHOT_FAILPOINTS } from '../../../src/snapshot/volume/snapshot-failpoints.ts';
import { readStoreFormat } from '../../../src/snapshot/volume/snapshot-store.ts';
import { findWrongDirectories } from '../../../src/snapshot/volume/store-directories.ts';
import type { SnapshotWriter } from '../../../src/snapshot/snapshot-writer.ts';
import { openWriterAt } from '../../support/open-writer.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { sampleFiles } from '../../support/release-tree.ts';
import { sampleDigest, sampleEntry, sampleHeader, sortEntries } from '../../support/sample-entries.ts';
import { commitBytes, storeRelease } from '../../support/store-release.ts';
import { until } from '../../support/until.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const pool = createHashPool({ threads: 1 });
afterAll(async () => {
  await pool.close();
});

async function openWriter(
  failpoints: Failpoints = noFailpoints,
  clock = new FakeClock(Date.now()),
): Promise<{ root: string; writer: SnapshotWriter; clock: FakeClock }> {
  const root = await temporaryDirectory();
  return { root, writer: await openWriterAt({ root, failpoints, clock }), clock };
}

describe('opening', () => {
  it('makes a store once and keeps its id', async () => {
    const { root, writer } = await openWriter();
    const again = await openWriterAt({ root, failpoints: noFailpoints, clock: new FakeClock() });
    expect(again.storeId).toBe(writer.storeId);
    expect(await readStoreFormat(root)).toEqual({
      format: 'slipway-snapshot-store',
      version: STORE_FORMAT_VERSION,
      store_id: writer.storeId,
    });
  });

  it('refuses a volume that lost FORMAT, or has another one', async () => {
    const root = await temporaryDirectory();
    await mkdir(join(root, 'objects'));
    const open = async (): Promise<unknown> =>
      await openWriterAt({ root, failpoints: noFailpoints, clock: new FakeClock() });
    await expect(open()).rejects.toThrow('has objects but not FORMAT');
    for (const version of [STORE_FORMAT_VERSION - 1, STORE_FORMAT_VERSION + 1]) {
      const text = JSON.stringify({ format: 'slipway-snapshot-store', version, store_id: 'a' });
      await writeFile(join(root, 'FORMAT'), text);
      await expect(open()).rejects.toThrow(`FORMAT is of version ${version}, and this program uses`);
      expect(await readFile(join(root, 'FORMAT'), 'utf8')).toBe(text);
    }
    await writeFile(join(root, 'FORMAT'), 'nonsense');
    await expect(open()).rejects.toThrow('not JSON');
  });

  it('removes only the leftovers of a crash during a durable write', async () => {
    const { root, writer } = await openWriter();
    await writer.publishAttestation(Buffer.from('one'), 1);
    await writeFile(join(root, 'attest', '.current.json.x.tmp'), 'half');
    await openWriterAt({ root, failpoints: noFailpoints, clock: new FakeClock() });
    expect(await readdir(join(root, 'attest'))).toEqual(['current.json', 'history']);
  });
});

const DIRECTORIES = ['objects', 'manifests', 'releases', 'attest', 'tmp', 'quarantine'];

describe('a directory that is lost while the store is open', () => {
  it.each(DIRECTORIES)('%s is created again, and the next release is complete', async (directory) => {
    const { root, writer } = await openWriter();
    const files = new Map([['a', Buffer.from('one')]]);
    await storeRelease(writer, pool, { id: 'r1', files });
    await rm(join(root, directory), { recursive: true });
    const { snapshotId } = await storeRelease(writer, pool, { id: 'r2', files });
    await writer.publishAttestation(Buffer.from('envelope'), 1);
    expect(await readdir(join(root, 'releases/official'))).toContain('r2.json');
    expect(await readdir(join(root, 'manifests'))).toContain(`${manifestDigestOf(snapshotId) ?? ''}.ndjson`);
    expect(await writer.objectState(blake3Hex(Buffer.from('one')), 3)).toBe('ok');
    expect(String(await writer.readCurrentAttestation())).toBe('envelope');
    expect(await writer.listStaging()).toEqual(expect.any(Array));
  });

  it('is not created in a folder that is no longer this store', async () => {
    const { root, writer } = await openWriter();
    await rename(root, `${root}-away`);
    await mkdir(root);
    await rm(join(`${root}-away`, 'tmp'), { recursive: true });
    await expect(writer.stagingDirectory('task-1')).rejects.toThrow('it holds no store anymore');
    expect(await readdir(root)).toEqual([]);
    await rm(`${root}-away`, { recursive: true });
  });

  it.each([
    ...DIRECTORIES.map((directory) => ['a file', directory] as const),
    ...DIRECTORIES.map((directory) => ['a link', directory] as const),
  ])(
    'is also replaced when %s has the place of %s, and nothing is written through it',
    async (what, directory) => {
      const { root, writer } = await openWriter();
      const files = new Map([['a.bin', Buffer.from('one')]]);
      await storeRelease(writer, pool, { id: 'r1', files });
      const elsewhere = await temporaryDirectory();
      await rm(join(root, directory), { recursive: true });
      if (what === 'a file') await writeFile(join(root, directory), 'x');
      else await symlink(elsewhere, join(root, directory));
      expect(await findWrongDirectories(root)).toEqual([directory]);
      await storeRelease(writer, pool, { id: 'r2', files });
      await writer.publishAttestation(Buffer.from('envelope'), 1);
      await writer.quarantine(blake3Hex(Buffer.from('one')), 'task-1');
      await writer.sweepObjects(() => true, 0);
      expect(await findWrongDirectories(root)).toEqual([]);
      expect((await lstat(join(root, directory))).isDirectory()).toBe(true);
      expect(await readdir(elsewhere)).toEqual([]);
      if (directory !== 'quarantine') {
        expect(await readdir(join(root, 'quarantine'))).toContainEqual(
          expect.stringMatching(new RegExp(`^${directory}\\.`)) as unknown,
        );
      }
      await openWriterAt({ root, failpoints: noFailpoints, clock: new FakeClock() });
    },
  );

  it('is replaced when a store is opened', async () => {
    const { root } = await openWriter();
    await rm(join(root, 'objects'), { recursive: true });
    await writeFile(join(root, 'objects'), 'x');
    await openWriterAt({ root, failpoints: noFailpoints, clock: new FakeClock() });
    expect(await readdir(join(root, 'objects'))).toEqual([]);
  });

  it('does not block a later flush', async () => {
    const { root, writer } = await openWriter();
    await commitBytes(writer, pool, Buffer.from('one'));
    await rm(join(root, 'objects'), { recursive: true });
    await writer.flush();
    await writer.flush();
  });
});

describe('commitObject', () => {
  it('stores the bytes read-only under their digest, with a block list when they are large', async () => {
    const { root, writer } = await openWriter();
    for (const bytes of [
      Buffer.alloc(0),
      Buffer.from('small'),
      Buffer.alloc(SINGLE_BLOCK_MAX_BYTES + 1, 7),
    ]) {
      const { blake3 } = await commitBytes(writer, pool, bytes);
      expect(blake3).toBe(blake3Hex(bytes));
      expect((await readFile(objectPath(root, blake3))).equals(bytes)).toBe(true);
      expect((await lstat(objectPath(root, blake3))).mode & 0o777).toBe(0o444);
      expect(await writer.objectState(blake3, bytes.length)).toBe('ok');
      expect(await writer.objectState(blake3, bytes.length + 1)).toBe('wrong');
    }
    expect(
      (await readFile(blockListPath(root, blake3Hex(Buffer.alloc(SINGLE_BLOCK_MAX_BYTES + 1, 7))))).length,
    ).toBe(17 * 32);
    expect(await writer.objectState(sampleDigest('absent'), 1)).toBe('missing');
    expect(await readdir(await writer.stagingDirectory('task-1'))).toEqual([]);
  });

  it('keeps a good object unchanged, also when the same bytes are committed concurrently', async () => {
    const { root, writer } = await openWriter();
    const bytes = Buffer.alloc(SINGLE_BLOCK_MAX_BYTES + 5, 1);
    const { blake3 } = await commitBytes(writer, pool, bytes);
    const before = await lstat(objectPath(root, blake3));
    await Promise.all(
      Array.from({ length: 8 }, async (_, i) => await commitBytes(writer, pool, bytes, `staged-${i}`)),
    );
    expect((await lstat(objectPath(root, blake3))).ino).toBe(before.ino);
    expect(await readdir(await writer.stagingDirectory('task-1'))).toEqual([]);
    expect(await readdir(join(root, 'quarantine'))).toEqual([]);
  });

  it('quarantines another file in the place of an object, and mends a block list', async () => {
    const { root, writer } = await openWriter();
    const bytes = Buffer.alloc(SINGLE_BLOCK_MAX_BYTES + 5, 2);
    const { blake3 } = await commitBytes(writer, pool, bytes);
    await truncate(objectPath(root, blake3), 9);
    await commitBytes(writer, pool, bytes);
    expect(await writer.objectState(blake3, bytes.length)).toBe('ok');
    expect((await readdir(join(root, 'quarantine'))).sort()).toEqual([
      `${blake3}.task-1`,
      `${blake3}.task-1.blocks`,
    ]);

    const list = await readFile(blockListPath(root, blake3));
    for (const spoiled of [Buffer.alloc(64), Buffer.alloc(3)]) {
      await truncate(blockListPath(root, blake3), 0);
      await chmod(blockListPath(root, blake3), 0o644);
      await writeFile(blockListPath(root, blake3), spoiled);
      await commitBytes(writer, pool, bytes);
      expect((await readFile(blockListPath(root, blake3))).equals(list)).toBe(true);
    }
  });

  it.each([
    ['a file', async (path: string) => await writeFile(path, 'x')],
    ['a link', async (path: string) => await symlink(tmpdir(), path)],
  ])('replaces %s in the place of the directory of an object', async (_what, make) => {
    const { root, writer } = await openWriter();
    const bytes = Buffer.from('one');
    const { blake3 } = await commitBytes(writer, pool, bytes);
    const directory = dirname(objectPath(root, blake3));
    await rm(directory, { recursive: true });
    await make(directory);
    await writer.quarantine(blake3, 'task-1');
    await commitBytes(writer, pool, bytes);
    await writer.flush();
    expect((await lstat(directory)).isDirectory()).toBe(true);
    expect(await writer.objectState(blake3, bytes.length)).toBe('ok');
    expect(await readdir(join(root, 'quarantine'))).toEqual([
      expect.stringMatching(new RegExp(`^${basename(directory)}\\.`)),
    ]);
  });

  it('refuses a staged file that differs from the hashed one', async () => {
    const { writer } = await openWriter();
    const stagedPath = join(await writer.stagingDirectory('t'), 'x');
    await writeFile(stagedPath, 'abc');
    const digests = { size: 4, blake3: blake3Hex(Buffer.from('abcd')), blocks: null };
    await expect(writer.commitObject({ stagedPath, digests })).rejects.toThrow('3 bytes, but 4 were hashed');
    await writeFile(stagedPath, Buffer.alloc(SINGLE_BLOCK_MAX_BYTES + 1));
    await expect(
      writer.commitObject({ stagedPath, digests: { ...digests, size: SINGLE_BLOCK_MAX_BYTES + 1 } }),
    ).rejects.toThrow('block list');
  });

  it('accepts a read-only file that the pool staged, after a check of its size', async () => {
    const reached: string[] = [];
    const { root, writer } = await openWriter({ hit: (name) => reached.push(name) });
    const stagedPath = join(await writer.stagingDirectory('t'), 'x');
    const { digests } = await pool.stageFile(stagedPath, new ArrayBuffer(4), 4, { extra: [] });
    await expect(writer.commitObject({ stagedPath, digests: { ...digests, size: 5 } })).rejects.toThrow(
      '4 bytes, but 5 were hashed',
    );
    await writer.commitObject({ stagedPath, digests });
    expect((await lstat(objectPath(root, digests.blake3))).mode & 0o777).toBe(0o444);
    expect(await readdir(await writer.stagingDirectory('t'))).toEqual([]);
    expect(reached).toEqual(['snapshot.object.checked', 'snapshot.object.synced', 'snapshot.object.renamed']);
  });

  it('leaves a staged file writable when it fails before the object is in place', async () => {
    const { writer } = await openWriter({
      hit: (name) => {
        if (name === 'snapshot.object.synced') throw new Error('interrupted');
      },
    });
    await expect(commitBytes(writer, pool, Buffer.from('bytes'))).rejects.toThrow('interrupted');
    const staged = join(await writer.stagingDirectory('task-1'), 'staged');
    expect((await lstat(staged)).mode & 0o200).toBe(0o200);
  });

  it('moves damaged objects aside with their block list', async () => {
    const { root, writer } = await openWriter();
    const { blake3, size } = await commitBytes(writer, pool, Buffer.alloc(SINGLE_BLOCK_MAX_BYTES + 1));
    expect(await writer.quarantine(blake3, 'task-2')).toBe(true);
    expect(await writer.objectState(blake3, size)).toBe('missing');
    expect(await writer.quarantine(blake3, 'task-2')).toBe(false);
    expect((await readdir(join(root, 'quarantine'))).sort()).toEqual([
      `${blake3}.task-2`,
      `${blake3}.task-2.blocks`,
    ]);
  });
});

describe('restoreBlockList', () => {
  it('writes a lost list of an object again, and nothing for an object that is not there', async () => {
    const { root, writer } = await openWriter();
    const bytes = Buffer.alloc(SINGLE_BLOCK_MAX_BYTES + 5, 4);
    const { blake3, size } = await commitBytes(writer, pool, bytes);
    const blocks = await readFile(blockListPath(root, blake3));
    const stagedPath = join(await writer.stagingDirectory('task-1'), 'list');
    const object = { stagedPath, digests: { blake3, size, blocks } };
    await rm(blockListPath(root, blake3));
    expect(await writer.restoreBlockList(object)).toBe(true);
    expect((await readFile(blockListPath(root, blake3))).equals(blocks)).toBe(true);
    expect(await writer.objectState(blake3, size)).toBe('ok');

    await writer.quarantine(blake3, 'task-1');
    expect(await writer.restoreBlockList(object)).toBe(false);
    expect(await readdir(dirname(blockListPath(root, blake3)))).toEqual([]);
  });
});

describe('writeManifest', () => {
  const entries = sortEntries(['b', 'a', '日本語', 'folder/c'].map((name) => sampleEntry(name)));

  it('gives the same snapshot id for the same content, in any order of entries', async () => {
    const { writer } = await openWriter();
    async function* slowly(): AsyncGenerator<(typeof entries)[number]> {
      for (const entry of entries) yield await Promise.resolve({ ...entry });
    }
    const first = await writer.writeManifest('t', sampleHeader(entries), entries);
    const second = await writer.writeManifest('t', sampleHeader(entries), slowly());
    expect(second).toEqual(first);
    const other = await writer.writeManifest('t', sampleHeader(entries, { app_version: '2' }), entries);
    expect(other.snapshotId).not.toBe(first.snapshotId);
  });

  it('replaces a directory in the place of a manifest', async () => {
    const { root, writer } = await openWriter();
    const { snapshotId } = await writer.writeManifest('t', sampleHeader(entries), entries);
    const path = manifestPath(root, manifestDigestOf(snapshotId) as Blake3Hex);
    await rm(path);
    await mkdir(join(path, 'with', 'content'), { recursive: true });
    await writer.writeManifest('t', sampleHeader(entries), entries);
    expect((await lstat(path)).isFile()).toBe(true);
    await rm(path);
    await mkdir(path);
    await writer.removeManifest(snapshotId);
    expect(await readdir(join(root, 'manifests'))).toEqual([]);
  });

  it.each([
    ['out of order', [...entries].reverse(), sampleHeader(entries)],
    ['repeated', [...entries.slice(0, 1), ...entries], sampleHeader(entries, { entry_count: 5 })],
    ['too few', entries.slice(1), sampleHeader(entries)],
    ['too many', entries, sampleHeader(entries.slice(1))],
    ['of another sum', entries, sampleHeader(entries, { total_bytes: 1 })],
    ['invalid', [sampleEntry('../a')], sampleHeader([sampleEntry('../a')])],
    [
      'localized',
      [sampleEntry('a', { source: 'localized', size: 1 })],
      sampleHeader([sampleEntry('a', { size: 1 })]),
    ],
  ])('refuses entries that are %s, and leaves nothing behind', async (_, given, header) => {
    const { root, writer } = await openWriter();
    await expect(writer.writeManifest('t', header, given)).rejects.toThrow('');
    expect(await readdir(join(root, 'manifests'))).toEqual([]);
    expect(await readdir(join(root, 'tmp', 't'))).toEqual([]);
  });
});

describe('release records', () => {
  it('are written once, read back, listed and removed', async () => {
    const { writer } = await openWriter();
    const { record } = await storeRelease(writer, pool, { id: 'r-1.0', files: new Map() });
    await writer.writeReleaseRecord(record);
    expect(await writer.readReleaseRecord('official', record.release_id)).toEqual(record);
    expect(await writer.readReleaseRecord('localized', record.release_id)).toBeNull();
    expect(await writer.listReleaseRecords('official')).toEqual([record]);
    await expect(writer.writeReleaseRecord({ ...record, created_at: 1 })).rejects.toThrow('never changes');
    await writer.removeReleaseRecord('official', record.release_id);
    await writer.removeReleaseRecord('official', record.release_id);
    expect(await writer.listReleaseRecords('official')).toEqual([]);
  });

  it('are refused when they are damaged or of another release', async () => {
    const { root, writer } = await openWriter();
    const { record } = await storeRelease(writer, pool, { id: 'r1', files: new Map() });
    await writeFile(join(root, 'releases/official/r2.json'), JSON.stringify(record));
    await expect(writer.readReleaseRecord('official', 'r2' as ReleaseId)).rejects.toThrow('official r1');
    await writeFile(
      join(root, 'releases/official/r3.json'),
      JSON.stringify({ ...record, release_id: 'r3', snapshot_id: `blake3:${sampleDigest('x')}` }),
    );
    await expect(writer.readReleaseRecord('official', 'r3' as ReleaseId)).rejects.toThrow('does not name');
    expect(await writer.listReleaseIds('official')).toEqual(['r1', 'r2', 'r3']);
  });
});

describe('attestations', () => {
  it('replace a directory, and read one as damaged', async () => {
    const { root, writer } = await openWriter();
    await mkdir(join(root, 'attest', 'current.json', 'x'), { recursive: true });
    await mkdir(join(root, 'attest', 'history', '0.json', 'x'), { recursive: true });
    expect(await writer.readCurrentAttestation()).toHaveLength(0);
    for (let version = 1; version <= 33; version += 1) {
      await writer.publishAttestation(Buffer.from(`envelope ${version}`), version);
    }
    expect(String(await writer.readCurrentAttestation())).toBe('envelope 33');
    expect(await writer.readAttestation(0)).toBeNull();
  });

  it('keeps the last 32 in the history, newest first', async () => {
    const { writer } = await openWriter();
    expect(await writer.readCurrentAttestation()).toBeNull();
    for (let version = 1; version <= 40; version += 1) {
      await writer.publishAttestation(Buffer.from(`envelope ${version}`), version);
    }
    expect(String(await writer.readCurrentAttestation())).toBe('envelope 40');
    expect(await writer.listAttestationVersions()).toEqual(Array.from({ length: 32 }, (_, i) => 40 - i));
    expect(String(await writer.readAttestation(9))).toBe('envelope 9');
    expect(await writer.readAttestation(8)).toBeNull();
  });
});

describe('staging', () => {
  it('accepts only names that are not paths', async () => {
    const { writer } = await openWriter();
    for (const name of ['..', '.', '', 'a/b', '.hidden', 'x'.repeat(200)]) {
      await expect(writer.stagingDirectory(name)).rejects.toThrow(RangeError);
      await expect(writer.removeStaging(name)).rejects.toThrow(RangeError);
      await expect(writer.quarantine(sampleDigest('x'), name)).rejects.toThrow(RangeError);
    }
    await writer.stagingDirectory('01J');
    expect(await writer.listStaging()).toEqual(['01J']);
    await writer.removeStaging('01J');
    expect(await writer.listStaging()).toEqual([]);
    expect(await writer.freeBytes()).toBeGreaterThan(0);
  });
});

describe('the sweep', () => {
  it('removes old objects that are not live, with block lists, and continues after failures', async () => {
    const { root, writer, clock } = await openWriter();
    const live = await commitBytes(writer, pool, Buffer.alloc(SINGLE_BLOCK_MAX_BYTES + 1, 1));
    const dead = await commitBytes(writer, pool, Buffer.alloc(SINGLE_BLOCK_MAX_BYTES + 1, 2));
    const small = await commitBytes(writer, pool, Buffer.from('small'));
    await utimes(objectPath(root, small.blake3), 1, 1);
    const isLive = (blake3: Blake3Hex): boolean => blake3 === live.blake3;
    const nothing = { removed: 0, bytes: 0, failures: { count: 0, examples: [] } };
    // A changed mtime does not make an object old: it was put in place just now.
    expect(await writer.sweepObjects(isLive, 60_000)).toEqual(nothing);
    await clock.advance(120_000);
    expect(await writer.sweepObjects(isLive, 60_000)).toEqual({
      removed: 2,
      bytes: dead.size + 17 * 32 + small.size,
      failures: { count: 0, examples: [] },
    });
    expect(await writer.objectState(live.blake3, live.size)).toBe('ok');
    expect(await writer.objectState(dead.blake3, dead.size)).toBe('missing');
    await expect(readFile(blockListPath(root, dead.blake3))).rejects.toMatchObject({ code: 'ENOENT' });
    // A file in the place of a directory cannot be listed; the rest is still swept.
    const other = await commitBytes(writer, pool, Buffer.from('other'));
    await writeFile(join(root, 'objects', other.blake3.startsWith('00') ? '01' : '00'), '');
    const swept = await writer.sweepObjects(isLive, 60_000);
    expect([swept.removed, swept.failures.count]).toEqual([1, 1]);
  });

  it('keeps the newest files of the quarantine within every bound', async () => {
    const { root, writer, clock } = await openWriter();
    const put = async (text: string): Promise<string> => {
      const { blake3 } = await commitBytes(writer, pool, Buffer.from(text));
      await writer.quarantine(blake3, 'task');
      return `${blake3}.task`;
    };
    const large = await commitBytes(writer, pool, Buffer.alloc(SINGLE_BLOCK_MAX_BYTES + 1, 3));
    await writer.quarantine(large.blake3, 'task');
    const kept = async (): Promise<string[]> => (await readdir(join(root, 'quarantine'))).sort();
    expect(await kept()).toEqual([`${large.blake3}.task`, `${large.blake3}.task.blocks`]);
    const all = { objects: 10, bytes: 1e9, ageMs: 60_000 };
    expect((await writer.sweepQuarantine(all)).removed).toBe(0);
    // The file system's clock is coarse, and the next file must be newer.
    const { ctimeMs } = await lstat(join(root, 'quarantine', `${large.blake3}.task.blocks`));
    const probe = join(root, 'probe');
    await until(async () => {
      await writeFile(probe, '');
      return (await lstat(probe)).ctimeMs > ctimeMs;
    });
    const names = [await put('one'), await put('two')].sort();
    expect(await writer.sweepQuarantine({ ...all, bytes: 6 })).toMatchObject({
      removed: 1,
      bytes: SINGLE_BLOCK_MAX_BYTES + 1 + 17 * 32,
    });
    expect(await kept()).toEqual(names);
    expect(await writer.sweepQuarantine({ ...all, objects: 1 })).toMatchObject({ removed: 1, bytes: 3 });
    expect(await kept()).toHaveLength(1);
    await clock.advance(120_000);
    expect((await writer.sweepQuarantine(all)).removed).toBe(1);
    expect(await kept()).toEqual([]);
  });

  it('removes manifests by the same rule, and ends with the signal', async () => {
    const { writer, clock } = await openWriter();
    const { snapshotId } = await storeRelease(writer, pool, { id: 'r1', files: sampleFiles() });
    await clock.advance(120_000);
    const digest = snapshotId.slice('blake3:'.length);
    expect((await writer.sweepManifests((blake3) => blake3 === digest, 1000)).removed).toBe(0);
    const abort = new AbortController();
    abort.abort(new Error('stopped'));
    await expect(writer.sweepManifests(() => false, 1000, abort.signal)).rejects.toThrow('stopped');
    expect((await writer.sweepManifests(() => false, 1000)).removed).toBe(1);
    await writer.removeManifest(snapshotId);
  });
});

describe('errors of the file system', () => {
  it.each(SNAPSHOT_FAILPOINTS)(
    'keeps its code when the disk is full at %s, and the next attempt succeeds',
    async (name) => {
      let full = true;
      const { root, writer } = await openWriter({
        hit: (at) => {
          if (full && at === name)
            throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
        },
      });
      const publish = async (): Promise<void> => {
        await storeRelease(writer, pool, {
          id: 'r1',
          files: new Map([['a', Buffer.alloc(SINGLE_BLOCK_MAX_BYTES + 1)]]),
        });
        await writer.publishAttestation(Buffer.from('envelope'), 1);
      };
      await expect(publish()).rejects.toMatchObject({ code: 'ENOSPC' });
      full = false;
      await publish();
      expect(String(await writer.readCurrentAttestation())).toBe('envelope');
      expect(await readdir(join(root, 'releases/official'))).toEqual(['r1.json']);
      expect(await readdir(join(root, 'attest'))).toEqual(['current.json', 'history']);
    },
  );
});
