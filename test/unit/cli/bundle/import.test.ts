import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { runImport } from '../../../../src/cli/bundle/import.ts';
import {
  exportBundle,
  makeAttestedStore,
  runBundleCommand,
  type AttestedStore,
  type CommandRun,
} from '../../../support/bundles.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const BIG = Buffer.alloc(2 * 1024 * 1024 + 7, 'big');
let directory: string;
let store: AttestedStore;
let folder: string;
let file: string;

beforeEach(async () => {
  directory = await temporaryDirectory();
  store = await makeAttestedStore(join(directory, 'origin'));
  folder = join(directory, 'bundles');
  file = join(directory, 'bundle.tar');
  await store.release({
    releaseId: 'r1',
    files: { 'a.bin': 'aaa', 'b.bin': BIG, 'empty.bin': '' },
    document: '{"ConnectionGroups":[]}',
  });
});

const importFile = async (...argv: readonly string[]): Promise<CommandRun> =>
  await runBundleCommand(
    runImport,
    file,
    '--keys',
    store.keyFile,
    '--data',
    join(directory, 'here'),
    ...argv,
  );

const imported = async (): Promise<string[]> =>
  (await readdir(folder).catch(() => [])).toSorted((left, right) => (left < right ? -1 : 1));

describe('slipway import', () => {
  it('puts a sound bundle into the folder, byte for byte', async () => {
    await exportBundle(store, 'r1', file);
    const { code, out } = await importFile('--to', folder);
    expect(code).toBe(0);
    expect(out.toString()).toContain('official release r1 is in');
    const [name = ''] = await imported();
    expect(name).toMatch(/^official-r1-[0-9a-f]{12}\.tar$/);
    expect((await readFile(join(folder, name))).equals(await readFile(file))).toBe(true);
    await importFile('--to', folder);
    expect(await imported()).toEqual([name]);
  });

  it('reads what other programs packed: folders, dots, owners, extended headers', async () => {
    await exportBundle(store, 'r1', file);
    const unpacked = join(directory, 'unpacked');
    await mkdir(unpacked);
    execFileSync('tar', ['-xf', file, '-C', unpacked]);
    for (const format of ['gnu', 'pax', 'ustar', 'v7']) {
      execFileSync('tar', [`--format=${format}`, '-cf', file, '-C', unpacked, '.']);
      expect(await importFile('--check')).toMatchObject({ code: 0 });
    }
    file = unpacked;
    expect(await importFile('--check')).toMatchObject({ code: 0 });
  });

  it('finds every changed byte, and then imports nothing', async () => {
    await exportBundle(store, 'r1', file);
    const sound = await readFile(file);
    // A byte of every block that is not zero, each at another place of its block; of the large object some blocks. The last
    // file, index.json, is left out: it has a name that only people read.
    const end = sound.lastIndexOf('index.json\0');
    const places: number[] = [];
    for (let at = 0; at < end; at += at < 40 * 512 ? 512 : 701 * 512) {
      const used = sound.subarray(at, at + 512).findLastIndex((byte) => byte !== 0) + 1;
      if (used > 0) places.push(at + ((at / 512) % used));
    }
    expect(places.length).toBeGreaterThan(20);
    for (const place of places) {
      const bytes = Buffer.from(sound);
      bytes[place] = (bytes[place] ?? 0) ^ 1;
      await writeFile(file, bytes);
      const { code, err } = await importFile('--to', folder);
      expect([place, code, err.includes('nothing was imported')]).toEqual([place, 1, true]);
    }
    expect(await imported()).toEqual([]);
  });

  it.each([0, 1, 511, 512, 5000, 1_000_000])(
    'says that a bundle is cut off after %d bytes',
    async (bytes) => {
      await exportBundle(store, 'r1', file);
      await truncate(file, bytes);
      const { code, err } = await importFile('--to', folder);
      expect(code).toBe(1);
      expect(err).toMatch(/cut off|not written to its end/);
      expect(await imported()).toEqual([]);
    },
  );

  it('refuses an attestation that no trusted key signed', async () => {
    await exportBundle(store, 'r1', file);
    const other = await makeAttestedStore(join(directory, 'other'));
    const argv = [file, '--keys', other.keyFile, '--to', folder];
    const { code, err } = await runBundleCommand(runImport, ...argv);
    expect(code).toBe(1);
    expect(err).toContain('origin_untrusted');
    expect(await imported()).toEqual([]);
  });

  it('takes an incremental bundle once the release before it is in the folder or in the store', async () => {
    const whole = join(directory, 'r1.tar');
    await exportBundle(store, 'r1', whole);
    await store.release({ releaseId: 'r2', files: { 'a.bin': 'new', 'b.bin': BIG } });
    await exportBundle(store, 'r2', file, '--since', 'r1');
    const early = await importFile('--to', folder);
    expect(early).toMatchObject({ code: 1 });
    expect(early.err).toContain('leaves out what official release r1 has, and b.bin is not here');
    expect(
      await runBundleCommand(runImport, file, '--keys', store.keyFile, '--data', store.root, '--check'),
    ).toMatchObject({ code: 0 });
    await runBundleCommand(runImport, whole, '--keys', store.keyFile, '--to', folder);
    expect(await importFile('--to', folder)).toMatchObject({ code: 0 });
    expect(await imported()).toHaveLength(2);
  });

  it.each([
    [[], 2, '--keys is missing'],
    [['--keys', 'absent.pub'], 2, 'absent.pub: cannot be read'],
    [['--check', '--to', 'x', '--keys', 'k'], 2, 'leave --to out'],
  ])('refuses %j', async (argv, code, message) => {
    const run = await runBundleCommand(runImport, file, ...argv);
    expect(run.code).toBe(code);
    expect(run.err).toContain(message);
  });
});
