import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { crc32 } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { figuresOf } from '../../../../src/formats/catalogs/file-figures.ts';
import {
  createCatalogRewriter,
  type BaseEntry,
  type BaseRelease,
  type CatalogRewriter,
  type SearchMemory,
} from '../../../../src/localization/localized/catalogs/catalog-rewriter.ts';
import type { PatchedReleaseFile } from '../../../../src/localization/localized/catalogs/release-files.ts';
import { catalogsConfigurationSchema } from '../../../../src/localization/localized/localized-config.ts';
import { createNameSearch, nameForms } from '../../../../src/localization/localized/catalogs/name-search.ts';
import { concerns } from '../../../../src/localization/localized/catalogs/rewrite-catalog.ts';
import { statedFigure } from '../../../../src/localization/localized/catalogs/stated-figures.ts';
import { compareDestinations } from '../../../../src/domain/release/destination.ts';
import { blake3Hex } from '../../../../src/platform/hashing/blake3.ts';
import { systemClock } from '../../../../src/platform/process/clock.ts';
import { seededBytes } from '../../../support/generate-release.ts';
import { NO_RULES, storeRelease, type Contents } from '../../../support/rewritten-release.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const listOf = (text: string): string =>
  JSON.stringify([{ Name: 'texts.csv', Size: text.length, Crc: crc32(text) }]);

const LISTS = [{ files: ['list.json'], format: 'json', path: 'Name', size: ['Size'], checksums: ['Crc'] }];
const NEVER = new AbortController().signal;
/** No test of another subject ends by it: the process has a low priority, and starts slowly on a busy machine. */
const LONG_MS = 600_000;

async function rewriterOf(
  catalogs: unknown,
  {
    program,
    timeoutMs = LONG_MS,
    memory = null,
  }: {
    /** By default the program itself, in a process of its own. */
    readonly program?: string;
    readonly timeoutMs?: number;
    readonly memory?: SearchMemory | null;
  } = {},
): Promise<CatalogRewriter> {
  const scratchDirectory = await temporaryDirectory();
  const path = join(scratchDirectory, 'program.mjs');
  if (program !== undefined) await writeFile(path, program);
  const rewriter = createCatalogRewriter({
    rules: NO_RULES,
    catalogs: catalogsConfigurationSchema.parse(catalogs),
    scratchDirectory,
    memoryBytes: 512 * 1024 * 1024,
    timeoutMs,
    clock: systemClock,
    memory,
    ...(program === undefined ? {} : { program: pathToFileURL(path) }),
  });
  onTestFinished(() => rewriter.close());
  return rewriter;
}

describe('the rewriter of catalogs', () => {
  const [BEFORE, AFTER] = ['id,text\n1,official\n', 'id,text\n1,new and longer\n'];

  const OFFICIAL = { 'a.csv': 'x', 'list.json': listOf(BEFORE), 'texts.csv': BEFORE };

  async function stored(official: Contents): Promise<{
    readonly release: BaseRelease;
    readonly changed: readonly PatchedReleaseFile[];
    readonly workDirectory: string;
    readonly paths: ReadonlyMap<string, string>;
  }> {
    const { files, outputDirectory: workDirectory } = await storeRelease(official, { 'texts.csv': AFTER });
    const digestOf = (destination: string) => blake3Hex(Buffer.from(official[destination] ?? ''));
    const paths = new Map(files.map((file) => [digestOf(file.destination), file.official]));
    const entries = files.map(({ destination }) => ({
      destination,
      blake3: digestOf(destination),
    }));
    const texts = files.find(({ destination }) => destination === 'texts.csv');
    return {
      workDirectory,
      paths,
      release: { id: 'first', entries: () => entries, officialPath: (blake3) => paths.get(blake3) ?? '' },
      changed: [{ destination: 'texts.csv', official: texts?.official ?? '', patched: texts?.patched ?? '' }],
    };
  }

  it('gives the patched files and the rewritten ones, from a process of its own', async () => {
    const { release, changed, workDirectory } = await stored(OFFICIAL);
    const rewriter = await rewriterOf({ lists: LISTS });
    const files = await rewriter.rewrite(changed, release, workDirectory, NEVER);
    expect(files.map(({ destination }) => destination)).toEqual(['list.json', 'texts.csv']);
    const [list, texts] = files;
    expect(readFileSync(list!.path, 'utf8')).toBe(listOf(AFTER));
    expect(list!.path.startsWith(workDirectory)).toBe(true);
    expect(texts).toEqual({ destination: 'texts.csv', path: changed[0]?.patched });
    expect(await rewriter.rewrite([], release, workDirectory, NEVER)).toEqual([]);
    // It works a second time in the same folder.
    expect(await rewriter.rewrite(changed, release, workDirectory, NEVER)).toHaveLength(2);
    expect(readdirSync(workDirectory).filter((name) => name.endsWith('.list'))).toEqual([]);
  });

  it('does not search the files of a release again', async () => {
    const { release, changed, workDirectory, paths } = await stored(OFFICIAL);
    const memory: SearchMemory = { last: null, listPath: join(await temporaryDirectory(), 'last.list') };
    const rewrite = async (from = release, ignore: readonly string[] = []) => {
      const rewriter = await rewriterOf({ lists: LISTS, ignore }, { memory });
      const files = await rewriter.rewrite(changed, from, workDirectory, NEVER);
      return files.map(({ path }) => readFileSync(path, 'utf8'));
    };
    const first = await rewrite();
    rmSync(paths.get(blake3Hex(Buffer.from('x'))) ?? '');
    expect(await rewrite()).toEqual(first);
    // With other settings, other files are catalogs.
    await expect(rewrite(release, ['z'])).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('keeps its memory on another file system, as a data folder and a snapshot volume are', async ({
    skip,
  }) => {
    const { release, changed, workDirectory } = await stored(OFFICIAL);
    const here = statSync(workDirectory).dev;
    // Temporary files of unit tests are in memory where that is possible, and on the disk elsewhere.
    const other = ['/dev/shm', '/var/tmp'].find(
      (path) => statSync(path, { throwIfNoEntry: false })?.dev !== here && existsSync(path),
    );
    if (other === undefined) return skip('no second file system');
    const folder = mkdtempSync(join(other, 'slipway-test-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const memory: SearchMemory = { last: null, listPath: join(folder, 'last.list') };
    const rewriter = await rewriterOf({ lists: LISTS }, { memory });
    expect(await rewriter.rewrite(changed, release, workDirectory, NEVER)).toHaveLength(2);
    expect(memory.last).not.toBeNull();
    expect(readdirSync(folder)).toEqual(['last.list']);
  });

  it('rewrites also when its memory cannot be kept', async () => {
    const { release, changed, workDirectory } = await stored(OFFICIAL);
    const listPath = join(await temporaryDirectory(), 'no-such-folder', 'last.list');
    const memory: SearchMemory = { last: null, listPath };
    const rewriter = await rewriterOf({ lists: LISTS }, { memory });
    expect(await rewriter.rewrite(changed, release, workDirectory, NEVER)).toHaveLength(2);
    expect(memory.last).toBeNull();
  });

  it('writes its list of files again when the kept one is damaged', async () => {
    const { release, changed, workDirectory } = await stored(OFFICIAL);
    const memory: SearchMemory = { last: null, listPath: join(await temporaryDirectory(), 'last.list') };
    const rewrite = async (id = release.id) => {
      const rewriter = await rewriterOf({ lists: LISTS }, { memory });
      return await rewriter.rewrite(changed, { ...release, id }, workDirectory, NEVER);
    };
    await rewrite();
    const list = readFileSync(memory.listPath, 'utf8');
    await writeFile(memory.listPath, `["a.csv", ${list}`);
    // The next release is compared with the list.
    await expect(rewrite('second')).rejects.toMatchObject({ code: 'process_failed' });
    expect((await rewrite('second')).map(({ destination }) => destination)).toEqual([
      'list.json',
      'texts.csv',
    ]);
    expect(readFileSync(memory.listPath, 'utf8')).toBe(list);
  });

  it('gives the changed files to its process in the order of their destinations', async () => {
    const { release, changed, workDirectory } = await stored(OFFICIAL);
    const program = `process.on('message', ({ kind, job }) => {
      if (kind !== 'job') return;
      const message = job.changed.map(({ destination }) => destination).join();
      process.send({ kind: 'done', result: { kind: 'refused', code: 'catalog_not_rewritten', path: '', message } });
    });`;
    const rewriter = await rewriterOf({}, { program });
    const given = ['b', 'c', 'a'].map((destination) => ({ ...changed[0]!, destination }));
    await expect(rewriter.rewrite(given, release, workDirectory, NEVER)).rejects.toThrow(/^a,b,c$/);
  });

  it('keeps no list of files without the search that belongs to it', async () => {
    const { release, changed, workDirectory } = await stored(OFFICIAL);
    const folder = await temporaryDirectory();
    const listPath = join(folder, 'last.list');
    await writeFile(listPath, 'of an earlier search');
    const memory: SearchMemory = { last: null, listPath };
    const result = { kind: 'rewritten', files: [], state: null };
    const program = `process.on('message', ({ kind }) => {
      if (kind === 'job') process.send({ kind: 'done', result: ${JSON.stringify(result)} });
    });`;
    await (await rewriterOf({}, { program, memory })).rewrite(changed, release, workDirectory, NEVER);
    expect([memory.last, readdirSync(folder)]).toEqual([null, []]);
  });

  it('searches only the files of the next release that changed', async () => {
    const list = listOf(BEFORE);
    const files = { ...OFFICIAL, 'empty.json': '[]', 'gone.json': `${list} `, 'new.json': ` ${list}` };
    const { release, changed, workDirectory, paths } = await stored(files);
    const all = new Map(
      (release.entries() as readonly BaseEntry[]).map((entry) => [entry.destination, entry]),
    );
    const memory: SearchMemory = { last: null, listPath: join(await temporaryDirectory(), 'last.list') };
    /** Rewrites a release: destinations, each with the destination of its object. */
    const rewrite = async (contents: Record<string, string>) => {
      const entries = Object.entries(contents)
        .map(([destination, from]) => ({ ...all.get(from)!, destination }))
        .toSorted((one, other) => compareDestinations(one.destination, other.destination));
      const rewriter = await rewriterOf({ lists: [{ ...LISTS[0], files: ['*.json'] }] }, { memory });
      const rewritten = await rewriter.rewrite(
        changed,
        { ...release, id: JSON.stringify(contents), entries: () => entries },
        workDirectory,
        NEVER,
      );
      return rewritten.map(({ destination }) => destination);
    };
    const same = { 'a.csv': 'a.csv', 'texts.csv': 'texts.csv' };
    const withList = (from: string) => ({ 'a.csv': 'a.csv', 'list.json': from, 'texts.csv': 'texts.csv' });
    const [found, notFound] = [['list.json', 'texts.csv'], ['texts.csv']];
    expect(await rewrite({ ...same, 'b.json': 'gone.json', ...withList('list.json') })).toEqual([
      'b.json',
      ...found,
    ]);
    rmSync(paths.get(blake3Hex(Buffer.from('x'))) ?? '');
    expect(await rewrite(withList('list.json'))).toEqual(found);
    expect(await rewrite(withList('new.json'))).toEqual(found);
    expect(await rewrite(withList('empty.json'))).toEqual(notFound);
    expect(await rewrite(withList('new.json'))).toEqual(found);
    expect(await rewrite(same)).toEqual(notFound);
    expect(await rewrite(withList('list.json'))).toEqual(found);
    await expect(rewrite({ ...withList('list.json'), 'a.csv': 'empty.json' })).resolves.toEqual(found);
    // A name that nobody searched for is searched in all files.
    await expect(rewrite({ ...same, 'c.json': 'new.json' })).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('says which file is to blame', async () => {
    const stating = `texts.csv ${createHash('sha256').update(BEFORE).digest('hex')}`;
    const { release, changed, workDirectory, paths } = await stored({ ...OFFICIAL, 'sums.txt': stating });
    const rewriter = await rewriterOf({ lists: LISTS });
    await expect(rewriter.rewrite(changed, release, workDirectory, NEVER)).rejects.toMatchObject({
      name: 'CatalogError',
      code: 'catalog_not_rewritten',
      path: 'sums.txt',
      message: expect.stringMatching(/^it states the sha256 .*localized\.catalogs\.ignore/) as string,
    });
    rmSync(paths.values().next().value ?? '');
    await expect(rewriter.rewrite(changed, release, workDirectory, NEVER)).rejects.toMatchObject({
      code: 'ENOENT',
    });
  });

  it('survives a process that crashes, hangs or is cancelled, and trusts no name from it', async () => {
    const { release, changed, workDirectory } = await stored(OFFICIAL);
    const run = async (program: string, timeoutMs = LONG_MS, signal = NEVER) => {
      const rewriter = await rewriterOf({}, { program, timeoutMs });
      return await rewriter.rewrite(changed, release, workDirectory, signal);
    };
    const onJob = (action: string): string =>
      `process.on('message', ({ kind }) => { if (kind === 'job') { ${action} } });`;
    await expect(run(onJob('throw new TypeError("no")'))).rejects.toMatchObject({ code: 'process_failed' });
    await expect(run(onJob('for (;;);'), 300)).rejects.toMatchObject({
      code: 'deadline_exceeded',
      message: expect.stringContaining('localized.catalogs.timeoutSeconds') as string,
    });
    const cancelled = AbortSignal.abort(new Error('cancelled'));
    await expect(run(onJob('for (;;);'), 60_000, cancelled)).rejects.toThrow('cancelled');
    const files = JSON.stringify([{ destination: 'a.csv', name: '../../secret', size: 1 }]);
    expect(
      await run(onJob(`process.send({ kind: 'done', result: { kind: 'rewritten', files: ${files} } });`)),
    ).toEqual(changed.map(({ destination, patched: path }) => ({ destination, path })));
  });
});

describe('the concern of a catalog', () => {
  it.each([
    // A name stands in a catalog, in whatever folder the file is.
    ['catalog.json', ['a.bundle'], 'Android/a.bundle', true],
    ['catalog.json', ['a.bundle'], 'Android/b.bundle', false],
    ['catalog.json', [], 'Android/a.bundle', false],
    // The manifest of a bundle, and of no other one.
    ['Android/a.bundle.manifest', [], 'Android/a.bundle', true],
    ['Android/a.bundle.manifest', [], 'iOS/a.bundle', false],
    ['Android/a.bundle.manifest', [], 'Android/ba.bundle', false],
    // The checksum beside a file, with and without its extension, and of the one file in an archive.
    ['catalog.json.hash', [], 'catalog.json', true],
    ['catalog.hash', [], 'catalog.json', true],
    ['catalog.hash', [], 'catalog.zip!/inner.json', true],
    ['catalog.hash', [], 'other.json', false],
  ])(
    'the catalog %s with the names %j can state something about %s: %s',
    (path, names, changed, expected) => {
      expect(concerns(path, new Set(names), changed)).toBe(expected);
    },
  );
});

const NAMES = ['texts.csv', 'more texts.csv', 'シナリオ.zip', 'a', 'ab', '5c1b0f', 'x"y.json', '100%.bin'];
const LONG_NAMES = [
  'scenario_5c1b0f.bundle',
  'my scenario_5c1b0f.bundle',
  'scenario_5c1b0f.bundle.manifest',
  'table.bytes',
];

describe('the search of names', () => {
  it('finds every form of every name at the start, within and at the end, and no other name', () => {
    const search = createNameSearch(NAMES);
    const contained = (name: string): readonly string[] =>
      NAMES.filter((other) =>
        nameForms(name).some((form) => nameForms(other).some((part) => form.includes(part))),
      );
    for (const name of NAMES) {
      for (const form of nameForms(name)) {
        for (const bytes of [
          form,
          Buffer.concat([form, Buffer.from('\n')]),
          Buffer.concat([Buffer.of(7), form]),
        ]) {
          const found = search.find(bytes);
          expect(found).toContain(name);
          expect(contained(name)).toEqual(expect.arrayContaining([...found]));
        }
      }
    }
    expect(search.find(Buffer.from('texts.cs'))).toEqual(new Set());
    expect(search.find(Buffer.alloc(0))).toEqual(new Set());
    expect(createNameSearch([]).find(Buffer.from('texts.csv'))).toEqual(new Set());
  });

  // With a short name every place is looked at; without one most are skipped.
  it.for([NAMES, LONG_NAMES])('finds the same as a search of each name alone: %j', (names) => {
    const parts = names.flatMap((name) => [name, name.slice(0, -1), name.slice(1), name.slice(3, 7)]);
    const alphabet = [...parts, '.csv', '\0', '5c1b', 'シ', ' '];
    const search = createNameSearch(names);
    let hits = 0;
    for (let round = 0; round < 1000; round += 1) {
      const picked = Array.from(
        seededBytes(`names ${round}`, 12),
        (byte) => alphabet[byte % alphabet.length]!,
      );
      const bytes = Buffer.from(picked.join(''), round % 3 === 0 ? 'utf16le' : 'utf8');
      const alone = names.filter((name) => nameForms(name).some((form) => bytes.includes(form)));
      expect([...search.find(bytes)].toSorted()).toEqual(alone.toSorted());
      hits += alone.length;
    }
    expect(hits).toBeGreaterThan(1000);
  });
});

describe('a figure of an official file', () => {
  const BEFORE = Buffer.from('official '.repeat(30));
  const AFTER = Buffer.from('patched '.repeat(30));
  const MD5 = createHash('md5').update(BEFORE).digest('hex');
  const CHANGE = { path: 'a/x', before: figuresOf([BEFORE]), after: figuresOf([AFTER]) };

  const stated = (text: string, name = 'texts.csv'): string | null =>
    statedFigure(Buffer.from(text), name, CHANGE);

  it('is a checksum anywhere, but not one that is a part of the name', () => {
    const name = `texts_${MD5}.bundle`;
    expect(stated(`load ${name} and ${name}`, name)).toBe(null);
    expect(stated(`load ${name} ${MD5}`, name)).toBe(`the md5 ${MD5}`);
    expect(stated(`texts_${MD5}.bundles_${MD5}`, name)).toBe(`the md5 ${MD5}`);
    expect(stated(`texts.csv${' '.repeat(100_000)}${MD5}`)).toBe(`the md5 ${MD5}`);
  });

  it('is a size near the name', () => {
    const { size } = CHANGE.before;
    expect(stated(`texts.csv${' '.repeat(4000)}${size}`)).toBe(`the size ${size}`);
    expect(stated(`${size}${' '.repeat(4000)}texts.csv`)).toBe(`the size ${size}`);
    expect(stated(`texts.csv${' '.repeat(5000)}${size}`)).toBe(null);
    expect(stated(`texts.csv ${size}0 1${size} ${size}.25 0.${size}`)).toBe(null);
  });
});
