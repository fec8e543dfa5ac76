import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { demoContainers } from '../../../../../src/cli/dev/demo/demo-containers.ts';
import { demoParseSection } from '../../../../../src/cli/dev/demo/demo-parse-section.ts';
import {
  DEMO_RELEASE_IDS,
  demoStory,
  expectedChanges,
  type DemoReleaseId,
} from '../../../../../src/cli/dev/demo/demo-story.ts';
import { flatBuffersTableSchema } from '../../../../../src/cli/dev/demo/flatbuffers-table.ts';
import { bytesSource } from '../../../../../src/daemon/formats/byte-source.ts';
import { parseContainer } from '../../../../../src/daemon/parse/container/parse-container.ts';
import type {
  ContainerOutcome,
  ParsedUnit,
} from '../../../../../src/daemon/parse/container/parsed-container.ts';
import { compileRules, type CompiledRules } from '../../../../../src/daemon/parse/rules/compile-rules.ts';
import { loadRules } from '../../../../../src/daemon/parse/rules/load-rules.ts';
import { parseConfigurationSchema } from '../../../../../src/daemon/parse/rules/parse-config.ts';
import { findPlaceholders } from '../../../../../src/domain/text/placeholders.ts';
import { stableNames } from '../../../../../src/domain/text/stable-name.ts';
import { indexRelease, openTestIndex, type ModelFile } from '../../../../support/index-release.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

const [FIRST, SECOND, THIRD] = DEMO_RELEASE_IDS;

interface WrittenFile {
  readonly destination: string;
  readonly scripts: readonly string[];
  readonly bytes: Buffer;
}

/** Writes the files with text of a release, and reads them back. */
async function writeRelease(releaseId: DemoReleaseId): Promise<WrittenFile[]> {
  const directory = await temporaryDirectory();
  return await Promise.all(
    demoContainers(releaseId).map(async ({ destination, scripts, write }) => {
      const path = join(directory, destination);
      await mkdir(dirname(path), { recursive: true });
      await write(path);
      return { destination, scripts, bytes: await readFile(path) };
    }),
  );
}

/** The rules as the daemon loads them from the section. */
async function demoRules(): Promise<CompiledRules> {
  const schemaFile = join(await temporaryDirectory(), 'dialog.bfbs');
  await writeFile(schemaFile, flatBuffersTableSchema());
  return compileRules(await loadRules(parseConfigurationSchema.parse(demoParseSection(schemaFile))));
}

interface ParsedFile {
  readonly units: readonly ParsedUnit[];
  readonly outcome: ContainerOutcome;
}

async function parse(rules: CompiledRules, { destination, bytes }: WrittenFile): Promise<ParsedFile> {
  const units: ParsedUnit[] = [];
  const outcome = await parseContainer(
    {
      source: bytesSource(bytes),
      destination,
      destinationKey: destination,
      scratchDirectory: await temporaryDirectory(),
    },
    rules,
    async (batch) => {
      units.push(...batch);
    },
  );
  return { units, outcome };
}

/** The text of a release as the index takes it; runs of units with one location are leaves. */
async function modelOf(rules: CompiledRules, releaseId: DemoReleaseId): Promise<ModelFile[]> {
  const files = await writeRelease(releaseId);
  const stable = stableNames(() => files.map(({ destination }) => destination));
  return await Promise.all(
    files.map(async (file) => {
      const { units } = await parse(rules, file);
      const leaves = Map.groupBy(units, ({ archiveEntry, pathId }) => `${archiveEntry} ${pathId}`);
      return {
        destination: file.destination,
        key: stable.keyOf(file.destination),
        leaves: [...leaves.values()].map((leaf) => ({
          archiveEntry: leaf[0]?.archiveEntry ?? null,
          pathId: leaf[0]?.pathId ?? null,
          classId: leaf[0]?.classId ?? null,
          format: leaf[0]?.format ?? '',
          units: leaf.map(({ keyPath, sourceText }) => [keyPath, sourceText] as const),
        })),
      };
    }),
  );
}

afterEach(() => {
  vi.unstubAllEnvs();
});

describe('the text of the demo releases', () => {
  it('has the same bytes every time, in every time zone', async () => {
    const digests: string[] = [];
    for (const zone of ['Asia/Tokyo', 'America/New_York']) {
      vi.stubEnv('TZ', zone);
      const hash = createHash('sha256');
      for (const { destination, bytes } of await writeRelease(SECOND)) hash.update(destination).update(bytes);
      digests.push(hash.digest('hex'));
    }
    expect(digests[0]).toBe(digests[1]);
  });

  it.each(DEMO_RELEASE_IDS)(
    'is found completely in %s, every line once and nothing else',
    async (releaseId) => {
      const rules = await demoRules();
      const { scripts } = demoStory(releaseId);
      const files = await writeRelease(releaseId);
      expect(files.flatMap((file) => file.scripts).toSorted()).toEqual([...scripts.keys()].toSorted());
      for (const file of files) {
        const { units, outcome } = await parse(rules, file);
        const planted = file.scripts.flatMap((script) => scripts.get(script) ?? []);
        expect(units.map(({ sourceText }) => sourceText).toSorted(), file.destination).toEqual(
          planted.map(({ text }) => text).toSorted(),
        );
        expect(outcome, file.destination).toMatchObject({ status: 'parsed', issues: [] });
      }
    },
  );

  it('has speakers, scenes, ruby, tags, placeholders and repetitions', async () => {
    const rules = await demoRules();
    const files = await writeRelease(SECOND);
    const units = (await Promise.all(files.map(async (file) => await parse(rules, file)))).flatMap(
      (parsed) => parsed.units,
    );
    const texts = units.map(({ sourceText }) => sourceText);
    for (const sample of ['<ruby=', '[ruby=', '<color=#', '{name}', '{0}', '%s', '%d', '\n']) {
      expect(texts.filter((text) => text.includes(sample)).length, sample).toBeGreaterThan(10);
    }
    expect(new Set(texts.flatMap(findPlaceholders)).size).toBeGreaterThan(4);
    expect(texts.filter((text) => text === 'うへ～……。').length).toBeGreaterThan(100);
    expect(units.filter(({ scene }) => scene === 'Scene0000')).toHaveLength(20);
    const { scripts } = demoStory(SECOND);
    const expected = scripts.get('chapter/0/0')?.map(({ speaker }) => speaker);
    const chapter = units.filter(({ scene }) => scene === 'Chapter0_Scene0');
    expect(chapter.map(({ speaker }) => speaker)).toEqual(expected);
    expect([...new Set(units.map(({ format }) => format))].toSorted()).toEqual([
      'csv',
      'flatbuffers',
      'json',
      'sqlite',
      'unity.monobehaviour',
      'unity.textasset',
      'unity.textasset+csv',
      'unity.textasset+json',
    ]);
  });

  it.each([
    [FIRST, SECOND],
    [SECOND, THIRD],
  ] as const)('changes from %s to %s as the generator says', async (before, after) => {
    const rules = await demoRules();
    const index = openTestIndex();
    onTestFinished(() => {
      index.close();
    });
    indexRelease(index, before, await modelOf(rules, before));
    const { reported } = indexRelease(index, after, await modelOf(rules, after));
    const changes = expectedChanges(after);
    if (changes === null) throw new Error(`${after} has no changes`);
    const { totals } = reported;
    expect(totals.carryOver).toEqual({
      previousReleaseId: before,
      new: changes.inserted,
      changed: changes.changed,
      removed: changes.removed,
      moved: expect.any(Number) as number,
      unique: expect.any(Number) as number,
      same:
        [...demoStory(after).scripts.values()].flat().length -
        changes.inserted -
        changes.changed -
        changes.moved,
    });
    const { moved = 0, unique = 0 } = totals.carryOver ?? {};
    expect(moved + unique).toBe(changes.moved);
    expect(moved).toBeGreaterThan(0);
  });

  it('has a new file, a removed one, and bundles whose name changes with their bytes', async () => {
    for (const [before, after] of [
      [FIRST, SECOND],
      [SECOND, THIRD],
    ] as const) {
      const [old, now] = [before, after].map((id) =>
        demoContainers(id).map(({ destination }) => destination),
      );
      const [oldKeys, nowKeys] = [old ?? [], now ?? []].map((names) => {
        const stable = stableNames(() => names);
        return new Set(names.map((name) => stable.keyOf(name)));
      });
      expect(oldKeys?.difference(nowKeys ?? new Set()).size).toBe(1);
      expect(nowKeys?.difference(oldKeys ?? new Set()).size).toBe(1);
      const renamed = now?.filter((name) => !old?.includes(name));
      expect(renamed?.length).toBeGreaterThan(2);
    }
  });
});
