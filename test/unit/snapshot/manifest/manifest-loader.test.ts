import { chmod, mkdir, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { spawnSync } from 'node:child_process';
import { afterAll, describe, expect, it } from 'vitest';
import {
  renderManifestEntry,
  renderManifestHeader,
} from '../../../../src/contract/formats/manifest-format.ts';
import { snapshotIdOf, type Blake3Hex, type SnapshotId } from '../../../../src/domain/release/digest.ts';
import type { ManifestEntry } from '../../../../src/domain/release/manifest.ts';
import { systemClock } from '../../../../src/platform/process/clock.ts';
import { noFailpoints } from '../../../../src/platform/files/failpoints.ts';
import { blake3Hex } from '../../../../src/platform/hashing/blake3.ts';
import { createHashPool } from '../../../../src/platform/hashing/hash-pool.ts';
import { blockListPath, manifestPath, objectPath } from '../../../../src/snapshot/volume/layout.ts';
import { loadManifest } from '../../../../src/snapshot/manifest/manifest-loader.ts';
import { recheckObjects } from '../../../../src/snapshot/manifest/check-objects.ts';
import { SnapshotFault } from '../../../../src/snapshot/volume/snapshot-fault.ts';
import { openSnapshotWriter } from '../../../../src/snapshot/snapshot-writer.ts';
import { sampleFiles } from '../../../support/release-tree.ts';
import { SAMPLE_SNAPSHOT, sampleEntry, sampleHeader, sortEntries } from '../../../support/sample-entries.ts';
import { storeRelease } from '../../../support/store-release.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const pool = createHashPool({ threads: 1 });
afterAll(async () => {
  await pool.close();
});

/** Writes bytes to the path of the manifest with their digest. */
async function putManifest(root: string, bytes: string | Buffer): Promise<SnapshotId> {
  const digest = blake3Hex(Buffer.from(bytes));
  await mkdir(`${root}/manifests`, { recursive: true });
  await writeFile(manifestPath(root, digest), bytes);
  return snapshotIdOf(digest);
}

function manifestText(entries: readonly ManifestEntry[], header = sampleHeader(entries)): string {
  return [renderManifestHeader(header), ...entries.map(renderManifestEntry), ''].join('\n');
}

async function load(root: string, snapshotId: SnapshotId): Promise<readonly ManifestEntry[]> {
  const { index } = await loadManifest({ root, snapshotId, checkObjects: false });
  return index.entries(0, index.length);
}

describe('loadManifest', () => {
  it('reads its own output, over many reads of the file and with escapes in between', async () => {
    const root = await temporaryDirectory();
    const names = Array.from({ length: 5000 }, (_, i) =>
      i % 100 === 0 ? `with "quotes"/日本語 ${i}` : `folder/${'x'.repeat(i % 200)}/file-${i}`,
    );
    const entries = sortEntries(names.map((name) => sampleEntry(name)));
    const snapshotId = await putManifest(root, manifestText(entries));
    expect(await load(root, snapshotId)).toEqual(entries);
    const { index, missing } = await loadManifest({ root, snapshotId, checkObjects: false });
    expect(index.header).toEqual(sampleHeader(entries));
    expect(index.snapshotId).toBe(snapshotId);
    expect(missing).toEqual({ count: 0, examples: [], indexes: new Uint32Array(0) });
    for (const [position, entry] of entries.entries()) expect(index.find(entry.destination)).toBe(position);
  });

  it('reads an empty release', async () => {
    const root = await temporaryDirectory();
    expect(await load(root, await putManifest(root, manifestText([])))).toEqual([]);
  });

  const [a, b] = [sampleEntry('a', { size: 1 }), sampleEntry('b', { size: 2 })];
  it.each([
    ['without its last line feed', manifestText([a, b]).slice(0, -1)],
    ['with an entry less', manifestText([a], sampleHeader([a, b]))],
    ['with an entry more', manifestText([a, b], sampleHeader([a]))],
    ['with another sum', manifestText([a, b], sampleHeader([a, b], { total_bytes: 4 }))],
    ['out of order', manifestText([b, a])],
    ['with a destination twice', manifestText([a, a])],
    ['with a localized entry in an official release', manifestText([{ ...a, source: 'localized' }])],
    ['with an empty line', manifestText([a, b]).replace('\n', '\n\n')],
    ['with carriage returns', manifestText([a, b]).replaceAll('\n', '\r\n')],
    ['with a byte order mark', `\ufeff${manifestText([a, b])}`],
    ['with a line that is too long', `${renderManifestHeader(sampleHeader([a]))}\n${' '.repeat(20_000)}\n`],
    ['with a line that never ends', `${renderManifestHeader(sampleHeader([a]))}\n${' '.repeat(600_000)}`],
    [
      'with a header that promises more than the file can hold',
      manifestText([a], sampleHeader([a], { entry_count: 2_000_000 })),
    ],
    ['that is empty', ''],
    ['that is something else', 'hello\n'],
    [
      'with a control character',
      Buffer.from(manifestText([sampleEntry('aXb', { size: 1 })]).replace('aXb', 'a\u0000b'), 'latin1'),
    ],
    ['with bytes that are not UTF-8', Buffer.from(manifestText([sampleEntry('aéb', { size: 1 })]), 'latin1')],
  ])('refuses a manifest %s as damaged, although its digest is right', async (_, bytes) => {
    const root = await temporaryDirectory();
    const snapshotId = await putManifest(root, bytes);
    await expect(load(root, snapshotId)).rejects.toMatchObject({ name: 'SnapshotFault', kind: 'damaged' });
  });

  it('refuses one whose digest is wrong, whichever bit is changed', async () => {
    const root = await temporaryDirectory();
    const text = manifestText([a, b]);
    const snapshotId = await putManifest(root, text);
    const path = manifestPath(root, blake3Hex(Buffer.from(text)));
    for (const at of [0, 40, text.length - 20, text.length - 1]) {
      const bytes = Buffer.from(text);
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      await writeFile(path, bytes);
      await expect(load(root, snapshotId)).rejects.toThrow('does not match its name');
    }
    await truncate(path, 10);
    await expect(load(root, snapshotId)).rejects.toBeInstanceOf(SnapshotFault);
  });

  it('distinguishes a missing file from another type, and does not follow links or wait for a FIFO', async () => {
    const root = await temporaryDirectory();
    await expect(load(root, SAMPLE_SNAPSHOT)).rejects.toMatchObject({
      kind: 'missing',
      snapshotId: SAMPLE_SNAPSHOT,
    });
    const snapshotId = await putManifest(root, manifestText([a]));
    const path = manifestPath(root, snapshotId.slice('blake3:'.length) as Blake3Hex);
    await rename(path, `${path}.aside`);
    await symlink(`${path}.aside`, path);
    await expect(load(root, snapshotId)).rejects.toMatchObject({ kind: 'damaged' });
    await rm(path);
    await mkdir(path);
    await expect(load(root, snapshotId)).rejects.toMatchObject({ kind: 'damaged' });
    await rm(path, { recursive: true });
    spawnSync('mkfifo', [path]);
    await expect(load(root, snapshotId)).rejects.toMatchObject({ kind: 'damaged' });
  });

  it('ends with the reason of the signal', async () => {
    const root = await temporaryDirectory();
    const snapshotId = await putManifest(root, manifestText([a]));
    const abort = new AbortController();
    const loading = loadManifest({ root, snapshotId, checkObjects: false, signal: abort.signal });
    abort.abort(new Error('switched'));
    await expect(loading).rejects.toThrow('switched');
    await expect(
      loadManifest({ root, snapshotId, checkObjects: false, signal: abort.signal }),
    ).rejects.toThrow('switched');
  });
});

describe('the check of the objects', () => {
  it('finds every object that differs from its entry, and notices a repair', async () => {
    const root = await temporaryDirectory();
    const writer = await openSnapshotWriter({ root, failpoints: noFailpoints, clock: systemClock });
    const files = sampleFiles();
    files.set('copy of empty', Buffer.alloc(0));
    const serverInfo = Buffer.from('{}');
    const { snapshotId } = await storeRelease(writer, pool, { id: 'r1', files, serverInfo });
    const sound = await loadManifest({ root, snapshotId, checkObjects: true });
    expect(sound.missing.count).toBe(0);

    const pathOf = (name: string): string =>
      objectPath(root, blake3Hex(files.get(name) ?? Buffer.from('absent')));
    const kept = new Map<string, Buffer>();
    const spoil = async (path: string, how: () => Promise<unknown>): Promise<void> => {
      kept.set(path, await readFile(path));
      await chmod(path, 0o644);
      await how();
    };
    await spoil(pathOf('empty.bytes'), async () => await rm(pathOf('empty.bytes')));
    await spoil(
      pathOf('TableBundles/Excel.zip'),
      async () => await truncate(pathOf('TableBundles/Excel.zip'), 5),
    );
    const list = blockListPath(root, blake3Hex(files.get('MediaResources/more.ogg') ?? Buffer.alloc(0)));
    await spoil(list, async () => await truncate(list, 32));
    const info = objectPath(root, blake3Hex(serverInfo));
    await spoil(info, async () => await rm(info));

    const { index, missing } = await loadManifest({ root, snapshotId, checkObjects: true });
    const names = Array.from(missing.indexes, (position): string => index.destination(position));
    expect(names).toEqual([
      'MediaResources/more.ogg',
      'TableBundles/Excel.zip',
      'copy of empty',
      'empty.bytes',
    ]);
    expect(missing.count).toBe(5);
    expect(missing.examples).toEqual([...names, '(server-info document)']);

    expect(await recheckObjects(root, index, missing.indexes)).toEqual(missing);
    for (const [path, bytes] of kept) {
      await rm(path, { force: true });
      await writeFile(path, bytes);
    }
    expect((await recheckObjects(root, index, missing.indexes)).count).toBe(0);
  });
});
