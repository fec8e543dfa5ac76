import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createDemoUpstream, demoUpstreamPath } from '../../../demo/demo-upstream.ts';
import { demoContainers } from '../../../demo/game/demo-containers.ts';
import { demoParseSection } from '../../../demo/game/demo-parse-section.ts';
import {
  DEMO_RELEASE_IDS,
  demoStory,
  expectedChanges,
  type DemoReleaseId,
} from '../../../demo/game/demo-story.ts';
import type { DialogRow } from '../../../demo/game/dialog-row.ts';
import { flatBuffersTable, flatBuffersTableSchema } from '../../../demo/game/flatbuffers-table.ts';
import { writeSqliteTable } from '../../../demo/game/sqlite-table.ts';
import { translateDemoLine, translateMaskedDemoLine } from '../../../demo/game/translate-line.ts';
import { bytesSource } from '../../../src/formats/byte-source.ts';
import { readBinarySchema } from '../../../src/formats/flatbuffers/binary-schema.ts';
import { visitFlatBuffer } from '../../../src/formats/flatbuffers/visit-flatbuffer.ts';
import { visitSqlite } from '../../../src/formats/sqlite/visit-sqlite.ts';
import { READ_LIMITS } from '../../../src/formats/value-visitor.ts';
import { parseContainer } from '../../../src/localization/parse/container/parse-container.ts';
import type {
  ContainerOutcome,
  ParsedUnit,
} from '../../../src/localization/parse/container/parsed-container.ts';
import { compileRules, type CompiledRules } from '../../../src/localization/parse/rules/compile-rules.ts';
import { loadRules } from '../../../src/localization/parse/rules/load-rules.ts';
import { parseConfigurationSchema } from '../../../src/localization/parse/rules/parse-config.ts';
import { createDirectoryAdapter } from '../../../src/upstream/adapters/directory-adapter.ts';
import { upstreamConfigurationSchema } from '../../../src/upstream/upstream-config.ts';
import { checkTarget } from '../../../src/domain/text/checks/check-target.ts';
import { findPlaceholders } from '../../../src/domain/text/placeholders.ts';
import { stableNames } from '../../../src/domain/text/stable-name.ts';
import { indexRelease, type ModelFile } from '../../support/index-release.ts';
import { openIndexInTest } from '../../support/open-index.ts';
import { recordValues, valuesOf } from '../../support/record-values.ts';
import { maskPlaceholders, restorePlaceholders } from '../../../src/domain/translation/placeholder-mask.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

describe('the demo upstream', () => {
  const [FIRST, SECOND] = ['1.67.412528-r89_demo', '1.67.412528-r90_demo'] as const;

  it('offers one release after the other, and leaves a sync that reads the old one alone', async () => {
    const directory = join(await temporaryDirectory(), 'upstream');
    const upstream = createDemoUpstream(directory);
    expect(await upstream.offered()).toBeNull();
    await upstream.offer(FIRST);
    expect(await upstream.offered()).toBe(FIRST);

    const section = { path: demoUpstreamPath(directory), serverInfoFile: 'server-info.json' };
    const adapter = createDirectoryAdapter(
      upstreamConfigurationSchema.parse({ kind: 'directory', directory: section }),
      section,
    );
    const { signal } = new AbortController();
    const old = await adapter.fetchCatalog(null, signal);
    expect(old?.releaseId).toBe(FIRST);
    await upstream.offer(SECOND);
    expect(await upstream.offered()).toBe(SECOND);
    for await (const entry of old?.entries(signal) ?? []) {
      const { chunks } = await adapter.open(entry, { start: 0, validator: null }, signal);
      let bytes = 0;
      for await (const chunk of chunks) bytes += chunk.length;
      expect(bytes).toBe(entry.size);
    }
    expect((await adapter.fetchCatalog(old?.etag ?? null, signal))?.releaseId).toBe(SECOND);

    // A process that was killed during a switch leaves the new link behind.
    await symlink('elsewhere', `${demoUpstreamPath(directory)}.next`);
    await upstream.offer(FIRST);
    expect(await upstream.offered()).toBe(FIRST);
    expect((await readdir(directory)).toSorted()).toEqual([FIRST, SECOND, 'current']);
  });
});

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

describe('the text of the demo releases', () => {
  const [FIRST, SECOND, THIRD] = DEMO_RELEASE_IDS;

  afterEach(() => {
    vi.unstubAllEnvs();
  });

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
    const index = openIndexInTest();
    indexRelease(index, before, await modelOf(rules, before));
    const { reported } = indexRelease(index, after, await modelOf(rules, after));
    const changes = expectedChanges(after);
    if (changes === null) throw new Error(`${after} has no changes`);
    const { totals } = reported;
    expect(totals.carry_over).toEqual({
      previous_release_id: before,
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
    const { moved = 0, unique = 0 } = totals.carry_over ?? {};
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

describe('the FlatBuffers table of the demo', () => {
  const ROWS: readonly DialogRow[] = [
    { id: 2n ** 60n, speaker: 'アロナ', text: '先生、おはようございます。' },
    { id: 0n, speaker: 'アロナ', text: '' },
    { id: -5n, speaker: 'プラナ', text: '<ruby>漢字</ruby>\n𠮟る' },
  ];

  it('reads back as its rows', () => {
    const { visitor, events } = recordValues();
    visitFlatBuffer(flatBuffersTable(ROWS), readBinarySchema(flatBuffersTableSchema()), visitor, {
      limits: READ_LIMITS,
      reportPartError: (error) => {
        throw error;
      },
    });
    expect(valuesOf(events)).toEqual({
      rows: [
        { id: 2n ** 60n, speaker: 'アロナ', text: '先生、おはようございます。' },
        { id: 0, speaker: 'アロナ', text: '' },
        { id: -5, speaker: 'プラナ', text: '<ruby>漢字</ruby>\n𠮟る' },
      ],
    });
  });

  it('has the same bytes every time', () => {
    expect(Buffer.from(flatBuffersTable(ROWS))).toEqual(Buffer.from(flatBuffersTable(ROWS)));
    expect(Buffer.from(flatBuffersTableSchema())).toEqual(Buffer.from(flatBuffersTableSchema()));
  });
});

describe('the SQLite table of the demo', () => {
  const ROWS: readonly DialogRow[] = Array.from({ length: 500 }, (_, line) => ({
    id: 2n ** 60n + BigInt(line),
    speaker: 'アロナ',
    text: `${line}行目です。`,
  }));

  it('reads back as its rows', async () => {
    const path = join(await temporaryDirectory(), 'demo.db');
    await writeSqliteTable(path, ROWS);
    const { visitor, events } = recordValues();
    visitSqlite(path, visitor, {
      limits: READ_LIMITS,
      reportPartError: (error) => {
        throw error;
      },
    });
    const { Dialog } = valuesOf(events) as { Dialog: Record<string, unknown>[] };
    expect(Dialog).toHaveLength(500);
    expect(Dialog[1]).toEqual({ Id: 2n ** 60n + 1n, Speaker: 'アロナ', TextJp: '1行目です。' });
  });

  it('has the same bytes every time, with a fixed version of SQLite', async () => {
    const directory = await temporaryDirectory();
    const paths = ['first.db', 'second.db'].map((name) => join(directory, name));
    for (const path of paths) await writeSqliteTable(path, ROWS);
    const [first, second] = paths.map((path) => readFileSync(path));
    expect(first?.equals(second ?? Buffer.alloc(0))).toBe(true);
    expect(first?.readUInt32BE(96)).toBe(3_053_000);
  });
});

describe('the translation of the demo releases', () => {
  it.each(DEMO_RELEASE_IDS)('covers every line of %s, and no check finds anything in it', (releaseId) => {
    const lines = [...demoStory(releaseId).scripts.values()].flat();
    const found = lines.map(({ text: source }) => ({ source, target: translateDemoLine(source) }));
    expect(found.length).toBeGreaterThan(8000);
    expect(found.filter(({ target }) => target === null)).toEqual([]);
    const findings = found.flatMap(({ source, target }) =>
      checkTarget({ source, target: target ?? '', sourceLanguage: 'ja', targetLanguage: 'zh-Hans' }),
    );
    expect(findings).toEqual([]);
  });

  it('is found for a line whose placeholders are the tokens of a provider', () => {
    const lines = [...demoStory(DEMO_RELEASE_IDS[0]).scripts.values()].flat();
    const wrong = lines.filter(({ text: source }) => {
      const masked = maskPlaceholders(source, 'xml');
      const target = translateMaskedDemoLine(masked?.text ?? '');
      if (masked === null || target === null) return true;
      return !restorePlaceholders(target, masked, 'xml').ok;
    });
    expect(wrong).toEqual([]);
  });

  it.each(['', 'おはよう', '昨日、図書館で鍵を', '昨日、月で古い地図を見つけました。'])(
    'has none for %j, which is not a demo line',
    (text) => {
      expect(translateDemoLine(text)).toBeNull();
    },
  );
});
