import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { runExport } from '../../../../src/cli/bundle/export.ts';
import { blake3Hex } from '../../../../src/platform/hashing/blake3.ts';
import { systemClock } from '../../../../src/platform/process/clock.ts';
import { manifestPath } from '../../../../src/snapshot/volume/layout.ts';
import {
  exportBundle,
  makeAttestedStore,
  runBundleCommand,
  type AttestedStore,
} from '../../../support/bundles.ts';
import { canMount, tmpfs } from '../../../support/tmpfs.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

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

const BIG = Buffer.alloc(3 * 1024 * 1024 + 7, 'big');
let directory: string;
let store: AttestedStore;

beforeEach(async () => {
  directory = await temporaryDirectory();
  store = await makeAttestedStore(directory);
});

const release = async (releaseId: string, files: Record<string, string | Buffer>) =>
  await store.release({ releaseId, files, document: '{"ConnectionGroups":[]}' });

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
