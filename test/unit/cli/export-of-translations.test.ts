import fs from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { CTL_EXITS } from '../../../src/cli/ctl/ctl-exits.ts';
import type { FormatName } from '../../../src/contract/formats/exchange-formats.ts';
import { readFile as readUnits, UNIT_FORMAT_NAMES } from '../../support/exchange-units.ts';
import {
  fakeTaskId,
  fakeTranslations,
  fakeUnit,
  refuse,
  storeFake,
} from '../../support/fake-translations.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

async function pathOf(name: string): Promise<string> {
  return join(await temporaryDirectory(), name);
}

async function unitsOf(path: string, format: FormatName<'units'>) {
  return (await readUnits(format, await readFile(path))).map((result) =>
    result.kind === 'unit' ? result.unit : result,
  );
}

describe('slipway ctl translations export', () => {
  it.each(UNIT_FORMAT_NAMES)(
    'writes units with everything that a translator and the way back need, as %s',
    async (format) => {
      const service = fakeTranslations([
        fakeUnit('u1', { speaker: 'アロナ', source: 'おはよう、先生' }),
        storeFake(fakeUnit('u2', { destination: 'b.json' }), { target: '译文', state: 'translated' }),
      ]);
      service.terms = [['先生', '老师']];
      const path = await pathOf('work.any');
      const { code, out } = await service.run('translations', 'export', path, '--format', format);
      expect(code).toBe(CTL_EXITS.ok);
      expect(out).toContain('2 in 2 tasks (1 untranslated, 1 translated)');
      expect(await unitsOf(path, format)).toEqual([
        {
          unit_id: 'u1',
          locator: { destination: 'a.json', archive_entry: null, path_id: null, field_path: '/u1' },
          source_text: 'おはよう、先生',
          target_text: null,
          note: 'Glossary: 先生: 老师',
          context: { speaker: 'アロナ' },
          previous_source: null,
          previous_target: null,
          revision: 0,
        },
        expect.objectContaining({ unit_id: 'u2', target_text: '译文', revision: 1 }),
      ]);
    },
  );

  it('copies the sources of missing targets where the format can carry it', async () => {
    const service = fakeTranslations([fakeUnit('u1', { source: '先生' })]);
    const path = await pathOf('work.xlf');
    const copiesOf = async (...options: readonly string[]): Promise<number> => {
      await service.run('translations', 'export', path, '--force', '--no-hints', ...options);
      return (await readFile(path, 'utf8')).split('先生').length - 2;
    };
    expect(await copiesOf()).toBe(1);
    expect(await copiesOf('--copy-source', 'no')).toBe(0);
    expect(await copiesOf('--format', 'xliff-2.1', '--copy-source', 'yes')).toBe(1);
    for (const [options, message] of [
      [['--copy-source', 'maybe'], 'must be yes or no'],
      [['--format', 'po', '--copy-source', 'yes'], '--copy-source yes is only for xliff-1.2 and xliff-2.1'],
    ] as const) {
      const run = await service.run('translations', 'export', path, '--force', ...options);
      expect(run).toMatchObject({ code: CTL_EXITS.usage, err: expect.stringContaining(message) as string });
    }
  });

  it('tells the translator why a reviewer has returned the task', async () => {
    const service = fakeTranslations([fakeUnit('u1')]);
    service.taskReason = 'the tone is too formal';
    const path = await pathOf('work.jsonl');
    await service.run('translations', 'export', path);
    expect(await unitsOf(path, 'jsonl')).toMatchObject([{ note: 'Task: the tone is too formal' }]);
  });

  it('bounds the note of a unit, and says how much is missing', async () => {
    const service = fakeTranslations([fakeUnit('u1', { source: '先生' })]);
    service.taskReason = 'x'.repeat(60_000);
    service.terms = Array.from({ length: 2000 }, (_, at) => ['先生', `老师${at}`] as const);
    const path = await pathOf('work.csv');
    await service.run('translations', 'export', path);
    const [unit] = await unitsOf(path, 'csv');
    const note = unit !== undefined && 'note' in unit ? (unit.note ?? '') : '';
    const lines = note.split('\n');
    expect(note.length).toBeLessThan(8200);
    expect(lines[0]).toBe(`Task: ${'x'.repeat(1994)}…`);
    expect(lines.at(-1)).toBe(`(${2001 - (lines.length - 1)} more lines; see the unit itself)`);
  });

  it('asks the Glossary about units that may have terms, and about all units of a large Glossary', async () => {
    const service = fakeTranslations([
      fakeUnit('u1', { source: 'ゲーム' }),
      fakeUnit('u2', { source: 'ｹﾞｰﾑ開発' }),
      fakeUnit('u3'),
    ]);
    service.terms = [['ゲーム', '游戏']];
    const asked = async (): Promise<number> => {
      service.reads.length = 0;
      await service.run('translations', 'export', await pathOf('work.csv'));
      return service.reads.filter((read) => read.startsWith('translation.glossary.diagnose')).length;
    };
    expect(await asked()).toBe(2);
    service.termTotal = 5000;
    expect(await asked()).toBe(3);
    service.terms = [];
    expect(await asked()).toBe(0);
  });

  it('knows the format by the name, writes XLIFF 1.2 as .xlf, and names the languages', async () => {
    const service = fakeTranslations([fakeUnit('u1')]);
    const path = await pathOf('work.xlf');
    await service.run('translations', 'export', path);
    const text = await readFile(path, 'utf8');
    expect(text).toContain('version="1.2"');
    expect(text).toContain('source-language="ja" target-language="zh-Hans"');
    const table = await pathOf('work.csv');
    await service.run('translations', 'export', table);
    expect(await readFile(table, 'utf8')).toContain('"unit_id","state","source_text"');
  });

  it('leaves out units that nobody asked for and texts that no file can hold, and counts them', async () => {
    const service = fakeTranslations([
      fakeUnit('u1'),
      storeFake(fakeUnit('u2'), { target: 'T' }),
      fakeUnit('label', { isTranslatable: false }),
      fakeUnit('long', { isCut: true }),
      fakeUnit('u5', { destination: 'dir/b.json' }),
    ]);
    const path = await pathOf('work.jsonl');
    const all = await service.run('translations', 'export', path, '-o', 'json');
    expect(JSON.parse(all.out)).toMatchObject({
      release_id: 'r1',
      units: 3,
      tasks: 2,
      by_state: { untranslated: 2, draft: 1 },
      left_out: { 'not translatable': 1, 'text too long': 1 },
    });
    const chosen = async (...options: readonly string[]): Promise<unknown[]> => {
      await service.run('translations', 'export', path, '--force', ...options);
      return (await unitsOf(path, 'jsonl')).map(({ unit_id: id }) => id);
    };
    expect(await chosen('--state', 'draft, stale')).toEqual(['u2']);
    expect(await chosen('--destination', 'dir/*')).toEqual(['u5']);
    expect(await chosen('--task', fakeTaskId('dir/b.json'))).toEqual(['u5']);
    const shown = await service.run('translations', 'export', path, '--force', '--state', 'draft');
    expect(shown.out).toMatch(/^left out: +3 units in another state or task, 1 unit not translatable$/m);
  });

  it('refuses a glob that fits no file, and writes none', async () => {
    const service = fakeTranslations([fakeUnit('u1')]);
    const path = await pathOf('work.jsonl');
    const { code, err } = await service.run('translations', 'export', path, '--destination', '{a,b}.json');
    expect(code).toBe(CTL_EXITS.failed);
    expect(err).toContain('no file with text fits --destination {a,b}.json');
    expect(await readdir(dirname(path))).toEqual([]);
  });

  it('begins again when another release is shown, and the file has one release only', async () => {
    const service = fakeTranslations([fakeUnit('u1'), fakeUnit('u2'), fakeUnit('u3')]);
    service.pageUnits = 1;
    let pages = 0;
    service.onRead = (report) => {
      if (report !== 'parse.text_units' || (pages += 1) !== 3) return;
      service.releaseId = 'r2';
      service.units.shift();
    };
    const path = await pathOf('work.jsonl');
    const { code, out } = await service.run('translations', 'export', path, '-o', 'json');
    expect([code, JSON.parse(out)]).toMatchObject([CTL_EXITS.ok, { release_id: 'r2', units: 2 }]);
    expect((await unitsOf(path, 'jsonl')).map(({ unit_id: id }) => id)).toEqual(['u2', 'u3']);
    expect(await readdir(dirname(path))).toEqual(['work.jsonl']);
  });

  it('keeps a file that exists, and leaves no part behind when a page fails', async () => {
    const service = fakeTranslations([fakeUnit('u1'), fakeUnit('u2')]);
    const path = await pathOf('work.csv');
    await writeFile(path, 'my work');
    const kept = await service.run('translations', 'export', path);
    expect(kept).toMatchObject({ code: CTL_EXITS.usage, err: expect.stringContaining('--force') as string });
    service.pageUnits = 1;
    service.onRead = () =>
      service.reads.length > 6 ? refuse('daemon_unreachable', CTL_EXITS.unavailable) : null;
    const failed = await service.run('translations', 'export', path, '--force', '--no-hints');
    expect(failed.code).toBe(CTL_EXITS.ok);
    const broken = await service.run('translations', 'export', path, '--force', '--no-hints');
    expect(broken.code).toBe(CTL_EXITS.unavailable);
    expect(await readdir(dirname(path))).toEqual(['work.csv']);
    expect(await unitsOf(path, 'csv')).toHaveLength(2);
  });

  it('leaves no part behind when a page fails while the disk is slow', async () => {
    const service = fakeTranslations([fakeUnit('u1'), fakeUnit('u2')]);
    const path = await pathOf('work.csv');
    service.pageUnits = 1;
    service.onRead = () =>
      service.reads.length > 2 ? refuse('daemon_unreachable', CTL_EXITS.unavailable) : null;
    // A disk that opens files for streams only after the command has failed.
    const waiting: string[] = [];
    const open = vi.spyOn(fs, 'open').mockImplementation((file) => {
      waiting.push(String(file));
    });
    onTestFinished(() => {
      open.mockRestore();
    });
    const broken = await service.run('translations', 'export', path, '--no-hints');
    for (const file of waiting) fs.writeFileSync(file, '');
    expect(broken.code).toBe(CTL_EXITS.unavailable);
    expect(await readdir(dirname(path))).toEqual([]);
  });

  it('reads again while the daemon is busy or restarts, and gives up after a while', async () => {
    const service = fakeTranslations([fakeUnit('u1'), fakeUnit('u2')]);
    service.pageUnits = 1;
    service.busyPages = 3;
    let restarts = 0;
    service.onRead = () => {
      if (service.reads.length !== 5 || restarts === 3) return;
      restarts += 1;
      service.reads.pop();
      refuse('daemon_unreachable', CTL_EXITS.unavailable);
    };
    const path = await pathOf('work.csv');
    expect(await service.run('translations', 'export', path, '--no-hints')).toMatchObject({
      code: CTL_EXITS.ok,
    });
    expect([restarts, await unitsOf(path, 'csv')]).toMatchObject([3, [{ unit_id: 'u1' }, { unit_id: 'u2' }]]);
    service.busyPages = 100;
    const given = await service.run('translations', 'export', path, '--no-hints', '--force');
    expect(given).toMatchObject({
      code: CTL_EXITS.unavailable,
      err: expect.stringContaining('translations are not available: translation.db is busy') as string,
    });
  });

  it('does not wait for a service that never answered', async () => {
    const service = fakeTranslations([fakeUnit('u1')]);
    service.onRead = () => refuse('unreachable', CTL_EXITS.unreachable);
    const run = await service.run('translations', 'export', await pathOf('work.csv'), '--no-hints');
    expect([run.code, service.reads.length]).toEqual([CTL_EXITS.unreachable, 1]);
  });

  it('names units that the format cannot carry, and writes the others', async () => {
    const service = fakeTranslations([fakeUnit('u1', { source: 'a\u0000b' }), fakeUnit('u2')]);
    const path = await pathOf('work.csv');
    const { code, out } = await service.run('translations', 'export', path, '--no-hints');
    expect(code).toBe(CTL_EXITS.failed);
    expect(out).toContain('1 in 1 task (1 untranslated)');
    expect(out).toMatch(/refused: +u1: unit u1: CSV cannot carry NUL/);
    expect((await unitsOf(path, 'csv')).map(({ unit_id: id }) => id)).toEqual(['u2']);
  });

  it('refuses wrong options before it writes', async () => {
    const service = fakeTranslations([fakeUnit('u1')]);
    const path = await pathOf('work.csv');
    for (const [argv, message] of [
      [[path, '--state', 'done'], '--state done: must be one or more of untranslated'],
      [[path, '--task', 'tt_x'], 'there is no translation task tt_x'],
      [[path, '--task', 'x', '--destination', 'y'], 'either --task or --destination'],
      [[join(path, 'below.csv')], 'cannot write'],
    ] as const) {
      const { code, err } = await service.run('translations', 'export', ...argv);
      expect([code === CTL_EXITS.ok, err]).toEqual([false, expect.stringContaining(message)]);
    }
    service.taskStatus = 'superseded';
    const { err } = await service.run('translations', 'export', path, '--task', fakeTaskId('a.json'));
    expect(err).toContain('is of the earlier release r1');
    expect(await readdir(dirname(path))).toEqual([]);
  });
});
