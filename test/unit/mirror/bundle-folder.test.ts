import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createBundleSource, type BundleSource } from '../../../src/mirror/bundle/bundle-source.ts';
import { createFolderShelf } from '../../../src/mirror/bundle/folder-shelf.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import { exportBundle, makeAttestedStore, type AttestedStore } from '../../support/bundles.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const SIGNAL = new AbortController().signal;
let folder: string;
let store: AttestedStore;
let source: BundleSource;

beforeEach(async () => {
  const directory = await temporaryDirectory();
  folder = join(directory, 'bundles');
  store = await makeAttestedStore(directory);
  const shelf = createFolderShelf(folder);
  onTestFinished(async () => await shelf.close());
  source = createBundleSource(shelf);
});

const put = async (releaseId: string, text: string): Promise<string> => {
  await mkdir(folder, { recursive: true });
  await store.release({ releaseId, files: { 'a.bin': text } });
  const path = join(folder, `${releaseId}.tar`);
  await exportBundle(store, releaseId, path);
  return path;
};

describe('a folder of bundles', () => {
  it('has nothing to say before the first import, and the newest attestation afterwards', async () => {
    await expect(source.current(null, SIGNAL)).rejects.toMatchObject({ code: 'origin_unattested' });
    await put('r2', 'two');
    // In the order of names the older one is last.
    await put('r1', 'one');
    const newest = await readFile(join(store.root, 'attest/current.json'));
    const state = await source.current(null, SIGNAL);
    expect(Buffer.from(state?.envelope ?? [])).toEqual(newest);
    expect(await source.current(state?.tag ?? null, SIGNAL)).toBeNull();
    expect(source.find(blake3Hex(Buffer.from('two')))?.size).toBe(3);
  });

  it('notices a bundle that is removed, and one that replaces another', async () => {
    const path = await put('r1', 'one');
    const other = await put('r2', 'two');
    const before = await source.current(null, SIGNAL);
    await rm(other);
    const after = await source.current(before?.tag ?? null, SIGNAL);
    expect(after).not.toBeNull();
    expect(source.find(blake3Hex(Buffer.from('two')))).toBeNull();
    await store.release({ releaseId: 'r3', files: { 'a.bin': 'three' } });
    await exportBundle(store, 'r3', path);
    expect(await source.current(after?.tag ?? null, SIGNAL)).not.toBeNull();
    expect(source.find(blake3Hex(Buffer.from('three')))?.size).toBe(5);
  });

  it('names a damaged bundle, and overlooks one that is being written', async () => {
    await put('r1', 'one');
    await writeFile(join(folder, '.import.1.tmp'), 'half');
    expect(await source.current(null, SIGNAL)).not.toBeNull();
    await writeFile(join(folder, 'bad.tar'), Buffer.alloc(700, 'x'));
    await expect(source.current(null, SIGNAL)).rejects.toMatchObject({
      code: 'origin_malformed',
      message: expect.stringContaining('bad.tar') as string,
    });
    await rm(join(folder, 'bad.tar'));
    expect(await source.current(null, SIGNAL)).not.toBeNull();
  });

  it('names a bundle whose manifest is damaged, in its first line and in a later one', async () => {
    const path = await put('r1', 'one');
    const attested = await store.release({ releaseId: 'r1', files: { 'a.bin': 'one' } });
    const release = { channel: 'official', attested } as const;
    const bytes = await readFile(path);
    for (const text of ['{"format":"', '{"destination":"a.bin"']) {
      const damaged = Buffer.from(bytes);
      const place = damaged.indexOf(text);
      expect(place).toBeGreaterThan(0);
      damaged[place] = 0x5b;
      await writeFile(path, damaged);
      await source.current(null, SIGNAL);
      const read = async (): Promise<void> => {
        const { pages } = await source.manifest(release, SIGNAL);
        for await (const page of pages) expect(page).toBeDefined();
      };
      await expect(read()).rejects.toMatchObject({ name: 'MirrorError', code: 'origin_malformed' });
    }
  });
});
