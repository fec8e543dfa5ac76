import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  createCatalogRewriter,
  type BaseEntry,
  type BaseRelease,
  type CatalogRewriter,
  type ChangedFile,
  type SearchMemory,
} from '../../../../../src/daemon/localized/catalogs/catalog-rewriter.ts';
import { catalogsConfigurationSchema } from '../../../../../src/daemon/localized/catalogs/catalogs-config.ts';
import { blake3Hex } from '../../../../../src/platform/hashing/blake3.ts';
import { systemClock } from '../../../../../src/platform/process/clock.ts';
import { NO_RULES, storeRelease, type Contents } from '../../../../support/rewritten-release.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

const [BEFORE, AFTER] = ['id,text\n1,official\n', 'id,text\n1,new and longer\n'];
const listOf = (text: string): string =>
  JSON.stringify([{ Name: 'texts.csv', Size: text.length, Crc: crc32(text) }]);
const OFFICIAL = { 'a.csv': 'x', 'list.json': listOf(BEFORE), 'texts.csv': BEFORE };
const LISTS = [{ files: ['list.json'], format: 'json', path: 'Name', size: ['Size'], checksums: ['Crc'] }];
const NEVER = new AbortController().signal;

async function stored(official: Contents): Promise<{
  readonly release: BaseRelease;
  readonly changed: readonly ChangedFile[];
  readonly workDirectory: string;
  readonly paths: ReadonlyMap<string, string>;
}> {
  const { files, outputDirectory: workDirectory } = await storeRelease(official, { 'texts.csv': AFTER });
  const digestOf = (destination: string) => blake3Hex(Buffer.from(official[destination] ?? ''));
  const paths = new Map(files.map((file) => [digestOf(file.destination), file.official]));
  const entries = files.map(({ destination }) => ({
    destination,
    size: Buffer.byteLength(official[destination] ?? ''),
    blake3: digestOf(destination),
  }));
  const texts = files.find(({ destination }) => destination === 'texts.csv');
  const { destination, ...figures } = entries.find((entry) => entry.destination === 'texts.csv')!;
  return {
    workDirectory,
    paths,
    release: { entries: () => entries, officialPath: (blake3) => paths.get(blake3) ?? '' },
    changed: [{ destination, official: figures, path: texts?.patched ?? '', size: AFTER.length }],
  };
}

async function rewriterOf(
  catalogs: unknown,
  {
    program,
    timeoutMs = 60_000,
    memory = { last: null },
  }: { readonly program?: string; readonly timeoutMs?: number; readonly memory?: SearchMemory } = {},
): Promise<CatalogRewriter> {
  const scratchDirectory = await temporaryDirectory();
  const path = join(scratchDirectory, 'program.mjs');
  if (program !== undefined) await writeFile(path, program);
  return createCatalogRewriter({
    rules: NO_RULES,
    catalogs: catalogsConfigurationSchema.parse(catalogs),
    scratchDirectory,
    memoryBytes: 512 * 1024 * 1024,
    timeoutMs,
    clock: systemClock,
    memory,
    ...(program === undefined ? {} : { program: pathToFileURL(path) }),
  });
}

describe('the rewriter of catalogs', () => {
  it('gives the patched files and the rewritten ones, from a process of its own', async () => {
    const { release, changed, workDirectory } = await stored(OFFICIAL);
    const rewriter = await rewriterOf({ lists: LISTS });
    const files = await rewriter.rewrite(changed, release, workDirectory, NEVER);
    expect(files.map(({ destination }) => destination)).toEqual(['list.json', 'texts.csv']);
    const [list, texts] = files;
    expect(readFileSync(list!.path, 'utf8')).toBe(listOf(AFTER));
    expect(list).toMatchObject({
      official: { size: listOf(BEFORE).length, blake3: blake3Hex(Buffer.from(listOf(BEFORE))) },
      size: listOf(AFTER).length,
    });
    expect(list!.path.startsWith(workDirectory)).toBe(true);
    expect(texts).toEqual(changed[0]);
    expect(await rewriter.rewrite([], release, workDirectory, NEVER)).toEqual([]);
    // It works a second time in the same folder.
    expect(await rewriter.rewrite(changed, release, workDirectory, NEVER)).toHaveLength(2);
    expect(readdirSync(workDirectory).filter((name) => name.endsWith('.list'))).toEqual([]);
  });

  it('does not search the files of a release again', async () => {
    const { release, changed, workDirectory, paths } = await stored(OFFICIAL);
    const memory: SearchMemory = { last: null };
    const rewrite = async (from = release, ignore: readonly string[] = []) => {
      const rewriter = await rewriterOf({ lists: LISTS, ignore }, { memory });
      const files = await rewriter.rewrite(changed, from, workDirectory, NEVER);
      return files.map(({ path }) => readFileSync(path, 'utf8'));
    };
    const first = await rewrite();
    rmSync(paths.get(blake3Hex(Buffer.from('x'))) ?? '');
    expect(await rewrite()).toEqual(first);
    // With other settings, other files are catalogs; another release has other files.
    await expect(rewrite(release, ['z'])).rejects.toMatchObject({ code: 'ENOENT' });
    const [entry, ...others] = release.entries() as readonly BaseEntry[];
    const renamed = [{ ...entry!, destination: 'b.csv' }, ...others];
    await expect(rewrite({ ...release, entries: () => renamed })).rejects.toMatchObject({ code: 'ENOENT' });
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
    const run = async (program: string, timeoutMs = 60_000, signal = NEVER) => {
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
    ).toEqual(changed);
  });
});
