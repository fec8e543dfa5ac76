import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseJsonExact } from '../../src/contract/json/json-exact.ts';
import { REPORTS, type ReportBodyOf, type ReportName } from '../../src/contract/reports/reports.ts';
import { reportPath } from '../../src/cli/ctl/reports.ts';
import { writeReleaseTree } from '../support/release-tree.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { writeTokenFile } from '../support/token-file.ts';
import { until } from '../support/until.ts';

const TOKEN = 'translation-token-4711';
const MEBIBYTE = 1024 * 1024;

type Query = Readonly<Record<string, string>>;
type Unit = ReportBodyOf<'parse.text_units'>['items'][number];

interface World {
  readonly system: TestSystem;
  /** Reads a report through the server, and checks it against the contract. */
  readonly report: <N extends ReportName>(name: N, query?: Query) => Promise<ReportBodyOf<N>>;
  readonly ask: (name: ReportName, query?: Query) => Promise<{ status: number; text: string }>;
}

const table = (...texts: readonly string[]): Buffer =>
  Buffer.from(JSON.stringify(texts.map((Text, at) => ({ Id: at + 1, Text }))));

/** A system whose release r1 has tasks. */
async function world(files: ReadonlyMap<string, Buffer>): Promise<World> {
  const tokenFile = await writeTokenFile(TOKEN);
  const upstream = join(await temporaryDirectory(), 'upstream');
  await writeReleaseTree(upstream, { id: 'r1', files });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream }, maxAttempts: 1 },
    server: { admin: { tokenFiles: [tokenFile], exposeControl: true } },
  });
  const ask: World['ask'] = async (name, query = {}) => {
    const response = await fetch(
      `${system.serverUrl}${reportPath(name)}?${new URLSearchParams(query).toString()}`,
      { headers: { authorization: `Bearer ${TOKEN}` } },
    );
    return { status: response.status, text: await response.text() };
  };
  const report: World['report'] = async (name, query) => {
    const { status, text } = await ask(name, query);
    if (status !== 200) throw new Error(`${name} answered ${status}: ${text}`);
    return REPORTS[name].answer.schema.parse(parseJsonExact(text)) as never;
  };
  await until(async () => {
    const { status } = await ask('parse.text_units');
    return status === 200 && (await report('parse.text_units')).translations.tasks_built;
  });
  return { system, report, ask };
}

/** Units of one update: a body has at most 1 MiB. */
const BATCH = 100;

/** Stores targets as a person does. */
async function store(
  { system }: World,
  units: readonly Unit[],
  targetOf: (unit: Unit) => string,
): Promise<void> {
  for (let from = 0; from < units.length; from += BATCH) {
    const batch = units.slice(from, from + BATCH);
    const { status } = await system.control('translation-task-update', {
      task_id: batch[0]?.translation?.task_id,
      status: 'in_progress',
      reviewer: 'Mika',
      translation_results: batch.map((unit) => ({
        unit_id: unit.unit_id,
        source_text: unit.source_text,
        translated_text: targetOf(unit),
      })),
    });
    expect(status).toBe('succeeded');
  }
}

const FILES = new Map([
  ['a.json', table('おはよう', 'さようなら', 'はい')],
  ['b.json', table('いいえ')],
]);

describe('the reports about translations of a running system', () => {
  it('show work, targets, blocked units and histories, and say what is missing without translation.db', async () => {
    const running = await world(FILES);
    const { system, report, ask } = running;
    const before = await report('parse.text_units');
    expect(before.items.map(({ translation }) => translation?.state)).toEqual(
      Array.from({ length: 4 }, () => 'untranslated'),
    );
    expect((await report('translation.handoff')).releases).toMatchObject([
      { release_id: 'r1', counts: { pending: 2 }, ready_total: { tasks: 2, units: 4 }, blocked_total: 0 },
    ]);
    expect(await report('translation.status')).toMatchObject({
      current: null,
      history: [],
      coverage: { release_id: 'r1', target_language: 'zh-Hans', units: 4, accepted: 0 },
      publish_blockers: [
        { code: 'coverage_incomplete', count: 0 },
        { code: 'untranslated', count: 4 },
      ],
    });

    const [blocked] = before.items;
    await store(running, before.items.slice(0, 3), (unit) => (unit === blocked ? ' ' : `译${unit.ordinal}`));
    const page = await report('parse.text_units', { destination: 'a.json' });
    expect(page.translations).toMatchObject({ available: true, tasks_built: true });
    expect(page.history).toBeNull();
    expect(page.items.map(({ translation }) => [translation?.state, translation?.target_text])).toEqual([
      ['blocked', ' '],
      ['draft', '译1'],
      ['draft', '译2'],
    ]);
    expect(page.items[0]?.translation).toMatchObject({
      revision: 1,
      author: { kind: 'person' },
      findings: [{ check: 'empty_target', origin: 'target', severity: 'error' }],
    });
    const field = { destination: 'a.json', field_path: String(blocked?.field_path) };
    const one = await report('parse.text_units', field);
    expect(one.items).toHaveLength(1);
    expect(one.history).toMatchObject({
      is_cut: false,
      items: [{ revision: 1, state: 'blocked', reviewer: 'Mika', release_id: 'r1' }],
    });
    expect((await report('translation.handoff')).releases).toMatchObject([
      {
        counts: { blocked: 1, pending: 1 },
        ready_total: { tasks: 1, units: 1 },
        blocked_total: 1,
        blocked: [{ unit_id: blocked?.unit_id, codes: ['empty_target'] }],
      },
    ]);
    expect(await report('translation.status')).toMatchObject({
      coverage: { units: 4, blocked: 1, by_state: { draft: 2, untranslated: 1 } },
      publish_blockers: [
        { code: 'coverage_incomplete', count: 0 },
        { code: 'untranslated', count: 1 },
        // Without its finding the blocked one would be a draft, which is not published either.
        { code: 'below_min_state', count: 3 },
      ],
    });
    const { checks } = await report('daemon.doctor');
    expect(checks).toContainEqual(
      expect.objectContaining({
        id: 'translation.work',
        status: 'ok',
        message: '1 unit of r1 to translate, 1 blocked, 0 chunks leased',
      }),
    );

    await system.daemon.stop();
    await writeFile(join(system.directory, 'data', 'translation.db'), Buffer.alloc(8192, 'not of SQLite '));
    await system.startDaemon();
    await system.untilReady(true);
    const sources = await report('parse.text_units', field);
    expect(sources).toMatchObject({
      total: 1,
      history: null,
      translations: { available: false, tasks_built: false },
      items: [{ source_text: 'おはよう', translation: null }],
    });
    expect(sources.translations.reason).toContain('translation.db cannot be used');
    for (const name of ['translation.handoff', 'translation.status', 'translation.tasks'] as const) {
      const { status, text } = await ask(name);
      expect([name, status]).toEqual([name, 503]);
      expect(JSON.parse(text)).toMatchObject({ code: 'backend_unavailable' });
      expect(text).toContain(`is not available for ${name}`);
    }
  });

  it('have pages of long texts that the server accepts, with each unit once', async () => {
    const texts = Array.from({ length: 1000 }, (_, at) => `${at}${'あ'.repeat(1100)}`);
    const running = await world(new Map([['long.json', table(...texts)]]));
    const { report, ask } = running;
    const all: Unit[] = [];
    const read = async (): Promise<number[]> => {
      all.length = 0;
      const sizes: number[] = [];
      for (let offset: number | null = 0; offset !== null;) {
        const query = { offset: String(offset), limit: '1000' };
        sizes.push(Buffer.byteLength((await ask('parse.text_units', query)).text));
        const page: ReportBodyOf<'parse.text_units'> = await report('parse.text_units', query);
        all.push(...page.items);
        offset = page.next_offset;
      }
      return sizes;
    };
    expect(await read()).toHaveLength(1);
    await store(running, [...all], ({ source_text: text }) => `译${text}`);
    const sizes = await read();
    expect(sizes.length).toBeGreaterThan(1);
    expect(Math.max(...sizes)).toBeGreaterThan(6 * MEBIBYTE);
    expect(Math.max(...sizes)).toBeLessThan(8 * MEBIBYTE);
    expect(all.map(({ source_text: text }) => text)).toEqual(texts);
    expect(all.map(({ translation }) => translation?.target_text)).toEqual(texts.map((text) => `译${text}`));
  });
});
