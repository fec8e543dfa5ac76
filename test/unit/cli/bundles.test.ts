import { execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import {
  chmod,
  lstat,
  mkdir,
  readdir,
  readFile,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { runExport } from '../../../src/cli/bundle/export.ts';
import { runImport } from '../../../src/cli/bundle/import.ts';
import { placeBundle } from '../../../src/cli/bundle/place-bundle.ts';
import { BundleError } from '../../../src/mirror/bundle/bundle-error.ts';
import { openLayout } from '../../../src/mirror/bundle/open-layout.ts';
import { tarHeader } from '../../../src/mirror/bundle/tar-file.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import { manifestPath } from '../../../src/snapshot/volume/layout.ts';
import {
  exportBundle,
  makeAttestedStore,
  runBundleCommand,
  runPipedCommand,
  type AttestedStore,
  type CommandRun,
} from '../../support/bundles.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { canMount, tmpfs } from '../../support/tmpfs.ts';
import { until } from '../../support/until.ts';

interface ImageManifest {
  readonly artifactType: string;
  readonly config: { readonly digest: string; readonly mediaType: string };
  readonly layers: ReadonlyArray<{
    readonly mediaType: string;
    readonly digest: string;
    readonly size: number;
  }>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Unpacks a bundle with the system's tar and reads it by the rules of an OCI image layout. */
async function unpack(
  file: string,
): Promise<{ manifest: ImageManifest; tag: string; layers: readonly Buffer[] }> {
  const target = `${file}.unpacked`;
  await mkdir(target);
  execFileSync('tar', ['-xf', file, '-C', target]);
  const blob = async (digest: string): Promise<Buffer> => {
    const bytes = await readFile(join(target, 'blobs', digest.replace(':', '/')));
    expect(`sha256:${createHash('sha256').update(bytes).digest('hex')}`).toBe(digest);
    return bytes;
  };
  expect(JSON.parse(await readFile(join(target, 'oci-layout'), 'utf8'))).toEqual({
    imageLayoutVersion: '1.0.0',
  });
  const index = JSON.parse(await readFile(join(target, 'index.json'), 'utf8')) as {
    manifests: ReadonlyArray<{ digest: string; annotations: Record<string, string> }>;
  };
  expect(index.manifests).toHaveLength(1);
  const [described] = index.manifests;
  const manifest = JSON.parse((await blob(described?.digest ?? '')).toString()) as ImageManifest;
  expect((await blob(manifest.config.digest)).toString()).toBe('{}');
  const layers = await Promise.all(manifest.layers.map(async ({ digest }) => await blob(digest)));
  expect(layers.map(({ length }) => length)).toEqual(manifest.layers.map(({ size }) => size));
  return { manifest, tag: described?.annotations['org.opencontainers.image.ref.name'] ?? '', layers };
}

describe('slipway export', () => {
  const BIG = Buffer.alloc(3 * 1024 * 1024 + 7, 'big');
  let directory: string;
  let store: AttestedStore;

  beforeEach(async () => {
    directory = await temporaryDirectory();
    store = await makeAttestedStore(directory);
  });

  const release = async (releaseId: string, files: Record<string, string | Buffer>) =>
    await store.release({ releaseId, files, document: '{"ConnectionGroups":[]}' });

  it('writes an OCI image layout with the signed attestation, the manifest and every object once', async () => {
    const attested = await release('r1', {
      'a.bin': 'aaa',
      'b/big.bin': BIG,
      'c.bin': 'aaa',
      'empty.bin': '',
    });
    const file = join(directory, 'r1.tar');
    await exportBundle(store, 'r1', file);
    const { manifest, tag, layers } = await unpack(file);
    expect(tag).toBe('r1');
    expect(manifest.artifactType).toBe('application/vnd.slipway.release.v1');
    expect(manifest.config.mediaType).toBe('application/vnd.oci.empty.v1+json');
    expect(manifest.annotations['dev.slipway.snapshot']).toBe(attested.snapshot_id);
    const [attestation, lines, objects, ...packs] = layers;
    expect(attestation).toEqual(await readFile(join(store.root, 'attest/current.json')));
    expect(lines).toEqual(await readFile(manifestPath(store.root, blake3Hex(lines ?? Buffer.alloc(0)))));
    const [header, ...listed] = (objects?.toString().trimEnd().split('\n') ?? []).map(
      (line) => JSON.parse(line) as { blake3: string; size: number },
    );
    expect(header).toMatchObject({ format: 'slipway-objects', version: 1, objects: 4 });
    const bytes = Buffer.concat(packs);
    let at = 0;
    const found = listed.map(({ blake3, size }) => {
      const object = bytes.subarray(at, at + size);
      at += size;
      expect(blake3Hex(object)).toBe(blake3);
      return object.length;
    });
    expect(at).toBe(bytes.length);
    expect(found).toEqual(['{"ConnectionGroups":[]}'.length, 3, BIG.length, 0]);
  });

  it('gives the same file for the same release and attestation, also through a pipe', async () => {
    await release('r1', { 'a.bin': 'aaa', 'b.bin': BIG });
    const [first, second] = [join(directory, 'first.tar'), join(directory, 'second.tar')];
    await exportBundle(store, 'r1', first);
    await exportBundle(store, 'r1', second);
    const piped = await runBundleCommand(runExport, 'r1', '--data', directory, '-o', '-');
    expect(piped).toMatchObject({ code: 0, err: expect.stringContaining('3.0 MiB') as string });
    expect((await readFile(second)).equals(await readFile(first))).toBe(true);
    expect(piped.out.equals(await readFile(first))).toBe(true);
  });

  it('leaves out the objects of the release that the other side has', async () => {
    await release('r1', { 'a.bin': 'aaa', 'b.bin': BIG });
    await release('r2', { 'a.bin': 'new', 'b.bin': BIG });
    const file = join(directory, 'r2.tar');
    await exportBundle(store, 'r2', file, '--since', 'r1');
    const { manifest, layers } = await unpack(file);
    expect(manifest.annotations['dev.slipway.since']).toBe('r1');
    expect(layers.slice(3).join('')).toBe('{"ConnectionGroups":[]}new');
  });

  it('takes the newest attestation under which the release was current', async () => {
    await release('r1', { 'a.bin': 'aaa' });
    const envelope = await readFile(join(store.root, 'attest/current.json'));
    await release('r2', { 'a.bin': 'new' });
    const file = join(directory, 'r1.tar');
    await exportBundle(store, 'r1', file);
    expect((await unpack(file)).layers[0]).toEqual(envelope);
  });

  it('writes no file when an object is damaged, and says which', async () => {
    await release('r1', { 'a.bin': 'aaa', 'b.bin': BIG });
    await writeFile(store.pathOf('aaa'), 'bad');
    const file = join(directory, 'r1.tar');
    const { code, err } = await runBundleCommand(runExport, 'r1', '--data', store.root, '-o', file);
    expect(code).toBe(1);
    expect(err).toContain(
      `object ${blake3Hex(Buffer.from('aaa'))} has the digest ${blake3Hex(Buffer.from('bad'))}`,
    );
    expect((await readdir(directory)).filter((name) => name.includes('r1'))).toEqual([]);
  });

  it.each([
    [['r2', '-o', 'x.tar'], 1, 'no attestation in'],
    [['r1', '-o', 'x.tar', '--since', 'r9'], 1, 'does not have release r9'],
    [['r1', '-o', 'x.tar', '--since', 'r1'], 1, 'are the same'],
    [['r1'], 2, '--output is missing'],
    [['-o', 'x.tar'], 2, 'name exactly one release'],
    [['../r1', '-o', 'x.tar'], 2, 'a release id is'],
    [['r1', '-o', 'x.tar', '--sinse', 'r0'], 2, 'did you mean "--since"'],
  ])('refuses %j', async (argv, code, message) => {
    await release('r1', { 'a.bin': 'aaa' });
    const run = await runBundleCommand(runExport, ...argv, '--data', store.root);
    expect(run.code).toBe(code);
    expect(run.err).toContain(message);
  });

  it.each([
    ['a link', async (path: string) => await symlink('elsewhere.tar', path)],
    ['a folder', async (path: string) => await mkdir(path)],
    ['a pipe', async (path: string) => await Promise.resolve(execFileSync('mkfifo', [path]))],
  ])('does not replace %s', async (_what, make) => {
    await release('r1', { 'a.bin': 'aaa' });
    const file = join(directory, 'r1.tar');
    await make(file);
    const before = await lstat(file);
    const { code, err } = await runBundleCommand(runExport, 'r1', '--data', store.root, '-o', file);
    expect([code, err]).toEqual([
      1,
      expect.stringContaining(`${file} is not a regular file, so it is not replaced`),
    ]);
    expect((await lstat(file)).ino).toBe(before.ino);
  });

  it.skipIf(!canMount())('names the file on a full disk, says what to do, and leaves nothing', async () => {
    await release('r1', { 'big.bin': BIG });
    const target = await tmpfs('1m');
    const file = join(target, 'r1.tar');
    const { code, err } = await runBundleCommand(runExport, 'r1', '--data', store.root, '-o', file);
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(
        /^slipway export: .*r1\.tar was not written: its disk is full, .* at least 3\.0 MiB; free space there/m,
      ),
    ]);
    expect(await readdir(target)).toEqual([]);
  });

  it.each(['ENOSPC', 'EDQUOT'])(
    'says the same of standard output when a write fails with %s',
    async (code) => {
      await release('r1', { 'big.bin': BIG });
      const stdout = new Writable({
        write: (_bytes, _encoding, done) => done(Object.assign(new Error('write'), { code })),
      });
      // Without a listener the error of the stream would end the test.
      stdout.on('error', () => undefined);
      let err = '';
      const stderr = { write: (text: string) => (err += text) };
      const { signal } = new AbortController();
      const io = { stdin: Readable.from([]), stdout, stderr, clock: systemClock, signal };
      expect(await runExport(['r1', '--data', store.root, '-o', '-'], io)).toBe(1);
      expect(err).toMatch(
        /^slipway export: standard output was not written: its disk is full, .* at least 3\.0 MiB; free space there/m,
      );
    },
  );

  it('says where it looked for a store', async () => {
    const run = await runBundleCommand(runExport, 'r1', '-o', 'x.tar', '--data', join(directory, 'none'));
    expect(run.code).toBe(1);
    expect(run.err).toContain('holds no snapshot store');
  });
});

let folder: string;
let file: string;

const imported = async (): Promise<string[]> =>
  (await readdir(folder).catch(() => [])).toSorted((left, right) => (left < right ? -1 : 1));

describe('slipway import', () => {
  const BIG = Buffer.alloc(2 * 1024 * 1024 + 7, 'big');
  let directory: string;
  let store: AttestedStore;

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
      /attestation version 1 of \d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z/,
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

const MIB = 1024 * 1024;
const HEADER = tarHeader('oci-layout', 30);

describe('the place of an imported bundle', () => {
  it('a bundle that comes through a pipe stops before it fills the volume, and leaves nothing', async () => {
    const folder = join(await temporaryDirectory(), 'bundles');
    await mkdir(folder);
    let given = 0;
    const pieces = Readable.from(
      (function* () {
        while (given < 200 * MIB) {
          yield given === 0 ? HEADER : Buffer.alloc(4 * MIB);
          given += 4 * MIB;
        }
      })(),
    );
    const placing = placeBundle({
      folder,
      source: { kind: 'pipe', pieces },
      check: async () => await Promise.reject(new Error('there is no end to check')),
      now: () => Date.now(),
      signal: new AbortController().signal,
      statfs: async () => await Promise.resolve({ bavail: 100 * MIB - given, bsize: 1 }),
    });
    await expect(placing).rejects.toThrow(
      /^standard input has more than \d+\.0 MiB, and .* has \d+\.0 MiB free, of which 64\.0 MiB must stay free: /,
    );
    expect(given).toBeLessThan(100 * MIB);
    expect(await readdir(folder)).toEqual([]);
  });

  it.each([
    ['zeros', Buffer.alloc(MIB)],
    ['compressed bytes', Buffer.alloc(MIB, '\u001f')],
    // The first pieces of a pipe can be shorter than a header.
    ['lines', Buffer.from('no archive\n')],
  ])('a pipe of %s is refused at its first header, not at its end', async (_what, piece) => {
    const folder = await temporaryDirectory();
    let given = 0;
    const pieces = Readable.from(
      (function* () {
        while (given < 100 * MIB) {
          given += piece.length;
          yield piece;
        }
      })(),
    );
    const placing = placeBundle({
      folder,
      source: { kind: 'pipe', pieces },
      check: async () => await Promise.reject(new Error('there is no end to check')),
      now: () => Date.now(),
      signal: new AbortController().signal,
    });
    await expect(placing).rejects.toThrow(
      'standard input: the block at 0 is not a header of a tar archive; is it compressed, or damaged?',
    );
    expect(given).toBeLessThan(64 * MIB);
    expect(await readdir(folder)).toEqual([]);
  });

  it('a pipe whose first bytes come one by one is copied whole', async () => {
    const folder = await temporaryDirectory();
    const pieces = Readable.from([...HEADER, ...Buffer.from('more')].map((byte) => Buffer.from([byte])));
    await placeBundle({
      folder,
      source: { kind: 'pipe', pieces },
      check: async () => await Promise.resolve({ name: 'r1.tar' }),
      now: () => Date.now(),
      signal: new AbortController().signal,
    });
    expect(await readFile(join(folder, 'r1.tar'))).toEqual(Buffer.concat([HEADER, Buffer.from('more')]));
  });
});
