import { createHash, randomBytes } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { renderReleaseFileEntry } from '../../../src/contract/formats/release-file-format.ts';
import type { Blake3Hex } from '../../../src/domain/release/digest.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import { mapInOrder } from '../../../src/platform/process/concurrently.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import { runManifest } from '../../../src/upstream/release-file/run-manifest.ts';
import { collect } from '../../support/collect.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import {
  adapterFor,
  freeSignal,
  readAll,
  readBody,
  serve,
  upstreamErrorOf,
} from '../../support/upstream-harness.ts';

/** An instant that is long past, in seconds. */
const THEN = 1_700_000_000;

async function put(root: string, name: string, bytes: Buffer | string, seconds = THEN): Promise<void> {
  await mkdir(join(root, name, '..'), { recursive: true });
  await writeFile(join(root, name), bytes);
  await utimes(join(root, name), seconds, seconds);
}

async function manifest(...argv: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  let [out, err] = ['', ''];
  const code = await runManifest(argv, {
    stdout: {
      write: (text, done) => {
        out += text.toString();
        done?.();
      },
    },
    stderr: { write: (text) => (err += text) },
    progress: { show: () => undefined, end: () => undefined },
    clock: systemClock,
    signal: freeSignal(),
  });
  return { code, out, err };
}

interface Document {
  readonly release_id: string;
  readonly app_version?: string;
  readonly entries: ReadonlyArray<{ destination: string; digests: { blake3: string }; mtime_ns?: string }>;
}

async function documentOf(path: string): Promise<Document> {
  return JSON.parse(await readFile(path, 'utf8')) as Document;
}

/** A tree of a few files. */
async function makeTree(): Promise<{ root: string; files: Map<string, Buffer> }> {
  const root = await temporaryDirectory();
  const files = new Map([
    ['TableBundles/Excel.zip', randomBytes(3 * 1024 * 1024 + 1)],
    ['a-b', Buffer.from('x')],
    ['a/ü 日.txt', Buffer.from('hello')],
    ['empty', Buffer.alloc(0)],
  ]);
  for (const [name, bytes] of files) await put(root, name, bytes);
  return { root, files };
}

describe('slipway manifest', () => {
  it('writes what an upstream of kind manifest reads: every file, its digest, the server-info document', async () => {
    const { root, files } = await makeTree();
    await put(root, 'server-info.json', '{"a":1}');
    await put(root, '.git/config', 'left out');
    const { code, out } = await manifest(root, '--release', 'r7', '--app-version', '1.67.0');
    expect([code, out]).toEqual([
      0,
      `${join(root, 'release.json')} describes release r7: 4 files, 3.0 MiB; 4 files were read\n`,
    ]);
    const tree = new Map([...files].map(([name, bytes]) => [name, bytes]));
    for (const name of ['release.json', 'server-info.json']) tree.set(name, await readFile(join(root, name)));
    const server = await serve({ files: tree });
    const adapter = adapterFor({ kind: 'manifest', manifest: { url: server.url } });
    const { catalog, entries } = await readAll(adapter);
    expect([catalog.releaseId, catalog.appVersion]).toEqual(['r7', '1.67.0']);
    expect(String(Buffer.from(catalog.serverInfo ?? []))).toBe('{"a":1}');
    expect(new Map(entries.map(({ destination, digests }) => [destination, digests.blake3]))).toEqual(
      new Map([...files].map(([name, bytes]) => [name, blake3Hex(bytes)])),
    );
    for (const entry of entries) expect(await readBody(adapter, entry)).toEqual(files.get(entry.destination));
  });

  it('tells a daemon of another server-info document, which then takes no other', async () => {
    const { root } = await makeTree();
    const describe = async (document: string): Promise<Buffer> => {
      await put(root, 'server-info.json', document);
      expect((await manifest(root, '--update')).code).toBe(0);
      return await readFile(join(root, 'release.json'));
    };
    const [first, second] = [await describe('{"a":1}'), await describe('{"a":2}')];
    expect(first.equals(second)).toBe(false);
    const files = new Map([
      ['release.json', second],
      ['server-info.json', Buffer.from('{"a":1}')],
    ]);
    const adapter = adapterFor({ kind: 'manifest', manifest: { url: (await serve({ files })).url } });
    expect((await upstreamErrorOf(readAll(adapter))).code).toBe('digest_mismatch');
    files.set('server-info.json', Buffer.from('{"a":2}'));
    const whole = adapterFor({ kind: 'manifest', manifest: { url: (await serve({ files })).url } });
    expect(String((await readAll(whole)).catalog.serverInfo)).toBe('{"a":2}');
  });

  it('replaces nothing but a file, and says so before it reads a file', async () => {
    const { root } = await makeTree();
    const [link, folder] = [join(root, '.link'), join(root, '.folder')];
    await symlink('/dev/full', link);
    await mkdir(folder);
    for (const output of [link, folder]) {
      const { code, err } = await manifest(root, '-o', output);
      expect([code, err]).toEqual([
        1,
        expect.stringContaining('is not a regular file, so it is not replaced'),
      ]);
    }
    expect((await lstat(link)).isSymbolicLink()).toBe(true);
    const missing = await manifest(root, '-o', join(root, 'none', 'list.json'));
    expect(missing.err).toContain('check the folder of --output');
  });

  it('gives the same files the same id, and other files another one, whatever their times', async () => {
    const { root } = await makeTree();
    const idOf = async (): Promise<string> => {
      expect((await manifest(root)).code).toBe(0);
      return (await documentOf(join(root, 'release.json'))).release_id;
    };
    const first = await idOf();
    expect(first).toMatch(/^dir-[0-9a-f]{16}$/);
    await put(root, 'a-b', 'x', THEN + 9);
    expect(await idOf()).toBe(first);
    await put(root, 'a-b', 'y');
    expect(await idOf()).not.toBe(first);
  });

  it('reads only what has changed since the file that it updates', async () => {
    const { root } = await makeTree();
    await manifest(root);
    // Were it read again, its digest would change: its size and time have not.
    await put(root, 'a/ü 日.txt', 'HELLO');
    await put(root, 'a-b', 'y', THEN + 1);
    await put(root, 'new', 'new');
    await rm(join(root, 'empty'));
    const { code, out } = await manifest(root, '--update');
    expect([code, out]).toEqual([0, expect.stringMatching(/: 4 files, .*; 2 files were read\n$/)]);
    const { entries } = await documentOf(join(root, 'release.json'));
    expect(new Map(entries.map(({ destination, digests }) => [destination, digests.blake3]))).toEqual(
      new Map([
        ['TableBundles/Excel.zip', blake3Hex(await readFile(join(root, 'TableBundles/Excel.zip')))],
        ['a-b', blake3Hex(Buffer.from('y'))],
        ['a/ü 日.txt', blake3Hex(Buffer.from('hello'))],
        ['new', blake3Hex(Buffer.from('new'))],
      ]),
    );
    expect((await manifest(root)).out).toContain('; 4 files were read');
  });

  it('keeps a release id that was given when it updates the file, and says so', async () => {
    const { root } = await makeTree();
    await manifest(root, '--release', 'r1');
    await put(root, 'new', 'new');
    const { out } = await manifest(root, '--update');
    expect(out).toContain(
      ' describes release r1 (the id that the file had; --release gives a new one): 5 files, ',
    );
    expect((await documentOf(join(root, 'release.json'))).release_id).toBe('r1');
    expect((await manifest(root, '--update', '--release', 'r2')).out).toContain(' describes release r2: ');
    // One that was derived follows the content.
    const derived = (await manifest(root)).out;
    await put(root, 'new', 'newer');
    const id = /release (dir-\w+): /;
    expect(id.exec((await manifest(root, '--update')).out)?.[1]).not.toBe(id.exec(derived)?.[1]);
  });

  it('reads a file again that changed just before: it could change once more within the same time', async () => {
    const { root } = await makeTree();
    // Ahead, so that it stays fresh however long the test takes.
    await put(root, 'fresh', 'fresh', Date.now() / 1000 + 3600);
    await manifest(root);
    const { entries } = await documentOf(join(root, 'release.json'));
    expect(
      entries.filter(({ mtime_ns: time }) => time === undefined).map(({ destination }) => destination),
    ).toEqual(['fresh']);
    expect((await manifest(root, '--update')).out).toContain('; 1 file was read');
  });

  it('writes to a file elsewhere, to one in the tree that is not of the release, and to standard output', async () => {
    const { root } = await makeTree();
    const elsewhere = join(await temporaryDirectory(), 'list.json');
    await manifest(root, '-o', elsewhere);
    await manifest(root, '-o', join(root, 'a', 'list.json'));
    await manifest(root, '-o', join(root, 'a', 'list.json'));
    const text = await readFile(elsewhere, 'utf8');
    expect(await readFile(join(root, 'a', 'list.json'), 'utf8')).toBe(text);
    await rm(join(root, 'a', 'list.json'));
    const temporary = await temporaryDirectory();
    vi.stubEnv('TMPDIR', temporary);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { code, out, err } = await manifest(root, '-o', '-');
    expect([code, out, err]).toEqual([0, text, expect.stringMatching(/^standard output describes release /)]);
    expect(await readdir(temporary)).toEqual([]);
  });

  it('says what is wrong with a tree, and leaves the older file as it is', async () => {
    const { root } = await makeTree();
    await manifest(root, '--release', 'r1');
    await symlink('/etc/hosts', join(root, 'link'));
    const refused = await manifest(root, '--release', 'r2');
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('link" is a symbolic link')]);
    expect((await documentOf(join(root, 'release.json'))).release_id).toBe('r1');
    await rm(join(root, 'link'));
    expect((await readdir(root)).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    await writeFile(join(root, 'release.json'), '{"release_id":');
    const { code, err } = await manifest(root, '--update');
    expect([code, err]).toEqual([1, expect.stringContaining('leave out --update to write it anew')]);
    expect((await manifest(await temporaryDirectory())).err).toContain('lists no entries');
    expect((await manifest(join(root, 'none'))).err).toContain('cannot be read (ENOENT)');
    await put(root, 'server-info.json', '[]');
    expect((await manifest(root)).err).toContain('server-info.json must be a JSON object');
  });

  it.each([
    [[], 'name exactly one folder'],
    [['a', 'b'], 'name exactly one folder'],
    [['a', '--release', '../x'], '--release: '],
    [['a', '--app-version', 'a b'], '--app-version: '],
    [['a', '--update', '-o', '-'], '--update replaces a file'],
    [['a', '--relase', 'x'], '--release'],
  ])('refuses the arguments %j', async (argv, problem) => {
    const { code, err } = await manifest(...argv);
    expect([code, err]).toEqual([2, expect.stringContaining(problem)]);
  });
});

describe('a folder with a release file of any size', () => {
  it('is an upstream of kind directory, too', async () => {
    const { root } = await makeTree();
    const digest = createHash('sha256').digest('hex') as Blake3Hex;
    const line = renderReleaseFileEntry({ destination: 'a/b', size: 1, blake3: digest }, false);
    const first = renderReleaseFileEntry({ destination: 'a', size: 1, blake3: digest }, true);
    // More than the 4 MiB of a document that is read whole.
    const text = `{"release_id":"r9","entries":[${first}${line.repeat(40_000)}\n]}`;
    expect(text.length).toBeGreaterThan(4 * 1024 * 1024);
    await put(root, 'release.json', text);
    const { catalog, entries } = await readAll(adapterFor({ kind: 'directory', directory: { path: root } }));
    expect([catalog.releaseId, entries.length]).toEqual(['r9', 4]);
    const bounded = adapterFor({ kind: 'directory', directory: { path: root }, maxCatalogBytes: 4096 });
    expect((await upstreamErrorOf(readAll(bounded))).message).toContain('upstream.maxCatalogBytes');
  });
});

describe('working in order', () => {
  it('gives results in the order of the items, with no more begun than allowed', async () => {
    let [begun, most] = [0, 0];
    const results = mapInOrder(Array.from({ length: 40 }).keys(), 5, freeSignal(), async (item) => {
      begun += 1;
      most = Math.max(most, begun);
      for (let turn = 0; turn < (item % 7) * 3; turn += 1) await Promise.resolve();
      begun -= 1;
      return item;
    });
    expect(await collect(results)).toEqual([...Array.from({ length: 40 }).keys()]);
    expect(most).toBeLessThanOrEqual(5);
    expect(most).toBeGreaterThan(1);
  });

  it('fails with what the first item failed with, when the others have ended', async () => {
    const ended: number[] = [];
    const results = mapInOrder([0, 1, 2, 3], 4, freeSignal(), async (item) => {
      if (item === 1) throw new Error('the second one');
      for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
      ended.push(item);
      return item;
    });
    await expect(collect(results)).rejects.toThrow('the second one');
    expect(ended.toSorted((left, right) => left - right)).toEqual([0, 2, 3]);
  });
});
