import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { BUNDLE_PACK_BYTES, type Descriptor } from '../../../src/contract/formats/bundle-format.ts';
import type { ReleaseId } from '../../../src/domain/release/release-id.ts';
import { createBundleSource, type BundleSource } from '../../../src/mirror/bundle/bundle-source.ts';
import { planExport } from '../../../src/mirror/bundle/export-plan.ts';
import { createFolderShelf } from '../../../src/mirror/bundle/folder-shelf.ts';
import { mostlyMissingPacks } from '../../../src/mirror/bundle/missing-in-packs.ts';
import { openBundle } from '../../../src/mirror/bundle/open-bundle.ts';
import { openLayout } from '../../../src/mirror/bundle/open-layout.ts';
import {
  listTar,
  TAR_END,
  TarError,
  tarHeader,
  tarPadding,
  type TarMember,
} from '../../../src/mirror/bundle/tar-file.ts';
import { createWholeBlobs } from '../../../src/mirror/bundle/whole-blobs.ts';
import { writeBundle } from '../../../src/mirror/bundle/write-bundle.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import { exportBundle, makeAttestedStore, type AttestedStore } from '../../support/bundles.ts';
import { collect } from '../../support/collect.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const SIGNAL = new AbortController().signal;

let folder: string;
let store: AttestedStore;
let source: BundleSource;

const put = async (releaseId: string, text: string): Promise<string> => {
  await mkdir(folder, { recursive: true });
  await store.release({ releaseId, files: { 'a.bin': text } });
  const path = join(folder, `${releaseId}.tar`);
  await exportBundle(store, releaseId, path);
  return path;
};

describe('a folder of bundles', () => {
  beforeEach(async () => {
    const directory = await temporaryDirectory();
    folder = join(directory, 'bundles');
    store = await makeAttestedStore(directory);
    const shelf = createFolderShelf(folder);
    onTestFinished(async () => await shelf.close());
    source = createBundleSource(shelf);
  });

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

describe('objects that are missing in packs', () => {
  it('finds the packs of which more than half is missing, and counts an object once', async () => {
    const directory = await temporaryDirectory();
    const store = await makeAttestedStore(directory);
    // Packs of 10 bytes: "aaaabbbbbb", "bbccccdddd", "d".
    const [a, b, c, d] = ['aaaa', 'bbbbbbbb', 'cccc', 'ddddd'];
    await store.release({ releaseId: 'r1', files: { a, b, c, d } });
    const plan = await planExport(store.root, 'r1' as ReleaseId, null, SIGNAL);
    const path = join(directory, 'r1.tar');
    const file = await open(path, 'w');
    const write = async (bytes: Uint8Array): Promise<void> => await file.writeFile(bytes);
    await writeBundle({ plan, write, onProgress: () => undefined, signal: SIGNAL, packBytes: 10 });
    await file.close();
    const layout = await openLayout(path);
    onTestFinished(async () => await layout.close());
    const [manifest] = layout.manifests;
    if (manifest === undefined) throw new Error('no manifest');
    const bundle = await openBundle(layout, manifest, SIGNAL);
    const [first = '', second = '', third = ''] = bundle.layers.packs.map(({ digest }) => digest);
    const missing = async (...texts: readonly string[]): Promise<[string, number][]> => [
      ...(await mostlyMissingPacks(
        [bundle],
        texts.map((text) => blake3Hex(Buffer.from(text))),
      )),
    ];
    expect(await missing(a, a)).toEqual([]);
    expect(await missing(a, b)).toEqual([[first, 10]]);
    expect(await missing(d, c, 'unknown')).toEqual([
      [second, 8],
      [third, 1],
    ]);
  });
});

function blob(name: string, size = 10): Descriptor {
  return { mediaType: 'pack', digest: name, size };
}

/** The bytes of a blob: the first is 0, the second 1. */
function bytesOf(start: number, end: number): Buffer {
  return Buffer.from(Array.from({ length: end - start }, (_, at) => (start + at) % 256));
}

/** A source whose blobs arrive a byte at a time, and that notes what it was asked for. */
function sourceOf({
  failAt = -1,
  pause = Promise.resolve(),
  ignoresRanges = false,
}: { failAt?: number; pause?: Promise<void>; ignoresRanges?: boolean } = {}): {
  readonly asked: string[];
  readonly reader: Parameters<typeof createWholeBlobs>[0];
} {
  const asked: string[] = [];
  return {
    asked,
    reader: {
      label: 'source',
      async open({ digest, size }, start, end, signal) {
        const asksWhole = start === 0 && end === size;
        asked.push(asksWhole ? digest : `${digest} ${start}-${end}`);
        const isWhole = asksWhole || ignoresRanges;
        const [from, to] = isWhole ? [0, size] : [start, end];
        const chunks = async function* chunks() {
          for (let at = from; at < to; at += 1) {
            if (isWhole && at === failAt) throw new Error('reset');
            if (at === from + 5) await pause;
            signal.throwIfAborted();
            yield bytesOf(at, at + 1);
          }
        };
        return { isWhole, chunks: chunks(), discard: () => undefined };
      },
    },
  };
}

async function read(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await collect(pieces));
}

describe('blobs of which most is missing', () => {
  it('are fetched once for all of their objects, which are handed on while the blob arrives', async () => {
    const rest = Promise.withResolvers<void>();
    const { asked, reader } = sourceOf({ pause: rest.promise });
    const blobs = createWholeBlobs(reader);
    blobs.want(new Map([['a', 9]]));
    const last = read(blobs.read(blob('a'), 6, 9, SIGNAL));
    expect(await read(blobs.read(blob('a'), 0, 3, SIGNAL))).toEqual(bytesOf(0, 3));
    rest.resolve();
    expect(await last).toEqual(bytesOf(6, 9));
    expect(await read(blobs.read(blob('a'), 3, 6, SIGNAL))).toEqual(bytesOf(3, 6));
    expect(asked).toEqual(['a']);
    // Everything that was wanted of it was read, so it is no longer in memory.
    expect(await read(blobs.read(blob('a'), 1, 2, SIGNAL))).toEqual(bytesOf(1, 2));
    expect(asked).toEqual(['a', 'a 1-2']);
  });

  it('are not fetched whole when nobody said so, or when they are larger than a pack', async () => {
    const { asked, reader } = sourceOf();
    const blobs = createWholeBlobs(reader);
    blobs.want(new Map([['large', 9]]));
    await read(blobs.read(blob('b'), 2, 4, SIGNAL));
    await read(blobs.read(blob('large', BUNDLE_PACK_BYTES + 1), 2, 4, SIGNAL));
    expect(asked).toEqual(['b 2-4', 'large 2-4']);
  });

  it('never take more memory than two of them', async () => {
    const rest = Promise.withResolvers<void>();
    const { asked, reader } = sourceOf({ pause: rest.promise });
    const blobs = createWholeBlobs(reader);
    blobs.want(new Map(['a', 'b', 'c', 'd'].map((name) => [name, 100])));
    const reading = ['a', 'b'].map(async (name) => await read(blobs.read(blob(name), 6, 9, SIGNAL)));
    expect(await read(blobs.read(blob('c'), 1, 2, SIGNAL))).toEqual(bytesOf(1, 2));
    expect(asked).toEqual(['a', 'b', 'c 1-2']);
    rest.resolve();
    await Promise.all(reading);
    // Nobody reads the first one now, and it makes room.
    expect(await read(blobs.read(blob('d'), 1, 2, SIGNAL))).toEqual(bytesOf(1, 2));
    expect(await read(blobs.read(blob('a'), 1, 2, SIGNAL))).toEqual(bytesOf(1, 2));
    expect(asked.slice(3)).toEqual(['d', 'a 1-2']);
  });

  it('are fetched once and kept where the source ignores ranges', async () => {
    const { asked, reader } = sourceOf({ ignoresRanges: true });
    const blobs = createWholeBlobs(reader);
    for (const start of [2, 0, 6]) {
      expect(await read(blobs.read(blob('a'), start, start + 2, SIGNAL))).toEqual(bytesOf(start, start + 2));
    }
    expect(asked).toEqual(['a 2-4']);
    await read(blobs.read(blob('b'), 2, 4, SIGNAL));
    // Four at the same time, of which only two have room.
    await Promise.all(
      ['c', 'd', 'c', 'd', 'e'].map(async (name) => await read(blobs.read(blob(name), 1, 3, SIGNAL))),
    );
    expect(asked.slice(1).sort()).toEqual(['b', 'c', 'd', 'e']);
    // Wrong bytes are not kept.
    blobs.forget('e');
    await read(blobs.read(blob('e'), 1, 3, SIGNAL));
    expect(asked.at(-1)).toBe('e');
    expect(asked).toHaveLength(6);
  });

  it('wait for room without taking it from each other where the source ignores ranges', async () => {
    const { asked, reader } = sourceOf({ ignoresRanges: true });
    const blobs = createWholeBlobs(reader);
    await read(blobs.read(blob('first'), 2, 4, SIGNAL));
    const names = Array.from({ length: 8 }, (_, at) => `pack ${at}`);
    const found = names.map(async (name) => await read(blobs.read(blob(name), 6, 9, SIGNAL)));
    expect(await Promise.all(found)).toEqual(names.map(() => bytesOf(6, 9)));
    expect(asked.slice(1).sort()).toEqual(names);
  });

  it('are tried three times, and then read range by range', async () => {
    const { asked, reader } = sourceOf({ failAt: 4 });
    const blobs = createWholeBlobs(reader);
    blobs.want(new Map([['a', 100]]));
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await expect(read(blobs.read(blob('a'), 3, 6, SIGNAL))).rejects.toThrow('reset');
    }
    expect(await read(blobs.read(blob('a'), 3, 6, SIGNAL))).toEqual(bytesOf(3, 6));
    expect(asked).toEqual(['a', 'a', 'a', 'a 3-6']);
  });

  it('stop arriving when the reader is stopped, or something else is wanted', async () => {
    const stop = new AbortController();
    const first = Promise.withResolvers<void>();
    const { reader } = sourceOf({ pause: first.promise });
    const blobs = createWholeBlobs(reader);
    blobs.want(new Map([['a', 100]]));
    const stopped = read(blobs.read(blob('a'), 6, 9, stop.signal));
    stop.abort(new Error('stopped'));
    first.resolve();
    await expect(stopped).rejects.toThrow('stopped');
    const second = Promise.withResolvers<void>();
    const other = createWholeBlobs(sourceOf({ pause: second.promise }).reader);
    other.want(new Map([['a', 100]]));
    const replaced = read(other.read(blob('a'), 6, 9, SIGNAL));
    other.want(new Map());
    second.resolve();
    await expect(replaced).rejects.toThrow();
  });
});
