import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { stringTable } from '../../demo/game/unity/string-table.ts';
import { writeBundle } from '../../demo/game/unity/write-bundle.ts';
import { writeSerializedFile } from '../../demo/game/unity/write-serialized-file.ts';
import { parseJsonExact } from '../../src/contract/json/json-exact.ts';
import { ctl } from '../support/ctl.ts';
import { writeReleaseTree } from '../support/release-tree.ts';
import { reusedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { writeTokenFile } from '../support/token-file.ts';
import { until } from '../support/until.ts';
import { zipOf } from '../support/zip-of.ts';

const TOKEN = 'parse-token-4711';
const PATH_ID = -9_180_874_206_900_030_759n;

const table = (texts: readonly (readonly [number, string])[]): string =>
  JSON.stringify(texts.map(([Id, Text]) => ({ Id, Speaker: 'ホシノ', Text })));

const bundle = (rows: readonly (readonly [number, string])[]): Buffer => {
  const strings = rows.map(([id, text]) => ({ id: BigInt(id), text }));
  const bytes = writeSerializedFile({ version: 22, objects: [stringTable('Table', 'ja', PATH_ID, strings)] });
  return writeBundle([{ name: 'CAB-0f3cab12e9d84c7b95a1e0d2c3b4a596', bytes }]);
};

const OLD = new Map<string, Buffer>([
  [
    'Scenario/a.json',
    Buffer.from(
      table([
        [1, 'おはよう'],
        [2, 'こんにちは'],
        [3, 'さようなら'],
      ]),
    ),
  ],
  ['Same.csv', Buffer.from('Key,Text\r\n1,おなじ\r\n')],
  [
    'ui_0f3cab12e9d84c7b.bundle',
    bundle([
      [7, 'はい'],
      [8, 'いいえ'],
    ]),
  ],
  ['Broken.json', Buffer.from('{"Text":"あ"')],
]);

interface World {
  readonly system: TestSystem;
  readonly tokenFile: string;
  readonly report: (path: string) => Promise<Record<string, unknown> & { items: Record<string, unknown>[] }>;
  /** Waits until the reports show the release, and the run that indexed it has ended. */
  readonly untilIndexed: () => Promise<void>;
  /** Publishes these files under a new id unless they are published, and waits until they are indexed. @returns the id */
  readonly indexed: (files: ReadonlyMap<string, Buffer>) => Promise<string>;
}

async function world(
  files: ReadonlyMap<string, Buffer>,
  daemon: Record<string, object> = {},
  atEnd: AtEnd = onTestFinished,
): Promise<World> {
  const tokenFile = await writeTokenFile(TOKEN, atEnd);
  const upstream = join(await temporaryDirectory(atEnd), 'upstream');
  await writeReleaseTree(upstream, { id: 'r1', files });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream }, maxAttempts: 1 },
    daemon,
    server: { admin: { tokenFiles: [tokenFile], exposeControl: true } },
    atEnd,
  });
  const report: World['report'] = async (path) => {
    const response = await fetch(`${system.serverUrl}/admin/parse/${path}`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`);
    return parseJsonExact(text) as never;
  };
  let published = { number: 1, files };
  const untilIndexed = async (): Promise<void> => {
    await until(async () => {
      const { release_id: id, last_run: run } = await report('status');
      return id === `r${published.number}` && (run as { status: string } | null)?.status === 'succeeded';
    });
  };
  const indexed: World['indexed'] = async (wanted) => {
    const id = `r${published.number + (published.files === wanted ? 0 : 1)}`;
    if (published.files !== wanted) {
      published = { number: published.number + 1, files: wanted };
      await writeReleaseTree(upstream, { id, files: wanted });
      await system.succeed('sync');
    }
    await untilIndexed();
    return id;
  };
  await system.untilReady(true);
  return { system, tokenFile, report, untilIndexed, indexed };
}

interface ParseRun {
  readonly kind: string;
  readonly status: string;
  readonly progress: { readonly done: number } | null;
  readonly result: { readonly parsed: number } | null;
}

describe('the text of a release', () => {
  /** Each test begins with the release that it names, and leaves the index whole. */
  const shared = reusedFixture(
    async (atEnd) => await world(OLD, { retention: { retainedCount: 0, retainedSeconds: 0 } }, atEnd),
  );

  it('is indexed after a sync, and shown by the reports with exact ids', async () => {
    const { report, indexed, system } = await shared();
    const id = await indexed(OLD);
    expect(await report('status')).toMatchObject({
      containers: 4,
      by_parse_status: { parsed: 3, failed: 1 },
      units: 9,
      errors: 1,
      errors_by_code: { json_invalid: 1 },
      last_run: { status: 'succeeded' },
    });
    const units = await report('text-units?limit=1000');
    expect(units.items.map((item) => item['source_text'])).toEqual([
      'おなじ',
      'ホシノ',
      'おはよう',
      'ホシノ',
      'こんにちは',
      'ホシノ',
      'さようなら',
      'はい',
      'いいえ',
    ]);
    expect(units).toMatchObject({ total: 9, release_id: id });
    const exact = await report(`text-units?path_id=${PATH_ID}`);
    expect(exact.items.map((item) => [item['path_id'], item['field_path']])).toEqual([
      [PATH_ID, 'm_TableData[0].m_Localized'],
      [PATH_ID, 'm_TableData[1].m_Localized'],
    ]);
    expect((await report(`text-units?path_id=${PATH_ID + 1n}`))['total']).toBe(0);
    expect((await report('text-units?path_pattern=Scenario/*&field_path=/0/Text')).items).toMatchObject([
      { destination: 'Scenario/a.json', speaker: 'ホシノ', source_text: 'おはよう' },
    ]);
    expect((await report('errors')).items).toMatchObject([
      { destination: 'Broken.json', code: 'json_invalid', parse_status: 'failed', severity: 'error' },
    ]);
    const doctor = (await (await system.askDaemon('/v1/reports/daemon.doctor')).json()) as {
      checks: object[];
    };
    expect(doctor.checks).toContainEqual(
      expect.objectContaining({
        id: 'parse',
        status: 'ok',
        message: expect.stringContaining('9 text units'),
      }),
    );
  });

  it('is made again when the index is deleted or damaged', async () => {
    const { report, untilIndexed, indexed, system } = await shared();
    await indexed(OLD);
    const index = join(system.directory, 'data', 'index.db');
    for (const damage of [
      async () => await rm(index),
      async () => await writeFile(index, Buffer.alloc(65_536, 7)),
    ]) {
      await system.daemon.kill();
      await Promise.all(
        ['', '-wal', '-shm'].map(
          async (suffix) => await rm(`${index}${suffix}`, { force: suffix !== '' }).catch(() => undefined),
        ),
      );
      await damage().catch(() => undefined);
      await system.startDaemon();
      await untilIndexed();
      expect((await report('status'))['units']).toBe(9);
      await system.untilReady(true);
    }
  });

  it('is made again by itself when the index is deleted or damaged while the daemon runs', async () => {
    const { report, untilIndexed, indexed, system } = await shared();
    await indexed(OLD);
    const index = join(system.directory, 'data', 'index.db');
    for (const lose of [
      async () => await rm(index),
      async () => {
        await writeFile(`${index}.new`, Buffer.alloc(65_536, 7));
        await rename(`${index}.new`, index);
      },
    ]) {
      await lose();
      const answer = await system.askDaemon('/v1/reports/parse.text_units');
      expect([answer.status, await answer.text()]).toEqual([
        503,
        expect.stringContaining('deleted or replaced while the daemon ran'),
      ]);
      await until(async () => (await report('text-units').catch(() => null))?.['total'] === 9);
      await untilIndexed();
      expect((await report('status'))['replaced']).not.toBeNull();
    }
    const isLogged = (line: string): boolean => line.includes('the parse index was replaced');
    await until(() => system.daemon.lines.filter(isLogged).length >= 2);
    await system.untilReady(true);
  });

  it('is indexed only on request when parse.automatic is off, and again as a whole with --full', async () => {
    const { report, system, tokenFile } = await world(OLD, { parse: { automatic: false } });
    const url = ['--url', system.serverUrl, '--token-file', tokenFile, '--output', 'json'];
    const tasks = (await (await system.askDaemon('/v1/reports/task.list')).json()) as {
      items: { kind: string }[];
    };
    expect(tasks.items.map(({ kind }) => kind)).not.toContain('parse');
    expect(await report('status')).toMatchObject({ release_id: null, last_run: null });
    const first = await ctl(['parse', ...url]);
    expect([first.code, first.out]).toEqual([0, expect.stringContaining('"parsed":4,"reused":0')]);
    const again = await ctl(['parse', ...url]);
    // A container that failed is not parsed again: its bytes are the same.
    expect([again.code, again.out]).toEqual([0, expect.stringContaining('"parsed":0,"reused":4')]);
    const full = await ctl(['parse', '--full', ...url]);
    expect([full.code, full.out]).toEqual([0, expect.stringContaining('"parsed":4,"reused":0')]);
    expect(full.out).toContain('parse-full');
    expect(await report('status')).toMatchObject({ units: 9, carry_over: null });
  });

  it('continues after a kill without parsing finished containers again', async () => {
    const files = new Map<string, Buffer>();
    for (let file = 0; file < 30; file += 1) {
      files.set(`${file + 10}.zip`, await zipOf({ 'a.json': table([[1, `テキスト${file}`]]) }));
    }
    // It comes last and takes seconds, so that the kill falls into it or before it.
    files.set('slow.json', Buffer.from(`[${`"${'abcdefgh'.repeat(8)}",`.repeat(900_000)}"あ"]`));
    const { report, untilIndexed, system } = await world(files, { parse: { automatic: false } });
    const runs = async (): Promise<readonly ParseRun[]> => {
      const list = await system.askDaemon('/v1/reports/task.list');
      return ((await list.json()) as { items: ParseRun[] }).items.filter(({ kind }) => kind === 'parse');
    };
    await system.control('schedule-add', {
      id: 'once',
      group: 'parse',
      action: 'parse',
      delay_seconds: 3600,
    });
    await system.control('schedule-run', { id: 'once' });
    const finished = await until(async () => (await runs())[0]?.progress?.done || null);
    await system.daemon.kill();
    await system.startDaemon();
    await untilIndexed();
    await until(async () => (await runs()).every(({ status }) => status === 'succeeded'));
    const [run, ...others] = await runs();
    expect(others).toEqual([]);
    expect(run?.result?.parsed).toBeGreaterThan(0);
    expect(run?.result?.parsed).toBeLessThanOrEqual(files.size - finished);
    expect((await report('status'))['units']).toBe(61);
  });

  it('refuses a wrong query with the name of the field', async () => {
    const { system } = await shared();
    const ask = async (query: string): Promise<string> => {
      const response = await fetch(`${system.serverUrl}/admin/parse/text-units?${query}`, {
        headers: { authorization: `Bearer ${TOKEN}` },
      });
      expect(response.status).toBe(400);
      return await response.text();
    };
    expect(await ask('path_id=9223372036854775808')).toContain('path_id');
    expect(await ask('limit=1001')).toContain('limit');
    expect(await ask('colour=red')).toContain('colour');
  });

  it('is carried over to the next release, and only what changed is parsed; it leaves with its release', async () => {
    const { report, indexed, system, tokenFile } = await shared();
    const first = await indexed(OLD);
    const before = await report('text-units?limit=1000');
    const second = await indexed(
      new Map([
        ...[...OLD].filter(([destination]) => !destination.startsWith('ui_')),
        [
          'Scenario/a.json',
          Buffer.from(
            table([
              [9, 'はじめまして'],
              [1, 'おはよう'],
              [3, 'またね'],
            ]),
          ),
        ],
        [
          'ui_1f3cab12e9d84c7b.bundle',
          bundle([
            [7, 'はい'],
            [8, 'いいえ'],
          ]),
        ],
      ]),
    );
    const status = await report('status');
    expect(status['carry_over']).toMatchObject({ previous_release_id: first, changed: 1 });
    const after = await report('text-units?limit=1000');
    const idOf = ({ items }: typeof after, text: string): unknown =>
      items.find((item) => item['source_text'] === text)?.['unit_id'];
    for (const text of ['おはよう', 'おなじ', 'はい', 'いいえ'])
      expect(idOf(after, text)).toBe(idOf(before, text));
    expect(idOf(after, 'またね')).toBe(idOf(before, 'さようなら'));
    expect(after['generation']).toBeGreaterThan(Number(before['generation']));

    const tasks = (await (await system.askDaemon('/v1/reports/task.list')).json()) as {
      items: { kind: string; result: object | null }[];
    };
    expect(tasks.items.find(({ kind }) => kind === 'parse')?.result).toMatchObject({
      release_id: second,
      parsed: 1,
      reused: 3,
    });
    const url = ['--url', system.serverUrl, '--token-file', tokenFile];
    const run = await ctl(['parse', '--output', 'json', ...url]);
    expect(run.out).toContain('"parsed":0,"reused":4');
    expect(run.code).toBe(0);
    const page = await ctl(['texts', 'diff', first, second, '--limit', '1', ...url]);
    expect(page.out).toMatch(/more; --offset 1 shows them/);
    const rest = await ctl(['texts', 'diff', first, second, '--offset', '1', ...url]);
    expect(rest.out).not.toContain('more;');
    expect(rest.out.split('\n')).not.toContain(page.out.split('\n')[1]);
    const difference = await ctl(['texts', 'diff', first, second, ...url]);
    expect(difference.out).toMatch(/changed\s.*さようなら.*またね/);
    expect(difference.code).toBe(0);

    const third = await indexed(new Map([['a.txt', Buffer.from('あ')]]));
    expect((await ctl(['texts', 'diff', first, second, ...url])).out).toContain('differences');
    await system.succeed('release-cleanup', { id: first });
    await until(async () =>
      (await ctl(['texts', 'diff', first, second, ...url])).err.includes(`was not compared with ${first}`),
    );
    expect((await ctl(['texts', 'diff', first, second, ...url])).code).toBe(1);
    expect((await ctl(['texts', 'diff', second, third, ...url])).out).toContain('differences');
  });
});
