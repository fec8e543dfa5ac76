import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { runImport } from '../../../../src/cli/bundle/import.ts';
import { BundleError } from '../../../../src/mirror/bundle/bundle-error.ts';
import { openLayout } from '../../../../src/mirror/bundle/open-layout.ts';
import { systemClock } from '../../../../src/platform/process/clock.ts';
import {
  exportBundle,
  makeAttestedStore,
  runBundleCommand,
  runPipedCommand,
  type AttestedStore,
  type CommandRun,
} from '../../../support/bundles.ts';
import { canMount, tmpfs } from '../../../support/tmpfs.ts';
import { until } from '../../../support/until.ts';
import { tarHeader } from '../../../../src/mirror/bundle/tar-file.ts';
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

  it('takes a bundle through a pipe, with the same checks', async () => {
    await exportBundle(store, 'r1', file);
    const bytes = await readFile(file);
    const pipe = async (given: Readable, ...argv: readonly string[]): Promise<CommandRun> =>
      await runPipedCommand(runImport, given, '-', '--keys', store.keyFile, ...argv);
    const pieces = [bytes.subarray(0, 700), bytes.subarray(700, 1_000_000), bytes.subarray(1_000_000)];
    expect(await pipe(Readable.from(pieces), '--to', folder)).toMatchObject({ code: 0, err: '' });
    const [name = ''] = await imported();
    expect((await readFile(join(folder, name))).equals(bytes)).toBe(true);
    const cut = await pipe(Readable.from(pieces.slice(0, 2)), '--to', folder);
    expect(cut).toMatchObject({ code: 1, err: expect.stringMatching(/standard input.* (cut off|its end)/) });
    bytes[1_500_000] = (bytes[1_500_000] ?? 0) ^ 1;
    const damaged = await pipe(Readable.from([bytes]), '--to', join(directory, 'other'));
    expect(damaged).toMatchObject({ code: 1, err: expect.stringContaining('nothing was imported') });
    expect(await readdir(join(directory, 'other'))).toEqual([]);
    expect(await imported()).toEqual([name]);
    expect(await pipe(Readable.from([]), '--check')).toMatchObject({
      code: 2,
      err: expect.stringContaining('name a file'),
    });
  });

  it('stops waiting for a silent pipe when it is interrupted, and leaves nothing behind', async () => {
    const stop = new AbortController();
    const stdin = new PassThrough();
    stdin.write(tarHeader('oci-layout', 30));
    let err = '';
    const running = runImport(['-', '--keys', store.keyFile, '--to', folder], {
      stdin,
      stdout: new PassThrough(),
      stderr: { write: (text) => (err += text) },
      clock: systemClock,
      signal: stop.signal,
    });
    await until(async () => (await imported()).length === 1);
    stop.abort();
    expect([await running, err]).toEqual([1, expect.stringContaining('interrupted')]);
    expect(await imported()).toEqual([]);
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

  it('says when the bundle was attested', async () => {
    await exportBundle(store, 'r1', file);
    expect((await importFile('--check')).out.toString()).toMatch(
      /attestation version 1 of \d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.000Z/,
    );
  });

  it('does not meet another import, whatever its process id', async () => {
    await exportBundle(store, 'r1', file);
    // A process of another pod with the same id, in the middle of its copy.
    await mkdir(folder);
    await writeFile(join(folder, `.import.${process.pid}.tmp`), 'of another one');
    const runs = await Promise.all([importFile('--to', folder), importFile('--to', folder)]);
    expect(runs.map(({ code }) => code)).toEqual([0, 0]);
    expect(await readFile(join(folder, `.import.${process.pid}.tmp`), 'utf8')).toBe('of another one');
    expect(await imported()).toHaveLength(2);
  });

  it('removes the copy that a killed import left, and none that is in use', async () => {
    await exportBundle(store, 'r1', file);
    await mkdir(folder);
    const [old, recent] = [`.import.${randomUUID()}.tmp`, `.import.${randomUUID()}.tmp`];
    for (const name of [old, recent]) await writeFile(join(folder, name), 'half');
    const hourAgo = Date.now() / 1000 - 3600;
    await utimes(join(folder, old), hourAgo, hourAgo);
    expect(await importFile('--to', folder)).toMatchObject({ code: 0 });
    expect(await imported()).toEqual([recent, expect.stringMatching(/^official-r1-/)]);
  });

  it('ends soon when it is interrupted, and leaves nothing', async () => {
    await exportBundle(store, 'r1', file);
    // Long enough that a copy to the end would be seen.
    await truncate(file, 1024 ** 3);
    const controller = new AbortController();
    const stderr = { write: () => true };
    const stdout = new PassThrough();
    const stdin = Readable.from([]);
    const io = { stdin, stdout, stderr, clock: systemClock, signal: controller.signal };
    const run = runImport([file, '--keys', store.keyFile, '--to', folder], io);
    await until(async () => (await imported()).length === 1);
    controller.abort();
    expect(await run).toBe(1);
    expect(await imported()).toEqual([]);
  });

  it('puts a bundle into the folder that a daemon of another user can read', async () => {
    await exportBundle(store, 'r1', file);
    await chmod(file, 0o600);
    await importFile('--to', folder);
    const [name = ''] = await imported();
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o644);
  });

  it('refuses the bundle with which the daemon would read none', async () => {
    await exportBundle(store, 'r1', file);
    await mkdir(folder);
    for (let at = 0; at < 64; at += 1) await writeFile(join(folder, `${at}.tar`), '');
    const { code, err } = await importFile('--to', folder);
    expect([code, err]).toEqual([1, expect.stringContaining('a daemon reads at most 64')]);
    expect(await imported()).toHaveLength(64);
  });

  it.skipIf(!canMount())('says on a full disk how much is missing, and leaves nothing', async () => {
    await exportBundle(store, 'r1', file);
    folder = await tmpfs('1m');
    const { code, err } = await importFile('--to', folder);
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(
        /has 2\.\d MiB, and .* has 1\.0 MiB free, of which 64\.0 MiB must stay free: remove/,
      ),
    ]);
    expect(await imported()).toEqual([]);
  });

  it('refuses folders and pipes', async () => {
    const argv = ['--keys', store.keyFile, '--to', folder];
    const unpacked = await runBundleCommand(runImport, directory, ...argv);
    expect([unpacked.code, unpacked.err]).toEqual([1, expect.stringContaining('is a folder: pack it first')]);
    const pipe = join(directory, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const piped = await runBundleCommand(runImport, pipe, ...argv);
    expect([piped.code, piped.err]).toEqual([1, expect.stringContaining('is not a file')]);
  });

  it.each([
    ['a number that no header may hold', 124, 0xc0],
    ['a negative size', 124, 0xff],
    ['a time that no header may hold', 136, 0xc0],
  ])('names the bundle whose header has %s', async (_what, place, byte) => {
    await exportBundle(store, 'r1', file);
    const bytes = await readFile(file);
    bytes[place] = byte;
    bytes.fill(0x20, 148, 156);
    const sum = bytes.subarray(0, 512).reduce((total, each) => total + each, 0);
    bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
    await writeFile(file, bytes);
    await expect(openLayout(file)).rejects.toThrow(BundleError);
    expect((await importFile('--to', folder)).err).toContain(`${file}: the header at 0`);
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
