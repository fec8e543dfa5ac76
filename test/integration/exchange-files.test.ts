import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ctl, type CtlRun } from '../support/ctl.ts';
import { reusedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { writeTokenFile } from '../support/token-file.ts';
import { until } from '../support/until.ts';

const TOKENS = { all: 'exchange-token-4711', translator: 'translator-token-4711' };
const RECORDS = 20_000;
const LANGUAGES = ['--source-language', 'ja', '--target-language', 'zh-Hans'];
const TERMS =
  'source,translation,aliases,status\n先生,老师,せんせい,approved\n生徒,学生,,draft\n敵,敌,,deprecated\n';

interface World {
  readonly system: TestSystem;
  /** The folder of exchanged files. */
  readonly exchange: string;
  /** A folder of the person at the command line. */
  readonly desk: string;
  readonly run: (...words: readonly string[]) => Promise<CtlRun>;
  readonly runAsTranslator: (...words: readonly string[]) => Promise<CtlRun>;
}

/** A system without releases, and `slipway ctl` in front of its server. */
async function world(atEnd: AtEnd = onTestFinished): Promise<World> {
  const tokenFile = await writeTokenFile(TOKENS.all, atEnd);
  const translator = await writeTokenFile(TOKENS.translator, atEnd);
  const system = await startSystem({
    upstream: { kind: 'none' },
    server: {
      admin: { tokenFiles: [tokenFile], exposeControl: true },
      auth: { tokens: [{ file: translator, id: 'lin', allow: ['translate'] }] },
    },
    atEnd,
  });
  const runWith =
    (file: string) =>
    async (...words: readonly string[]): Promise<CtlRun> =>
      await ctl(['--url', system.serverUrl, '--token-file', file, ...words]);
  const run = runWith(tokenFile);
  await until(async () => (await run('report', 'translation.memory.summary')).code === 0);
  const exchange = join(system.directory, 'data/exchange');
  await mkdir(exchange, { recursive: true });
  return {
    system,
    exchange,
    desk: await temporaryDirectory(atEnd),
    run,
    runAsTranslator: runWith(translator),
  };
}

async function counts({ run }: World, report: string): Promise<unknown> {
  const { out } = await run('report', report, '-o', 'json');
  return (JSON.parse(out) as { counts: unknown }).counts;
}

/** Only one test adds terms to its Glossary. */
const shared = reusedFixture(world);
/** Only one test adds terms to its Glossary; the tests have records of their own. */
const killable = reusedFixture(world);

describe('slipway ctl', () => {
  it('brings a Glossary in from a local file and takes it out again, through the ordinary actions', async () => {
    const all = await shared();
    const { desk, run } = all;
    const file = join(desk, 'terms.csv');
    await writeFile(file, TERMS);
    expect(await run('glossary', 'import', file)).toMatchObject({
      code: 2,
      err: expect.stringContaining('--source-language'),
    });
    const dry = await run('glossary', 'import', file, '--dry-run', ...LANGUAGES);
    expect(dry).toMatchObject({ code: 0, out: expect.stringContaining('nothing was changed') });
    expect(await counts(all, 'translation.glossary.summary')).toMatchObject({ draft: 0 });
    const drafts = await run('glossary', 'import', file, ...LANGUAGES);
    expect(drafts.out).toMatch(/2 added, 1 left out/);
    const trusted = ['--trusted', '--reviewer', 'mika'];
    const reviewed = await run('glossary', 'import', file, ...trusted);
    expect([reviewed.code, reviewed.err]).toEqual([0, '']);
    expect(reviewed.out).toMatch(/1 reviewed, 1 unchanged, 1 added/);
    expect((await run('glossary', 'import', file, ...trusted)).out).toMatch(/3 unchanged/);
    expect(await counts(all, 'translation.glossary.summary')).toEqual({
      draft: 1,
      approved: 1,
      deprecated: 1,
      rejected: 0,
    });
    const out = join(desk, 'out.tbx');
    expect(await run('glossary', 'export', out)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/written: +3/),
    });
    expect(await readFile(out, 'utf8')).toContain('<term>せんせい</term>');
    expect(await run('glossary', 'export', out)).toMatchObject({
      code: 2,
      err: expect.stringContaining('exists'),
    });
    expect((await run('glossary', 'import', out, ...trusted, '-o', 'json')).out).toContain('"unchanged":3');
  });

  it('says what it leaves out of a file of another program, and which languages a file has', async () => {
    const { desk, run } = await shared();
    const file = join(desk, 'other.tbx');
    const wording = (text: string, state: string): string =>
      `<tig><term>${text}</term><termNote type="administrativeStatus">${state}</termNote></tig>`;
    await writeFile(
      file,
      `<martif type="TBX"><text><body><termEntry><langSet xml:lang="JA-JP"><tig><term>園丁</term></tig></langSet><langSet xml:lang="zh_CN">${wording('园丁', 'Preferred')}${wording('花匠', 'not\nrecommended')}</langSet></termEntry></body></text></martif>`,
    );
    const dry = await run('glossary', 'import', file, '--dry-run', ...LANGUAGES);
    expect(dry).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /1 added, 1 wording left out[\s\S]*"花匠" must not be used: "not recommended"/,
      ),
    });
    const korean = ['--source-language', 'ko', '--target-language', 'en'];
    expect(await run('glossary', 'import', file, '--dry-run', ...korean)).toMatchObject({
      code: 0,
      out: expect.stringContaining('0 taken: no entry is of ko to en; the file has JA-JP (1), zh_CN (1)'),
    });
  });

  it('runs the jobs on the exchange folder, and says where the file is', async () => {
    const all = await killable();
    const { exchange, run, runAsTranslator } = all;
    const before = await recordsOf(all);
    const record = {
      source_language: 'ja',
      target_language: 'zh-Hans',
      source_text: 'はい',
      target_text: '是',
    };
    await writeFile(join(exchange, 'a.jsonl'), `${JSON.stringify(record)}\n`);
    const imported = await runAsTranslator('memory', 'import', 'a.jsonl');
    expect(imported).toMatchObject({
      code: 0,
      out: expect.stringMatching(/a\.jsonl in the folder exchange\.root/),
    });
    expect(imported.out).toMatch(/1 added/);
    expect(
      await runAsTranslator('memory', 'import', 'a.jsonl', '--trusted', '--reviewer', 'lin'),
    ).toMatchObject({
      code: 4,
      err: expect.stringContaining('review'),
    });
    expect(await recordsOf(all)).toEqual({ ...before, candidate: before.candidate + 1 });
    const trusted = await run('memory', 'import', 'a.jsonl', '--trusted', '--reviewer', 'mika');
    expect(trusted.out).toMatch(/1 confirmed/);
    const exported = await run('memory', 'export', 'out/all.tmx', '--state', 'trusted');
    expect(exported.out).toMatch(/written: +1/);
    expect(await readFile(join(exchange, 'out/all.tmx'), 'utf8')).toContain('<seg>はい</seg>');
    await writeFile(join(exchange, 'terms.csv'), TERMS);
    expect((await run('glossary', 'import', 'terms.csv', '--exchange')).out).toMatch(/2 added, 1 left out/);
    expect((await run('glossary', 'export', 'terms.tbx', '--exchange')).code).toBe(0);
    expect((await stat(join(exchange, 'terms.tbx'))).size).toBeGreaterThan(500);
    expect((await run('schedules')).out).not.toContain('ctl-');
  });

  it('says line and reason of a file that is refused, with the exit codes of other commands', async () => {
    const { desk, exchange, run } = await shared();
    const broken = join(desk, 'broken.csv');
    await writeFile(broken, 'source,translation\n先生,"老师\n');
    expect(await run('glossary', 'import', broken, ...LANGUAGES)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/line 2: .*nothing was changed/),
    });
    await writeFile(join(exchange, 'broken.tmx'), '<tmx version="1.4">\n<body>&x;');
    expect(await run('memory', 'import', 'broken.tmx')).toMatchObject({
      code: 1,
      out: expect.stringMatching(/file_refused[\s\S]*line 2/),
    });
    for (const words of [
      ['memory', 'import', '../main.db', '--format', 'tmx'],
      ['memory', 'import', 'none.tmx'],
    ]) {
      expect(await run(...words)).toMatchObject({ code: 1 });
    }
    for (const words of [
      ['memory', 'import'],
      ['memory', 'import', 'a.tmx', '--reviewer', 'mika'],
      ['memory', 'import', 'a.tmx', '--trusted'],
      ['memory', 'import', 'a.tmx', '--exchange'],
      ['glossary', 'import', join(desk, 'none.csv'), ...LANGUAGES],
      ['glossary', 'import', join(desk, 'a.xlsx'), ...LANGUAGES],
      ['glossary', 'export', join(desk, 'a.csv'), '--state', 'all', ...LANGUAGES],
    ]) {
      expect(await run(...words)).toMatchObject({ code: 2 });
    }
  });
});

interface Records {
  readonly candidate: number;
  readonly trusted: number;
}

async function recordsOf(all: World): Promise<Records> {
  const { candidate, trusted } = (await counts(all, 'translation.memory.summary')) as Records;
  return { candidate, trusted };
}

describe('a daemon that is killed during an import', () => {
  it('continues it after its start, and has every record once', async () => {
    const all = await killable();
    const { system, exchange, run } = all;
    const candidates = async (): Promise<number> => (await recordsOf(all)).candidate;
    /** Kills the daemon in the middle of an import. @returns the result of the import */
    const importKilled = async (name: string): Promise<Record<string, unknown>> => {
      const lines = Array.from({ length: RECORDS }, (_, at) =>
        JSON.stringify({
          source_language: 'ja',
          target_language: 'zh-Hans',
          source_text: `${name}文${at}`,
          target_text: `句${at}`,
        }),
      );
      await writeFile(join(exchange, `${name}.jsonl`), lines.join('\n'));
      const schedule = { id: name, group: 'i18n', action: 'memory-import', delay_seconds: 86_400 };
      await system.control('schedule-add', { ...schedule, args: [`file=${name}.jsonl`] });
      const before = await candidates();
      await system.control('schedule-run', { id: name });
      await until(async () => (await candidates()) > before + 200);
      await system.daemon.kill();
      await system.startDaemon();
      const task = await until(async () => {
        const { code, out } = await run('report', 'task.list', '-o', 'json');
        const { items } = JSON.parse(out) as { items: Array<Record<string, unknown>> };
        const found = items.find(({ kind }) => kind === 'memory-import');
        return code === 0 && found?.['status'] === 'succeeded' && found;
      });
      expect(await candidates()).toBe(before + RECORDS);
      return task['result'] as Record<string, unknown>;
    };
    const unchangedOf = ({ counts: outcomes }: Record<string, unknown>): number => {
      const { added, unchanged } = outcomes as { added: number; unchanged: number };
      expect(added + unchanged).toBe(RECORDS);
      return unchanged;
    };
    // On a busy machine an import can end before the daemon is killed.
    for (let round = 0; ; round += 1) {
      const result = await importKilled(`import-${round}`);
      expect(result).toMatchObject({ issues: [] });
      if (unchangedOf(result) > 200) break;
    }
  });
});
