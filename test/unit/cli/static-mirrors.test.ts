import { chmod, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { runExport } from '../../../src/cli/bundle/export.ts';
import type { MirrorReport } from '../../../src/cli/verify/mirror/mirror-report.ts';
import { runVerify } from '../../../src/cli/verify/verify.ts';
import { staticFilePath } from '../../../src/contract/formats/static-mirror-format.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import { objectPath } from '../../../src/snapshot/volume/layout.ts';
import {
  makeAttestedStore,
  runBundleCommand,
  type AttestedStore,
  type CommandRun,
} from '../../support/bundles.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { adapterFor, readAll, readBody, serve } from '../../support/upstream-harness.ts';
import type { UpstreamServer } from '../../support/upstream-server.ts';

const BIG = Buffer.alloc(3 * 1024 * 1024 + 7, 'big');
const LONG = `${'長'.repeat(80)}.bin`;
const FILES = { 'a b/ü.bin': 'aaa', 'big.bin': BIG, 'c/c.bin': 'ccc', [LONG]: 'long', 'empty.bin': '' };
const DOCUMENT = '{"ConnectionGroups":[]}';

let directory: string;
let store: AttestedStore;
let mirror: string;

beforeEach(async () => {
  directory = await temporaryDirectory();
  store = await makeAttestedStore(directory);
  mirror = join(directory, 'mirror');
});

async function exportFiles(releaseId: string, ...more: readonly string[]): Promise<CommandRun> {
  const argv = [releaseId, '--data', store.root, '--format', 'files', '-o', mirror, ...more];
  return await runBundleCommand(runExport, ...argv);
}

/** The files of a folder with their paths. */
async function filesIn(folder: string): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files.set(path.slice(folder.length + 1), await readFile(path));
  }
  return files;
}

/** Serves the folder as it is now, as any web server does. */
async function serveMirror(): Promise<UpstreamServer> {
  return await serve({ files: await filesIn(mirror) });
}

async function verify(
  url: string,
  ...more: readonly string[]
): Promise<{ code: number; out: string; report: MirrorReport }> {
  const run = async (...argv: readonly string[]): Promise<{ code: number; out: string }> => {
    let out = '';
    const write = (text: string): unknown => (out += text);
    const stderr = { write: () => undefined };
    const code = await runVerify(argv, { stdout: { write }, stderr, env: {} });
    return { code, out };
  };
  const argv = ['--url', url, '--keys', store.keyFile, ...more];
  const { code, out } = await run(...argv);
  const json = await run(...argv, '-o', 'json');
  return { code, out, report: JSON.parse(json.out) as MirrorReport };
}

describe('slipway verify --url of a static mirror', () => {
  it.each<[string, (text: string) => string | null, string]>([
    ['is missing', () => null, 'release.json answered 404'],
    ['has another size', (text) => text.replace('"size":3,', '"size":4,'), 'does not say what was signed'],
    ['leads elsewhere', (text) => text.replace('-c.bin"', '-d.bin"'), 'does not say what was signed'],
    ['lacks a file', (text) => text.replace(/^.*empty\.bin.*$\n/m, ''), 'does not say what was signed'],
    [
      'has another document',
      (text) => text.replace('server-info/', 'other/'),
      'does not say what was signed',
    ],
    [
      'has another version',
      (text) => text.replace('"entries":[', '"app_version":"9",\n"entries":['),
      'does not say',
    ],
    ['is a page', () => '<html>', 'release.json: the document must be a JSON object'],
  ])('finds that release.json, which nobody signs, %s', async (_case, change, message) => {
    await store.publish({
      official: await store.addRelease({ releaseId: 'r1', files: FILES, document: DOCUMENT }),
    });
    await exportFiles('r1');
    const files = await filesIn(mirror);
    const text = change(String(files.get('release.json')));
    if (text === null) files.delete('release.json');
    else files.set('release.json', Buffer.from(text));
    const { code, out } = await verify((await serve({ files })).url);
    expect(code).toBe(1);
    expect(out).toContain(message);
  });
});

describe('slipway export --format files', () => {
  it('writes a mirror that any web server serves, which verify and an upstream of kind manifest read', async () => {
    const attested = await store.addRelease({ releaseId: 'r1', files: FILES, document: DOCUMENT });
    await store.publish({ official: attested });
    const { code, out, err } = await exportFiles('r1');
    expect([code, err]).toEqual([0, '']);
    expect(out.toString()).toMatch(/^official release r1 is in .*: 5 files, 3\.0 MiB; 5 files added, /);
    const server = await serveMirror();
    const found = await verify(server.url);
    expect(found).toMatchObject({
      code: 0,
      report: {
        kind: 'files',
        sound: true,
        complete: true,
        without_release: [],
        releases: [{ channel: 'official', release_id: 'r1', checked: 5, damaged: 0 }],
      },
    });
    expect(found.out).toContain('static mirror http://');
    expect(found.out).toContain('static files keep the attestation with which they were exported');
    const adapter = adapterFor({ kind: 'manifest', manifest: { url: server.url } });
    const { catalog, entries } = await readAll(adapter);
    expect(catalog.releaseId).toBe('r1');
    expect(String(Buffer.from(catalog.serverInfo ?? []))).toBe(DOCUMENT);
    expect(new Set(entries.map(({ destination }) => String(destination)))).toEqual(
      new Set(Object.keys(FILES)),
    );
    for (const entry of entries) {
      const bytes = FILES[entry.destination];
      expect(entry.digests.blake3).toBe(blake3Hex(Buffer.from(bytes ?? '')));
      expect(await readBody(adapter, entry)).toEqual(Buffer.from(bytes ?? ''));
    }
  });

  it('adds only what the next release changes, leaves older files for their readers, and changes the pointers last', async () => {
    await store.release({ releaseId: 'r1', files: FILES });
    await exportFiles('r1');
    const before = await filesIn(mirror);
    const times = async (): Promise<ReadonlyMap<string, number>> =>
      new Map(
        await Promise.all(
          [...before.keys()].map(async (path) => [path, (await stat(join(mirror, path))).mtimeMs] as const),
        ),
      );
    const first = await times();
    expect((await exportFiles('r1')).out.toString()).toContain('; 0 files added');
    expect(await times()).toEqual(first);

    await store.release({ releaseId: 'r2', files: { ...FILES, 'c/c.bin': 'new' } });
    expect((await exportFiles('r2')).out.toString()).toContain('; 1 file added');
    const after = await filesIn(mirror);
    const added = [...after.keys()].filter((path) => !before.has(path));
    expect(added.toSorted()).toEqual([
      staticFilePath('c/c.bin', blake3Hex(Buffer.from('new'))),
      expect.stringMatching(/^manifests\/[0-9a-f]{64}\.ndjson$/),
    ]);
    for (const [path, bytes] of before) {
      if (path !== 'mirror.json' && path !== 'release.json') expect(after.get(path)).toEqual(bytes);
    }
    // Readers of the older pointers, such as a cache, find all of its files.
    const readers = async (...pointers: readonly string[]): Promise<UpstreamServer> =>
      await serve({
        files: new Map([...after, ...[...before].filter(([path]) => pointers.includes(path))]),
      });
    const server = await readers('mirror.json', 'release.json');
    expect(await verify(server.url)).toMatchObject({ code: 0, report: { releases: [{ release_id: 'r1' }] } });
    // The pointers are uploaded one after the other.
    const between = await verify((await readers('mirror.json')).url);
    expect(between).toMatchObject({ code: 3, report: { releases: [{ release_id: 'r1', damaged: 0 }] } });
    expect(between.out).toContain('release.json leads to sound files: it is of release r2');
    expect(await verify((await serveMirror()).url)).toMatchObject({
      code: 0,
      report: { releases: [{ release_id: 'r2' }] },
    });
  });

  it('repairs a file that is cut off, and removes what a killed export left', async () => {
    await store.release({ releaseId: 'r1', files: FILES });
    await exportFiles('r1');
    const path = join(mirror, staticFilePath('big.bin', blake3Hex(BIG)));
    await truncate(path, 5);
    await mkdir(join(mirror, '.unfinished'));
    await writeFile(join(mirror, '.unfinished', 'x'), 'left');
    expect((await exportFiles('r1')).out.toString()).toContain('; 1 file added');
    expect(await readFile(path)).toEqual(BIG);
    expect(await readdir(mirror)).not.toContain('.unfinished');
  });

  it('writes no pointer when an object is damaged', async () => {
    await store.release({ releaseId: 'r1', files: FILES });
    const path = objectPath(store.root, blake3Hex(Buffer.from('ccc')));
    await chmod(path, 0o644);
    await writeFile(path, 'ccX');
    const { code, err } = await exportFiles('r1');
    expect([code, err]).toEqual([1, expect.stringContaining('run slipway verify')]);
    const names = await readdir(mirror);
    expect(names.filter((name) => name.endsWith('.json'))).toEqual([]);
    await writeFile(path, 'ccc');
    expect((await exportFiles('r1')).code).toBe(0);
  });

  it('keeps out of folders of other things, and one channel in a folder', async () => {
    await store.release({ releaseId: 'r1', files: FILES });
    await mkdir(mirror);
    await writeFile(join(mirror, 'notes.txt'), 'mine');
    expect((await exportFiles('r1')).err).toContain(
      'it holds notes.txt and no mirror.json; name an empty folder',
    );
    await rm(join(mirror, 'notes.txt'));
    expect((await exportFiles('r1')).code).toBe(0);
    const localized = await store.addRelease({
      releaseId: 'l1',
      channel: 'localized',
      files: FILES,
      baseReleaseId: 'r1',
    } as never);
    await store.publish({ localized });
    expect((await exportFiles('l1')).err).toContain(
      'a static mirror has one channel, so name another folder',
    );
  });

  it.each([
    [['--since', 'r0'], '--since is for bundles'],
    [['-o', '-'], 'standard output is none'],
    [['--format', 'zip'], 'is neither bundle nor files'],
  ])('refuses %j', async (more, message) => {
    const { code, err } = await exportFiles('r1', ...more);
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe('slipway verify --url of a static mirror', () => {
  it('finds changed bytes, a missing file, a foreign key, another manifest and a pointer to what was not signed', async () => {
    await store.release({ releaseId: 'r1', files: FILES });
    await exportFiles('r1');
    const server = await serveMirror();
    const path = staticFilePath('c/c.bin', blake3Hex(Buffer.from('ccc')));
    server.files.set(path, Buffer.from('ccX'));
    server.files.delete(staticFilePath('big.bin', blake3Hex(BIG)));
    const damaged = await verify(server.url);
    expect(damaged.code).toBe(1);
    expect(
      new Map(damaged.report.releases[0]?.examples.map(({ destination, status }) => [destination, status])),
    ).toEqual(
      new Map([
        ['big.bin', 'missing'],
        ['c/c.bin', 'digest_mismatch'],
      ]),
    );
    // The file to delete in the mirror has another name than its destination.
    expect(damaged.report.releases[0]?.examples.map(({ message }) => message)).toContainEqual(
      expect.stringContaining(`${server.url}/${path} has the digest `),
    );

    const foreign = await makeAttestedStore(await temporaryDirectory());
    const refused = await verify(server.url, '--keys', foreign.keyFile);
    expect(refused.code).toBe(1);
    const other = await serveMirror();
    const manifest = [...other.files.keys()].find((name) => name.startsWith('manifests/')) ?? '';
    const text = other.files.get(manifest)?.toString() ?? '';
    other.files.set(manifest, Buffer.from(text.replace('"size":3,', '"size":4,')));
    expect((await verify(other.url)).report.releases[0]?.problems[0]).toContain('origin_manifest_differs');
    other.files.set(manifest, Buffer.from('<!doctype html>\n'));
    expect((await verify(other.url)).report.releases[0]?.problems[0]).toContain('origin_malformed');

    const pointer = other.files.get('mirror.json')?.toString() ?? '';
    other.files.set(
      'mirror.json',
      Buffer.from(pointer.replace(/blake3:[0-9a-f]{64}/, `blake3:${'0'.repeat(64)}`)),
    );
    expect(await verify(other.url)).toMatchObject({
      code: 1,
      report: { attestation: { status: 'invalid' } },
    });
    other.files.set('mirror.json', Buffer.from('{"format":"slipway-mirror","version":2}'));
    const malformed = await verify(other.url);
    expect([malformed.code, malformed.report.attestation.problems[0]]).toEqual([
      4,
      expect.stringContaining('mirror.json: version'),
    ]);
  });

  it('takes an attestation that has expired since the export, which only a comparison with a valid one completes', async () => {
    const now = Math.floor(Date.now() / 1000);
    const long = now - 30 * 86_400;
    store = await makeAttestedStore(await temporaryDirectory(), { issuedAt: long });
    const attested = await store.release({ releaseId: 'r1', files: FILES });
    await exportFiles('r1');
    const [first, second] = [await serveMirror(), await serveMirror()];
    const alone = await verify(first.url);
    expect(alone).toMatchObject({ code: 3, report: { sound: true, complete: false } });
    expect(alone.out).toContain(
      'so it may be one of any earlier release; compare with the origin: --against URL',
    );
    expect(alone.out).toContain('intact as far as it could be checked');
    // Another one that has expired shows no more.
    const both = await verify(first.url, '--against', second.url);
    expect(both).toMatchObject({ code: 3, report: { against: { status: 'same' } } });
    const envelope = store.attest({ version: 9, issuedAt: now - 60, official: attested });
    const pointer = JSON.parse(String(second.files.get('mirror.json'))) as object;
    second.files.set(
      'mirror.json',
      Buffer.from(JSON.stringify({ ...pointer, attestation: JSON.parse(envelope.toString()) as unknown })),
    );
    const same = await verify(first.url, '--against', second.url);
    expect(same).toMatchObject({ code: 0, report: { against: { status: 'same' }, not_shown: [] } });
    await store.release({ releaseId: 'r2', files: { ...FILES, 'c/c.bin': 'new' } });
    await exportFiles('r2');
    const newer = await serveMirror();
    expect(await verify(first.url, '--against', newer.url)).toMatchObject({
      code: 1,
      report: { against: { status: 'differs', problems: [expect.stringContaining('the mirror has r1')] } },
    });
  });
});
