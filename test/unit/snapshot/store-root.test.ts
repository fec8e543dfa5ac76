import { execFileSync } from 'node:child_process';
import { renameSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import process from 'node:process';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { noFailpoints } from '../../../src/platform/files/failpoints.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import { createHashPool } from '../../../src/platform/hashing/hash-pool.ts';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { openFencedWriter } from '../../../src/snapshot/fenced-writer.ts';
import type { SnapshotWriter } from '../../../src/snapshot/snapshot-writer.ts';
import { openWriterAt } from '../../support/open-writer.ts';
import { acquireStoreLease, type StoreLease } from '../../../src/snapshot/volume/store-lease.ts';
import { StoreReplacedError, StoreRoot } from '../../../src/snapshot/volume/store-root.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { storeRelease, type StoredSample } from '../../support/store-release.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { treeDigest } from '../../support/tree-digest.ts';
import { until } from '../../support/until.ts';

const pool = createHashPool({ threads: 1 });
afterAll(async () => {
  await pool.close();
});

const FILES = new Map([['a.bin', Buffer.from('one')]]);
const OBJECT = blake3Hex(Buffer.from('one'));

/** The store of a daemon at `root`, and that of another one at `foreign`, with the same release and task. */
class Swapped {
  readonly root: string;
  readonly foreign: string;
  readonly away: string;
  readonly writer: SnapshotWriter;
  readonly lease: StoreLease;
  readonly clock: FakeClock;
  readonly sample: StoredSample;
  /** What happens between the comparison and the write. */
  #race: () => void = () => undefined;

  private constructor(
    paths: { readonly root: string; readonly foreign: string },
    writer: SnapshotWriter,
    lease: StoreLease,
    clock: FakeClock,
    sample: StoredSample,
  ) {
    this.root = paths.root;
    this.foreign = paths.foreign;
    this.away = `${paths.root}-away`;
    this.writer = writer;
    this.lease = lease;
    this.clock = clock;
    this.sample = sample;
  }

  static async open(pathOf?: (descriptor: number) => string): Promise<Swapped> {
    const directory = await temporaryDirectory();
    const [root, foreign] = [join(directory, 'volume'), join(directory, 'foreign')];
    const clock = new FakeClock(Date.now());
    const others = await openWriterAt({ root: foreign, failpoints: noFailpoints, clock });
    await storeRelease(others, pool, { id: 'r1', files: FILES });
    await others.publishAttestation(Buffer.from('of the other'), 1);
    await mkdir(join(foreign, 'lease'));
    await writeFile(join(foreign, 'lease/1'), 'of the other');

    const volume = await StoreRoot.open(root, undefined, pathOf);
    const lease = await acquireStoreLease({
      volume,
      holder: { id: 'own', name: 'own' },
      clock,
      logger: createSilentLogger(),
      signal: new AbortController().signal,
      onWait: () => undefined,
      onLost: () => undefined,
    });
    onTestFinished(async () => {
      await lease.release();
      await volume.close();
    });
    let swapped: Swapped | null = null;
    const fence = {
      check: () => {
        lease.check();
      },
      confirm: async () => {
        await lease.confirm();
        swapped?.race();
      },
    };
    const writer = await openFencedWriter({ root: volume, failpoints: noFailpoints, clock }, fence);
    const sample = await storeRelease(writer, pool, { id: 'r1', files: FILES });
    await writer.publishAttestation(Buffer.from('own'), 1);
    swapped = new Swapped({ root, foreign }, writer, lease, clock, sample);
    return swapped;
  }

  race(): void {
    const race = this.#race;
    this.#race = () => undefined;
    race();
  }

  swapInTheNextChange(): void {
    this.#race = () => {
      renameSync(this.root, this.away);
      renameSync(this.foreign, this.root);
    };
  }

  async swapBack(): Promise<void> {
    await rename(this.root, this.foreign);
    await rename(this.away, this.root);
  }
}

/** Every kind of change of a volume. */
const CHANGES: Readonly<Record<string, (of: Swapped) => Promise<unknown>>> = {
  attestation: ({ writer }) => writer.publishAttestation(Buffer.from('next'), 2),
  record: ({ writer, sample }) => writer.writeReleaseRecord({ ...sample.record, release_id: 'r2' as never }),
  'removal of a record': ({ writer }) => writer.removeReleaseRecord('official', 'r1' as never),
  manifest: ({ writer, sample }) =>
    writer.writeManifest('task-1', { ...sample.header, app_version: '2.0' }, sample.entries),
  'removal of a manifest': ({ writer, sample }) => writer.removeManifest(sample.snapshotId),
  'staging folder': ({ writer }) => writer.stagingDirectory('task-2'),
  'removal of a staging folder': ({ writer }) => writer.removeStaging('task-1'),
  quarantine: ({ writer }) => writer.quarantine(OBJECT, 'task-1'),
  FORMAT: ({ writer }) => writer.restoreFormat(),
  'sweep of objects': ({ writer }) => writer.sweepObjects(() => false, -60_000),
  'sweep of manifests': ({ writer }) => writer.sweepManifests(() => false, -60_000),
  'sweep of the quarantine': ({ writer }) => writer.sweepQuarantine({ objects: 0, bytes: 0, ageMs: 0 }),
};

/** Stages bytes as a task does, with the path that the writer gave it. */
async function stage({ writer }: Swapped, name: string): Promise<string> {
  const stagedPath = join(await writer.stagingDirectory('task-1'), name);
  await writeFile(stagedPath, name);
  return stagedPath;
}

function commit({ writer }: Swapped, stagedPath: string): Promise<void> {
  const bytes = Buffer.from(basename(stagedPath));
  return writer.commitObject({
    stagedPath,
    digests: { size: bytes.length, blake3: blake3Hex(bytes), blocks: null },
  });
}

describe('a volume that is replaced by another store', () => {
  it.each(Object.entries(CHANGES))(
    'is not written by the %s: not in the race after the comparison, and not later',
    async (_what, change) => {
      const swapped = await Swapped.open();
      const before = await treeDigest(swapped.foreign);
      swapped.swapInTheNextChange();
      // It goes into the store that was opened.
      await change(swapped);
      expect(await readdir(swapped.away)).toContain('FORMAT');
      expect(await treeDigest(swapped.root)).toBe(before);
      await expect(change(swapped)).rejects.toThrow(StoreReplacedError);
      await expect(change(swapped)).rejects.toThrow(`volume ${swapped.root} is not the one`);
      expect(swapped.lease.status()).toMatchObject({
        state: 'unconfirmed',
        replacedBy: expect.stringContaining('it holds another store (') as unknown,
      });
      expect(await treeDigest(swapped.root)).toBe(before);
      await swapped.swapBack();
      await change(swapped);
      expect(swapped.lease.status()).toMatchObject({ state: 'held', replacedBy: null });
      expect(await treeDigest(swapped.foreign)).toBe(before);
    },
  );

  it('gets no object, no staged file of a thread or a child process, and no lease', async () => {
    const swapped = await Swapped.open();
    const { root, foreign, away, writer, lease, clock } = swapped;
    const before = await treeDigest(foreign);
    const [first, second, third] = [
      await stage(swapped, 'first'),
      await stage(swapped, 'second'),
      await stage(swapped, 'third'),
    ];
    swapped.swapInTheNextChange();
    await commit(swapped, first);
    const object = blake3Hex(Buffer.from('first'));
    expect(await readFile(join(away, 'objects', object.slice(0, 2), object.slice(2)), 'utf8')).toBe('first');
    // The paths of a task that runs still lead into its own store, in another process too.
    execFileSync(process.execPath, [
      '-e',
      'require("node:fs").writeFileSync(process.argv[1], "child")',
      join(dirname(second), 'child'),
    ]);
    expect(await readFile(join(away, 'tmp/task-1/child'), 'utf8')).toBe('child');
    await commit(swapped, second);
    // The next renewal notices it.
    await until(async () => {
      await clock.advance(1000);
      return lease.status().replacedBy !== null;
    });
    expect(() => {
      lease.check();
    }).toThrow('it holds another store (');
    await expect(commit(swapped, third)).rejects.toThrow(StoreReplacedError);
    await expect(writer.flush()).rejects.toThrow(StoreReplacedError);
    await expect(writer.restoreBlockList({} as never)).rejects.toThrow(StoreReplacedError);
    await lease.release();
    expect(await readFile(join(away, 'lease/1'), 'utf8')).not.toContain('"released":true');
    expect(await treeDigest(root)).toBe(before);
  });

  it.each(Object.entries(CHANGES))(
    'is compared before the %s where nothing can be held open',
    async (_what, change) => {
      const swapped = await Swapped.open(() => '/not/there');
      const before = await treeDigest(swapped.foreign);
      await rename(swapped.root, swapped.away);
      await rename(swapped.foreign, swapped.root);
      await expect(change(swapped)).rejects.toThrow('it holds another store (');
      expect(await treeDigest(swapped.root)).toBe(before);
      await swapped.swapBack();
      await change(swapped);
    },
  );
});

describe('the volume of a store', () => {
  it('is followed when the same store comes back as another folder', async () => {
    const { root, away, writer, lease } = await Swapped.open();
    await rename(root, away);
    await expect(writer.stagingDirectory('task-2')).rejects.toThrow('no folder is there');
    await cp(away, root, { recursive: true });
    const before = await treeDigest(away);
    await writer.publishAttestation(Buffer.from('next'), 2);
    await lease.confirm();
    expect(await readFile(join(root, 'attest/current.json'), 'utf8')).toBe('next');
    expect(await treeDigest(away)).toBe(before);
  });

  it.each([
    [
      'an older copy of it',
      async ({ root, away, writer }: Swapped) => {
        await cp(root, away, { recursive: true });
        await writer.publishAttestation(Buffer.from('next'), 2);
        await rm(root, { recursive: true });
        await rename(away, root);
      },
      'an older copy of the store, with attestation version 1 where version 2 was written',
    ],
    [
      'an empty folder',
      async ({ root, away }: Swapped) => {
        await rename(root, away);
        await mkdir(root);
      },
      'it holds no store anymore',
    ],
    [
      'nothing: all its files were removed',
      async ({ root }: Swapped) => {
        for (const name of await readdir(root)) await rm(join(root, name), { recursive: true });
      },
      'it holds no store anymore',
    ],
    [
      'another store in the same folder',
      async ({ root, foreign }: Swapped) => {
        for (const name of await readdir(root)) await rm(join(root, name), { recursive: true });
        await cp(foreign, root, { recursive: true });
      },
      'it holds another store (',
    ],
  ])('is not written when %s is in its place', async (_what, replace, reason) => {
    const swapped = await Swapped.open();
    await replace(swapped);
    const before = await treeDigest(swapped.root);
    for (const change of Object.values(CHANGES)) await expect(change(swapped)).rejects.toThrow(reason);
    await expect(swapped.lease.confirm()).rejects.toThrow(reason);
    expect(await treeDigest(swapped.root)).toBe(before);
  });

  it('is named by its path in every field of an error, and so is the folder that it had before', async () => {
    const path = join(await temporaryDirectory(), 'volume');
    const root = await StoreRoot.open(path);
    onTestFinished(async () => await root.close());
    const nameOf = (folder: string): object => {
      const [from, to] = [`${folder}/a`, `${folder}7/b`];
      const error = new Error(`EXDEV: rename '${from}' -> '${to}' in '${folder}'`);
      root.named(Object.assign(error, { path: from, dest: folder }));
      const { message, path: named, dest } = error as Error & { path: string; dest: string };
      return { message, path: named, dest };
    };
    const { folder } = root;
    const expected = {
      message: `EXDEV: rename '${path}/a' -> '${folder}7/b' in '${path}'`,
      path: `${path}/a`,
      dest: path,
    };
    expect(nameOf(folder)).toEqual(expected);
    await rename(path, `${path}-away`);
    await mkdir(path);
    await root.confirm();
    expect(root.folder).not.toBe(folder);
    expect(nameOf(folder)).toEqual(expected);
  });

  it('is refused before anything is written, and an error names its path', async () => {
    const root = join(await temporaryDirectory(), 'volume');
    const refuse = async (folder: string): Promise<void> => {
      await Promise.reject(new Error(`${folder} is refused`));
    };
    await expect(StoreRoot.open(root, refuse)).rejects.toThrow(`${root} is refused`);
    expect(await readdir(root)).toEqual([]);
  });
});
