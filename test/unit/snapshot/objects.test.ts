import { spawnSync } from 'node:child_process';
import { chmod, mkdir, readFile, rename, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { SINGLE_BLOCK_MAX_BYTES } from '../../../src/domain/release/blocks.ts';
import type { ServerInfoDocument } from '../../../src/domain/release/server-info-document.ts';
import { noFailpoints } from '../../../src/platform/files/failpoints.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import { FILE_CHANGED } from '../../../src/platform/hashing/digests.ts';
import { createHashPool } from '../../../src/platform/hashing/hash-pool.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import type { ManifestIndex } from '../../../src/snapshot/manifest/manifest-index.ts';
import { loadManifest } from '../../../src/snapshot/manifest/manifest-loader.ts';
import { readBlockList } from '../../../src/snapshot/objects/block-list.ts';
import { objectDamageOf, objectFaultOf } from '../../../src/snapshot/objects/object-fault.ts';
import { ObjectLedger } from '../../../src/snapshot/objects/object-ledger.ts';
import { fileIdentity, openObject, sameIdentity } from '../../../src/snapshot/objects/object-reader.ts';
import { verifyRelease, type VerificationProgress } from '../../../src/snapshot/release-verifier.ts';
import { blockListPath, objectPath } from '../../../src/snapshot/volume/layout.ts';
import { blockListOf } from '../../support/block-list-of.ts';
import { indexEntries } from '../../support/index-entries.ts';
import { openWriterAt } from '../../support/open-writer.ts';
import { sampleFiles } from '../../support/release-tree.ts';
import { SAMPLE_SNAPSHOT, sampleDigest, sampleEntry, sampleHeader } from '../../support/sample-entries.ts';
import { commitBytes, storeRelease } from '../../support/store-release.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

function failureOf(code: string): Error {
  return Object.assign(new Error('the read failed'), { code });
}

describe('the damage that a failure shows', () => {
  it.each([
    ['ENOENT', 'missing'],
    ['ELOOP', 'unreadable'],
    ['EISDIR', 'unreadable'],
    ['EIO', 'unreadable'],
    [FILE_CHANGED, 'size_mismatch'],
  ])('is for %s: %s, also of a file that could not be opened', (code, damage) => {
    const blake3 = blake3Hex(Buffer.from('a'));
    expect(objectDamageOf(failureOf(code))).toBe(damage);
    expect(objectDamageOf(objectFaultOf(failureOf(code), blake3, 'object'))).toBe(damage);
  });

  it.each(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'ERR_WORKER_OUT_OF_MEMORY'])(
    'is none for %s, which says nothing of the object',
    (code) => {
      expect(objectDamageOf(failureOf(code))).toBeNull();
    },
  );

  it('is none for an error without a code, such as that of a closed hash pool', () => {
    expect(objectDamageOf(new Error('the pool is closed'))).toBeNull();
  });
});

const BYTES = Buffer.from('the bytes of an object');
const BLAKE3 = blake3Hex(BYTES);

async function storeWith(bytes: Buffer): Promise<{ root: string; path: string }> {
  const root = await temporaryDirectory();
  const path = objectPath(root, blake3Hex(bytes));
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, bytes);
  return { root, path };
}

describe('the object of a store', () => {
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
    const bytes = Buffer.alloc(SINGLE_BLOCK_MAX_BYTES + 1, 'x');
    const list = blockListOf(bytes);
    const entry = {
      blake3: blake3Hex(bytes),
      size: bytes.length,
      blocks: blake3Hex(list),
    };

    it('returns the list only when it is the one that the manifest names', async () => {
      const { root } = await storeWith(bytes);
      await expect(readBlockList(root, entry)).rejects.toMatchObject({ kind: 'missing' });
      await writeFile(blockListPath(root, entry.blake3), list);
      expect(Buffer.from(await readBlockList(root, entry))).toEqual(list);
      const changed = Buffer.from(list);
      changed[40] = (changed[40] ?? 0) ^ 1;
      await writeFile(blockListPath(root, entry.blake3), changed);
      await expect(readBlockList(root, entry)).rejects.toMatchObject({ kind: 'digest_mismatch' });
      await truncate(blockListPath(root, entry.blake3), 32);
      await expect(readBlockList(root, entry)).rejects.toMatchObject({ kind: 'size_mismatch' });
    });
  });
});

const pool = createHashPool({ threads: 2 });

const files = sampleFiles();

let root: string;
let index: ManifestIndex;
let serverInfo: ServerInfoDocument;

const pathOf = (name: string): string =>
  objectPath(root, blake3Hex(files.get(name) ?? Buffer.from('absent')));

async function flip(path: string): Promise<void> {
  const bytes = await readFile(path);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
  await chmod(path, 0o644);
  await writeFile(path, bytes);
}

describe('the verification of a release', () => {
  afterAll(async () => {
    await pool.close();
  });

  files.set('copy/of/empty', Buffer.alloc(0));

  beforeEach(async () => {
    root = await temporaryDirectory();
    const writer = await openWriterAt({ root, failpoints: noFailpoints, clock: systemClock });
    const { snapshotId } = await storeRelease(writer, pool, { id: 'r1', files });
    const { blake3, size } = await commitBytes(writer, pool, Buffer.from('{}'));
    serverInfo = { blake3, size };
    ({ index } = await loadManifest({ root, snapshotId, checkObjects: false }));
  });

  describe('verifyRelease', () => {
    it('finds nothing in a sound release, and counts to the end', async () => {
      const progress: VerificationProgress[] = [];
      const found = await verifyRelease({
        root,
        index,
        pool,
        serverInfo,
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
      const found = await verifyRelease({ root, index, pool, serverInfo, concurrency });
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
});
