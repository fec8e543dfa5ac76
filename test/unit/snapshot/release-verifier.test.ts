import { chmod, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/platform/process/clock.ts';
import { noFailpoints } from '../../../src/platform/files/failpoints.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import { createHashPool } from '../../../src/platform/hashing/hash-pool.ts';
import { blockListPath, objectPath } from '../../../src/snapshot/volume/layout.ts';
import { indexEntries } from '../../support/index-entries.ts';
import { loadManifest } from '../../../src/snapshot/manifest/manifest-loader.ts';
import type { ManifestIndex } from '../../../src/snapshot/manifest/manifest-index.ts';
import { ObjectLedger } from '../../../src/snapshot/objects/object-ledger.ts';
import { verifyRelease, type VerificationProgress } from '../../../src/snapshot/release-verifier.ts';
import { openSnapshotWriter } from '../../../src/snapshot/snapshot-writer.ts';
import { sampleFiles } from '../../support/release-tree.ts';
import { SAMPLE_SNAPSHOT, sampleDigest, sampleEntry, sampleHeader } from '../../support/sample-entries.ts';
import { storeRelease } from '../../support/store-release.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const pool = createHashPool({ threads: 2 });
afterAll(async () => {
  await pool.close();
});

const files = sampleFiles();
files.set('copy/of/empty', Buffer.alloc(0));
let root: string;
let index: ManifestIndex;

beforeEach(async () => {
  root = await temporaryDirectory();
  const writer = await openSnapshotWriter({ root, failpoints: noFailpoints, clock: systemClock });
  const { snapshotId } = await storeRelease(writer, pool, { id: 'r1', files, serverInfo: Buffer.from('{}') });
  ({ index } = await loadManifest({ root, snapshotId, checkObjects: false }));
});

const pathOf = (name: string): string =>
  objectPath(root, blake3Hex(files.get(name) ?? Buffer.from('absent')));

async function flip(path: string): Promise<void> {
  const bytes = await readFile(path);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
  await chmod(path, 0o644);
  await writeFile(path, bytes);
}

describe('verifyRelease', () => {
  it('finds nothing in a sound release, and counts to the end', async () => {
    const progress: VerificationProgress[] = [];
    const found = await verifyRelease({
      root,
      index,
      pool,
      concurrency: 3,
      compareBlocks: true,
      onProgress: (step) => progress.push(step),
    });
    expect(found).toMatchObject({ entries: files.size, damagedCount: 0, examples: [], serverInfo: 'ok' });
    expect([...found.damaged]).toEqual([]);
    expect(progress.at(-1)).toEqual({ entries: files.size, bytes: index.header.total_bytes });
  });

  it.each([1, 4])('names every damaged entry with its status, %i at a time', async (concurrency) => {
    await rm(pathOf('empty.bytes'));
    await truncate(pathOf('TableBundles/ExcelDB.db'), 9);
    await flip(pathOf('TableBundles/Excel.zip'));
    await flip(blockListPath(root, blake3Hex(files.get('MediaResources/more.ogg') ?? Buffer.alloc(0))));
    await rm(pathOf('MediaResources/exact.ogg'));
    await rm(objectPath(root, blake3Hex(Buffer.from('{}'))));
    const found = await verifyRelease({ root, index, pool, concurrency });
    const statuses = found.examples.map(({ destination, status }) => [destination, status]);
    expect(statuses).toEqual([
      ['MediaResources/exact.ogg', 'missing'],
      ['MediaResources/more.ogg', 'digest_mismatch'],
      ['TableBundles/Excel.zip', 'digest_mismatch'],
      ['TableBundles/ExcelDB.db', 'size_mismatch'],
      ['copy/of/empty', 'missing'],
      ['empty.bytes', 'missing'],
    ]);
    expect([...found.damaged]).toEqual(found.examples);
    expect(found.damagedCount).toBe(6);
    expect(found.serverInfo).toBe('missing');
  });

  it('finds a block list that is as named but not of these bytes only when blocks are compared', async () => {
    const entry = index.entry(index.find('MediaResources/more.ogg'));
    const list = await readFile(blockListPath(root, entry.blake3));
    list[40] = (list[40] ?? 0) ^ 1;
    await chmod(blockListPath(root, entry.blake3), 0o644);
    await writeFile(blockListPath(root, entry.blake3), list);
    const wrong = [{ ...entry, blocks: blake3Hex(list) }];
    const other = indexEntries(sampleHeader(wrong), SAMPLE_SNAPSHOT, wrong);
    const options = { root, index: other, pool, concurrency: 1 };
    expect((await verifyRelease(options)).damagedCount).toBe(0);
    expect((await verifyRelease({ ...options, compareBlocks: true })).damagedCount).toBe(1);
  });

  it('checks an object once for all releases, but its size and block list for each one', async () => {
    const ledger = new ObjectLedger();
    await verifyRelease({ root, index, pool, concurrency: 2, ledger });
    const before = ledger.length;
    const entry = index.entry(index.find('MediaResources/more.ogg'));
    const others = [
      { ...entry, destination: sampleEntry('a').destination },
      { ...entry, destination: sampleEntry('b').destination, blocks: sampleDigest('other') },
      { ...entry, destination: sampleEntry('c').destination, size: entry.size + 1 },
    ];
    const other = indexEntries(sampleHeader(others), SAMPLE_SNAPSHOT, others);
    const found = await verifyRelease({ root, index: other, pool, concurrency: 1, ledger });
    expect(found.examples.map(({ destination, status }) => [destination, status])).toEqual([
      ['b', 'digest_mismatch'],
      ['c', 'size_mismatch'],
    ]);
    expect(ledger.length).toBe(before);
  });

  it('ends with the reason of the signal', async () => {
    const abort = new AbortController();
    const verifying = verifyRelease({
      root,
      index,
      pool,
      concurrency: 2,
      signal: abort.signal,
      onProgress: () => undefined,
    });
    abort.abort(new Error('cancelled'));
    await expect(verifying).rejects.toThrow('cancelled');
  });
});

describe('ObjectLedger', () => {
  it('keeps the findings of many objects', () => {
    const ledger = new ObjectLedger();
    for (let i = 0; i < 5000; i += 1) {
      expect(ledger.find(sampleDigest(`object ${i}`))).toBe(-1);
      ledger.setStatus(ledger.add(sampleDigest(`object ${i}`), i), i % 2 === 0 ? 'ok' : 'missing');
    }
    for (let i = 0; i < 5000; i += 1) {
      const id = ledger.find(sampleDigest(`object ${i}`));
      expect([ledger.size(id), ledger.status(id)]).toEqual([i, i % 2 === 0 ? 'ok' : 'missing']);
    }
    expect(ledger.status(ledger.add(sampleDigest('pending'), 1))).toBeNull();
  });
});
