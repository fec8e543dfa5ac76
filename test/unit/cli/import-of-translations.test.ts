import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CTL_EXITS } from '../../../src/cli/ctl/ctl-exits.ts';
import { fileOf, sampleUnit } from '../../support/exchange-units.ts';
import {
  fakeTaskId,
  fakeTranslations,
  fakeUnit,
  refuse,
  storeFake,
  type FakeTranslations,
} from '../../support/fake-translations.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { packedWorkbook, relationship, workbookParts } from '../../support/workbook-parts.ts';

type Row = Record<string, unknown>;

/** Writes a file of JSON lines. */
async function jsonl(...rows: readonly Row[]): Promise<string> {
  const path = join(await temporaryDirectory(), 'work.jsonl');
  await writeFile(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return path;
}

/** A row for a unit of the fake, translated. */
const row = (id: string, target = `T${id}`, more: Row = {}): Row => ({
  unit_id: id,
  source_text: `源${id}`,
  target_text: target,
  revision: 0,
  ...more,
});

/** Runs an import with a report. @returns the outcome and detail of each unit, in order */
async function importFile(service: FakeTranslations, path: string, ...options: readonly string[]) {
  const report = join(await temporaryDirectory(), 'report.jsonl');
  const run = await service.run('translations', 'import', path, '--report', report, ...options);
  const rows = (await readFile(report, 'utf8'))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { line: number; outcome: string; detail: string; matched_by: string });
  return { ...run, rows, outcomes: rows.map(({ outcome }) => outcome) };
}

describe('slipway ctl translations import', () => {
  const targets = ({ units }: FakeTranslations) => units.map(({ target }) => target);

  it('tries everything first, then stores it with the revision that was seen and the run of the file', async () => {
    const service = fakeTranslations([
      fakeUnit('u1'),
      fakeUnit('u2'),
      fakeUnit('u3', { destination: 'b.json' }),
    ]);
    const path = await jsonl(row('u1'), row('u2'), row('u3'));
    const { code, out, outcomes } = await importFile(service, path);
    expect([code, outcomes]).toEqual([CTL_EXITS.ok, ['stored', 'stored', 'stored']]);
    expect(targets(service)).toEqual(['Tu1', 'Tu2', 'Tu3']);
    expect([service.trials.length, service.updates.length]).toEqual([2, 2]);
    const [first] = service.updates;
    expect(first).toMatchObject({
      task_id: fakeTaskId('a.json'),
      status: 'in_progress',
      provider: 'file',
      args: ['expect=u1:0', 'expect=u2:0'],
    });
    expect(first?.provider_run_id).toMatch(/^file:[0-9a-f]{32}$/);
    expect(out).toContain('3 stored: its target is stored');
    expect(out).toContain(`2 of 2 calls stored targets; run ${first?.provider_run_id}`);
  });

  it('finds a unit by its id, else by its place with the same source, else by a source that is there once', async () => {
    const service = fakeTranslations([
      fakeUnit('new-id', { field: '/place' }),
      fakeUnit('moved', { source: 'once' }),
      fakeUnit('twin-1', { source: 'twice' }),
      fakeUnit('twin-2', { source: 'twice' }),
    ]);
    const place = { destination: 'a.json', archive_entry: null, path_id: null, field_path: '/place' };
    const path = await jsonl(
      row('old-id', 'by place', { source_text: '源new-id', locator: place }),
      row('gone', 'by source', { source_text: 'once', locator: place }),
      row('twin', 'by source', { source_text: 'twice' }),
      row('nobody', 'x', { source_text: 'never' }),
    );
    const { code, rows } = await importFile(service, path, '--partial');
    expect(code).toBe(CTL_EXITS.failed);
    expect(rows.map(({ outcome, matched_by: by }) => [outcome, by])).toEqual([
      ['stored', 'place'],
      ['stored', 'source'],
      ['ambiguous', null],
      ['unknown_unit', null],
    ]);
    expect(targets(service)).toEqual(['by place', 'by source', null, null]);
  });

  it('takes a table whose line ends a spreadsheet has changed, and says so', async () => {
    const service = fakeTranslations([
      fakeUnit('u1', { source: 'い\r\nろ' }),
      fakeUnit('u2', { source: 'い\nろ\r\nは', target: 'a\r\nb', state: 'draft', revision: 1 }),
      fakeUnit('u3', { source: '真' }),
      fakeUnit('u4', { source: 'い\r\nろ' }),
    ]);
    const path = join(await temporaryDirectory(), 'work.csv');
    const rows = ['u1,"い\nろ","a\nb"', 'u2,"い\nろ\nは","a\nb"', 'u3,真,TRUE', 'u4,"い\n\nろ",x'];
    await writeFile(path, `\ufeffid,source,target\r\n${rows.join('\r\n')}\r\n`);
    const found = await importFile(service, path, '--partial');
    expect(found.outcomes).toEqual(['stored', 'unchanged', 'stored', 'source_changed']);
    expect(targets(service)).toEqual(['a\r\nb', 'a\r\nb', 'TRUE', null]);
    expect(found.out).toMatch(/work\.csv:2: stored: u1: .*: the file has other line ends than the release/);
    expect(found.out).toMatch(/work\.csv:5: unchanged: u2: .*: the file has other line ends/);
    expect(found.out).toMatch(/work\.csv:9: stored: u3: .*"TRUE" is a truth value/);
    expect(found.out).toMatch(
      /work\.csv:10: source_changed: u4: .*from character 2 on, the file has "\\n\\nろ" and/,
    );
    expect(found.rows.map((each) => 'remark' in each)).toEqual([true, true, true, false]);
    const check = await service.run('translations', 'check', path);
    expect(check.out).toContain(`${path}:9: warning: spreadsheet_value: the target "TRUE"`);
  });

  it('takes a workbook whose line ends LibreOffice has changed', async () => {
    const service = fakeTranslations([fakeUnit('u1', { source: 'い\r\nろ' })]);
    const path = join(await temporaryDirectory(), 'work.xlsx');
    const cells = (at: number, ...texts: readonly string[]): string =>
      `<row r="${at}">${texts.map((text) => `<c t="str"><v>${text}</v></c>`).join('')}</row>`;
    const rows = cells(1, 'id', 'source', 'target') + cells(2, 'u1', 'い\nろ', 'a\nb');
    await writeFile(path, await packedWorkbook(workbookParts({ sheets: [rows] })));
    expect((await importFile(service, path)).outcomes).toEqual(['stored']);
    expect(targets(service)).toEqual(['a\r\nb']);
  });

  it('leaves line ends alone in a file that no spreadsheet writes', async () => {
    const service = fakeTranslations([fakeUnit('u1', { source: 'い\r\nろ' })]);
    const path = await jsonl(row('u1', 'a\nb', { source_text: 'い\nろ' }));
    expect((await importFile(service, path)).outcomes).toEqual(['source_changed']);
  });

  it('finds the units of a table that has only sources and targets', async () => {
    const service = fakeTranslations([
      fakeUnit('u1'),
      fakeUnit('twin-1', { source: 'twice' }),
      fakeUnit('twin-2', { source: 'twice' }),
    ]);
    const path = join(await temporaryDirectory(), 'work.csv');
    await writeFile(path, 'source_text,target_text\r\n源u1,Tu1\r\ntwice,x\r\n');
    const { rows } = await importFile(service, path, '--partial');
    expect(rows.map(({ outcome, matched_by: by }) => [outcome, by])).toEqual([
      ['stored', 'source'],
      ['ambiguous', null],
    ]);
    expect(targets(service)).toEqual(['Tu1', null, null]);
  });

  it('reads only the destinations of the file when all units are there, and else the whole release', async () => {
    const units = [fakeUnit('u1'), fakeUnit('u2', { destination: 'b.json' })];
    const near = fakeTranslations(units);
    const place = { destination: 'a.json', archive_entry: null, path_id: null, field_path: '/u1' };
    await importFile(near, await jsonl(row('u1', 'T', { locator: place })));
    expect(near.reads.filter((read) => read.startsWith('parse.text_units'))).toEqual([
      'parse.text_units destination=a.json&limit=1000&offset=0',
    ]);
    const far = fakeTranslations(units);
    const { outcomes } = await importFile(far, await jsonl(row('u2', 'T', { locator: place })));
    expect(outcomes).toEqual(['stored']);
    expect(far.reads).toContain('parse.text_units limit=1000&offset=0');
  });

  it('does not touch the work of others: newer targets, claimed units, and proofread ones without a revision', async () => {
    const service = fakeTranslations([
      storeFake(storeFake(fakeUnit('newer'), { target: 'old' }), { target: 'theirs' }),
      storeFake(storeFake(fakeUnit('kept'), { target: 'old' }), { target: 'theirs' }),
      storeFake(storeFake(fakeUnit('same'), { target: 'old' }), { target: 'mine' }),
      fakeUnit('claimed', { claimedBy: 'ben' }),
      storeFake(fakeUnit('reviewed'), { target: 'good', state: 'proofread' }),
      fakeUnit('free'),
    ]);
    const path = await jsonl(
      row('newer', 'mine', { revision: 1 }),
      row('kept', 'old', { revision: 1 }),
      row('same', 'mine', { revision: 1 }),
      row('claimed'),
      row('reviewed', 'mine', { revision: null }),
      row('free'),
    );
    const before = structuredClone(service.units);
    const refused = await importFile(service, path);
    expect(refused.code).toBe(CTL_EXITS.failed);
    expect(refused.outcomes).toEqual([
      'conflict',
      'untouched',
      'unchanged',
      'claimed',
      'conflict',
      'not_sent',
    ]);
    expect(refused.rows[0]?.detail).toContain('revision 1 in the file, 2 now');
    expect(refused.out).toContain('nothing was stored: correct the file, or add --partial');
    expect(service.units).toEqual(before);
    const partial = await importFile(service, path, '--partial', '--worker', 'ben');
    expect(partial.outcomes).toEqual(['conflict', 'untouched', 'unchanged', 'stored', 'conflict', 'stored']);
    expect(service.updates[0]).toMatchObject({ worker_id: 'ben' });
  });

  it('takes corrections of the same file, and keeps what others, reviewers and newer files brought', async () => {
    const service = fakeTranslations(['u1', 'u2', 'u3', 'u4', 'u5'].map((id) => fakeUnit(id)));
    const ids = service.units.map(({ id }) => id);
    await importFile(service, await jsonl(...ids.map((id) => row(id))));
    const [, other, reviewed, returned, replaced] = service.units;
    storeFake(other!, { target: 'theirs', provider: 'file' });
    const own = { provider: 'file', token: service.token };
    storeFake(reviewed!, { target: 'Tu3', state: 'proofread', ...own });
    storeFake(returned!, { target: 'Tu4', ...own });
    storeFake(replaced!, { target: 'newer', ...own });
    const corrected = await jsonl(...ids.map((id) => row(id, id === 'u5' ? 'Tu5' : `corrected ${id}`)));
    const { rows, outcomes } = await importFile(service, corrected, '--partial');
    expect(outcomes).toEqual(['stored', 'conflict', 'conflict', 'stored', 'conflict']);
    expect(rows[4]?.detail).toContain('you have imported this target before');
    expect(targets(service)).toEqual(['corrected u1', 'theirs', 'Tu3', 'corrected u4', 'newer']);
    service.token = 'another';
    const foreign = await importFile(service, await jsonl(row('u1', 'foreign')));
    expect(foreign.outcomes).toEqual(['conflict']);
  });

  it('refuses with the line: other sources, unreadable units, two targets for one unit, closed tasks, long texts', async () => {
    const long = 'x'.repeat(65_537);
    const service = fakeTranslations([
      fakeUnit('changed'),
      fakeUnit('twice'),
      fakeUnit('long'),
      fakeUnit('cut', { isCut: true }),
      fakeUnit('empty'),
    ]);
    const path = await jsonl(
      row('changed', 'T', { source_text: 'another source' }),
      row('twice', 'a'),
      row('twice', 'b'),
      row('long', long),
      row('cut'),
      row('empty', ''),
      { unit_id: 'no source' },
      row('twice', 'a'),
      row('half', '\ud800', { unit_id: 'empty', source_text: '源empty' }),
    );
    const { code, rows, out } = await importFile(service, path);
    expect(code).toBe(CTL_EXITS.failed);
    expect(rows.map(({ line, outcome }) => [line, outcome])).toEqual([
      [1, 'source_changed'],
      [2, 'not_sent'],
      [3, 'duplicate'],
      [4, 'too_long'],
      [5, 'too_long'],
      [6, 'no_target'],
      [7, 'unreadable'],
      [8, 'unchanged'],
      [9, 'unreadable'],
    ]);
    expect(out).toContain(
      `${path}:1: source_changed: changed: the source in the file is not that of the release`,
    );
    expect(service.trials).toEqual([]);
    service.taskStatus = 'skipped';
    const closed = await importFile(service, await jsonl(row('twice', 'a')));
    expect(closed.rows).toMatchObject([{ outcome: 'task_closed', detail: 'tt_a.json is skipped' }]);
    service.taskStatus = 'failed';
    const failed = await importFile(service, await jsonl(row('twice', 'a')));
    expect(failed.rows).toMatchObject([{ outcome: 'stored' }]);
  });

  it('stores blocked targets as drafts, and refuses them as translated, with the findings', async () => {
    const service = fakeTranslations([fakeUnit('u1'), fakeUnit('u2')]);
    service.blocks = (target) => (target === 'BAD' ? 'placeholder_mismatch' : '');
    const path = await jsonl(row('u1'), row('u2', 'BAD'));
    const translated = await importFile(service, path, '--status', 'translated');
    expect([translated.code, translated.outcomes]).toEqual([CTL_EXITS.failed, ['not_sent', 'blocked']]);
    expect(translated.rows[1]).toMatchObject({
      detail: 'placeholder_mismatch: it is placeholder_mismatch',
      findings: [{ check: 'placeholder_mismatch', severity: 'error' }],
    });
    expect(service.updates).toEqual([]);
    const partial = await importFile(service, path, '--status', 'translated', '--partial');
    expect([partial.code, partial.outcomes]).toEqual([CTL_EXITS.failed, ['stored', 'blocked']]);
    expect(partial.out).toContain('not complete: tt_a.json (a.json): 1 unit without a usable target');
    expect(service.updates.map(({ status }) => status)).toEqual(['in_progress']);
    const draft = await importFile(service, path);
    expect([draft.code, draft.outcomes]).toEqual([CTL_EXITS.ok, ['unchanged', 'stored_blocked']]);
    expect(draft.out).toContain(`${path}:2: stored_blocked: u2:`);
    const again = await importFile(service, path);
    expect([again.code, again.outcomes]).toEqual([CTL_EXITS.ok, ['unchanged', 'unchanged_blocked']]);
    expect(again.out).toContain(`${path}:2: unchanged_blocked: u2:`);
    expect(again.out).toContain('placeholder_mismatch: it is placeholder_mismatch');
    const handedIn = await importFile(service, path, '--status', 'translated');
    expect(handedIn.code).toBe(CTL_EXITS.failed);
    expect(handedIn.out).toContain(`${path}:2: unchanged_blocked: u2:`);
  });

  it('hands complete tasks to the review with --status translated, and says which are not complete', async () => {
    const service = fakeTranslations([fakeUnit('u1'), fakeUnit('u2')]);
    const short = await importFile(service, await jsonl(row('u1')), '--status', 'translated');
    expect(short).toMatchObject({ code: CTL_EXITS.failed, outcomes: ['not_sent'] });
    expect(short.out).toContain('1 unit without a usable target');
    expect(short.out).toContain('nothing was stored: complete the tasks');
    const empty = await jsonl(row('u1'), row('u2', ''));
    const named = await importFile(service, empty, '--status', 'translated');
    expect(named.out).toContain(
      `${empty}:2: no_target: u2: the file has no target: the unit is untranslated`,
    );
    expect((await importFile(service, empty, '--dry-run')).out).not.toContain(':2: no_target');
    const whole = await importFile(service, await jsonl(row('u1'), row('u2')), '--status', 'translated');
    expect(whole.code).toBe(CTL_EXITS.ok);
    expect(
      service.updates.map(({ status, translation_results: results }) => [status, results?.length]),
    ).toEqual([
      ['in_progress', 2],
      ['translated', undefined],
    ]);
    expect(whole.out).toContain('1 task is translated');
  });

  it('stores nothing with --dry-run, and says what would be stored', async () => {
    const service = fakeTranslations([fakeUnit('u1'), fakeUnit('u2'), fakeUnit('u3')]);
    service.blocks = (target) => (target === 'BAD' ? 'tag_mismatch' : '');
    const path = await jsonl(row('u1'), row('u2', 'BAD'), row('u3', 'x', { source_text: 'other' }));
    const { code, outcomes, out } = await importFile(service, path, '--dry-run');
    expect([code, outcomes]).toEqual([CTL_EXITS.failed, ['ready', 'ready_blocked', 'source_changed']]);
    expect(out).toContain('nothing was stored: --dry-run');
    expect([service.updates, targets(service)]).toEqual([[], [null, null, null]]);
  });

  it('says what was stored when a call fails midway, and continues when it is repeated', async () => {
    const destinations = ['a.json', 'b.json', 'c.json'];
    const service = fakeTranslations(
      destinations.map((destination, at) => fakeUnit(`u${at}`, { destination })),
    );
    const path = await jsonl(row('u0'), row('u1'), row('u2'));
    service.onUpdate = ({ task_id: id }, isTrial) => {
      if (!isTrial && id === fakeTaskId('b.json')) refuse('daemon_unreachable', CTL_EXITS.unavailable);
    };
    const broken = await importFile(service, path);
    expect([broken.code, broken.outcomes]).toEqual([
      CTL_EXITS.unavailable,
      ['stored', 'refused', 'not_sent'],
    ]);
    expect(broken.err).toContain('1 of 3 calls were made');
    service.onUpdate = () => undefined;
    const again = await importFile(service, path);
    expect([again.code, again.outcomes]).toEqual([CTL_EXITS.ok, ['unchanged', 'stored', 'stored']]);
    expect(targets(service)).toEqual(['Tu0', 'Tu1', 'Tu2']);
    expect(new Set(service.updates.map(({ provider_run_id: run }) => run)).size).toBe(1);
  });

  it('replaces repetitions that the daemon has spread meanwhile, and not the work of a person', async () => {
    const destinations = ['a.json', 'b.json', 'b.json', 'b.json'];
    const service = fakeTranslations(
      destinations.map((destination, at) => fakeUnit(`u${at}`, { destination })),
    );
    const path = await jsonl(row('u0'), row('u1'), row('u2', 'spread'), row('u3'));
    service.onUpdate = ({ task_id: id }, isTrial) => {
      if (isTrial || id !== fakeTaskId('b.json')) return;
      service.onUpdate = () => undefined;
      const [, own, same, person] = service.units;
      storeFake(own!, { target: 'spread' }).propagatedFrom = 'u0';
      storeFake(same!, { target: 'spread' }).propagatedFrom = 'u0';
      storeFake(person!, { target: 'theirs' });
    };
    const { code, outcomes, err } = await importFile(service, path);
    expect([code, outcomes]).toEqual([CTL_EXITS.failed, ['stored', 'stored', 'unchanged', 'conflict']]);
    expect(err).toContain('someone has changed 1 unit while the import ran');
    expect(targets(service)).toEqual(['Tu0', 'Tu1', 'spread', 'theirs']);
  });

  it.each([
    ['before the targets are judged', true, []],
    ['after it', false, ['--partial']],
  ] as const)(
    'reports a conflict where another import stores targets %s, and no stored target',
    async (_name, isTrialFirst, options) => {
      const service = fakeTranslations([fakeUnit('u1'), fakeUnit('u2')]);
      const path = await jsonl(row('u1'), row('u2'));
      service.onUpdate = (_update, isTrial) => {
        if (isTrial !== isTrialFirst) return;
        service.onUpdate = () => undefined;
        for (const unit of service.units) storeFake(unit, { target: 'theirs' });
      };
      const { code, out, rows } = await importFile(service, path, ...options);
      expect(code).toBe(CTL_EXITS.failed);
      expect(rows.map(({ outcome, detail }) => `${outcome}: ${detail}`)).toEqual(
        Array.from({ length: 2 }, () => 'conflict: while the import ran; export it again'),
      );
      expect(out).not.toContain('stored targets');
      expect(out).not.toContain('the targets are drafts');
      expect(targets(service)).toEqual(['theirs', 'theirs']);
    },
  );

  it('replaces a repetition that is newer than the file, unless the file has not changed it', async () => {
    const spread = { propagatedFrom: 'u0' };
    const service = fakeTranslations([
      storeFake(fakeUnit('empty', spread), { target: 'spread' }),
      storeFake(storeFake(fakeUnit('changed', spread), { target: 'old' }), { target: 'spread' }),
      storeFake(storeFake(fakeUnit('kept', spread), { target: 'old' }), { target: 'spread' }),
      storeFake(fakeUnit('reviewed', spread), { target: 'spread', state: 'proofread' }),
    ]);
    const path = await jsonl(
      row('empty', 'mine'),
      row('changed', 'mine', { revision: 1 }),
      row('kept', 'old', { revision: 1 }),
      row('reviewed', 'mine'),
    );
    const { outcomes } = await importFile(service, path, '--partial');
    expect(outcomes).toEqual(['stored', 'stored', 'untouched', 'conflict']);
  });

  it('stores nothing when the daemon refuses a try, and the other tasks with --partial', async () => {
    const service = fakeTranslations([fakeUnit('u1'), fakeUnit('u2', { destination: 'b.json' })]);
    service.onUpdate = ({ task_id: id }) => {
      if (id === fakeTaskId('a.json')) refuse('lease_held');
    };
    const path = await jsonl(row('u1'), row('u2'));
    const whole = await importFile(service, path);
    expect([whole.code, whole.outcomes]).toEqual([CTL_EXITS.failed, ['refused', 'not_sent']]);
    expect(whole.rows[0]?.detail).toContain('lease_held');
    const partial = await importFile(service, path, '--partial');
    expect([partial.code, partial.outcomes]).toEqual([CTL_EXITS.failed, ['refused', 'stored']]);
  });

  it('keeps each call within the bounds of the service', async () => {
    const ids = Array.from({ length: 2000 }, (_, at) => `u${at}`);
    const text = '長'.repeat(300);
    const service = fakeTranslations(ids.map((id) => fakeUnit(id)));
    const { code } = await importFile(service, await jsonl(...ids.map((id) => row(id, text))));
    expect(code).toBe(CTL_EXITS.ok);
    const sizes = service.updates.map(({ translation_results: results }) => results?.length ?? 0);
    expect([Math.max(...sizes) <= 900, sizes.reduce((sum, size) => sum + size, 0)]).toEqual([true, 2000]);
    expect(targets(service).every((target) => target === text)).toBe(true);
  });

  it('begins again when another release is shown, and matches that one', async () => {
    const service = fakeTranslations([fakeUnit('u1'), fakeUnit('u2')]);
    service.pageUnits = 1;
    service.onRead = (report) => {
      if (report !== 'parse.text_units' || service.reads.length !== 2) return;
      service.generation += 1;
      service.releaseId = 'r2';
    };
    const { outcomes, out } = await importFile(service, await jsonl(row('u1'), row('u2')), '-o', 'json');
    expect(outcomes).toEqual(['stored', 'stored']);
    expect(JSON.parse(out)).toMatchObject({ release_id: 'r2', outcomes: { stored: 2 }, calls: { made: 1 } });
  });

  it('gives up when the release never stays', async () => {
    const service = fakeTranslations([fakeUnit('u1'), fakeUnit('u2')]);
    service.pageUnits = 1;
    service.onRead = () => (service.generation += 1);
    const run = await service.run('translations', 'import', await jsonl(row('u1')));
    expect(run).toMatchObject({
      code: CTL_EXITS.failed,
      err: expect.stringContaining('changed 10 times') as string,
    });
  });

  it('says what it leaves out of a workbook, and takes its other sheets', async () => {
    const service = fakeTranslations([fakeUnit('u1', { source: '先生' })]);
    const path = join(await temporaryDirectory(), 'work.xlsm');
    const cells = (at: number, ...texts: readonly string[]): string =>
      `<row r="${at}">${texts.map((text) => `<c t="str"><v>${text}</v></c>`).join('')}</row>`;
    const parts = workbookParts({
      sheets: [cells(1, 'notes'), cells(1, 'id', 'source', 'target') + cells(2, 'u1', '先生', '老师')],
      related: relationship('m', 'vbaProject', 'vbaProject.bin'),
    });
    await writeFile(path, await packedWorkbook(parts));
    const run = await service.run('translations', 'import', path);
    expect(run).toMatchObject({ code: CTL_EXITS.ok });
    expect(run.out).toContain('note: the macros of the workbook were left out\n');
    expect(run.out).toContain(
      'note: left out, because their first row does not name the columns: the sheets "Sheet 1"',
    );
    expect(run.out).toContain('1 stored');
  });

  it('names the sheets of a workbook, whose rows have the same lines', async () => {
    const service = fakeTranslations(['u1', 'u2', 'u3'].map((id) => fakeUnit(id, { source: '日' })));
    const path = join(await temporaryDirectory(), 'work.xlsx');
    const sheet = (...rows: readonly string[]): string =>
      ['<c t="str"><v>id</v></c><c t="str"><v>source</v></c><c t="str"><v>target</v></c>', ...rows]
        .map((cells) => `<row>${cells}</row>`)
        .join('');
    const cells = (id: string, target: string): string =>
      `<c t="str"><v>${id}</v></c><c t="str"><v>日</v></c>${target}`;
    const sheets = [
      sheet(cells('u1', '<c t="b"><v>1</v></c>'), cells('u2', '<c t="str"><v>b</v></c>')),
      sheet(cells('u3', '<c t="str"><v>c</v></c>'), cells('u2', '<c t="str"><v>d</v></c>')),
    ];
    await writeFile(path, await packedWorkbook(workbookParts({ sheets })));
    const { rows, out } = await importFile(service, path, '--partial');
    expect(rows).toMatchObject([
      { sheet: 'Sheet 1', line: 2, outcome: 'stored', remark: expect.stringContaining('"TRUE"') as string },
      { sheet: 'Sheet 1', line: 3, outcome: 'stored' },
      { sheet: 'Sheet 2', line: 2, outcome: 'stored' },
      { sheet: 'Sheet 2', line: 3, outcome: 'duplicate', detail: 'on line 3 of the sheet "Sheet 1"' },
    ]);
    expect(rows.filter((each) => 'remark' in each)).toHaveLength(1);
    expect(out).toContain('work.xlsx:Sheet 2:3: duplicate: u2: ');
  });

  it('tells both remarks of a cell whose end is missing and whose line ends differ', async () => {
    const service = fakeTranslations([fakeUnit('u1', { source: 'い\r\nろ' })]);
    const path = join(await temporaryDirectory(), 'work.csv');
    await writeFile(path, `id,source,target\nu1,"い\nろ","a\n${'x'.repeat(32_765)}"\n`);
    const { rows } = await importFile(service, path);
    expect(rows).toMatchObject([
      {
        outcome: 'stored',
        remark: expect.stringMatching(/its end may be missing; the file has other/) as string,
      },
    ]);
  });

  it('refuses a file that is damaged, missing or of no known format, and bad options', async () => {
    const service = fakeTranslations([]);
    const folder = await temporaryDirectory();
    const broken = join(folder, 'broken.xlf');
    const whole = await fileOf('xliff-1.2', [sampleUnit()]);
    await writeFile(broken, whole.subarray(0, whole.length - 20));
    const good = await jsonl(row('u1'));
    for (const [argv, code, message] of [
      [[broken], CTL_EXITS.failed, 'syntax_invalid'],
      [[join(folder, 'none.csv')], CTL_EXITS.usage, 'cannot read'],
      [[join(folder, 'x.docx')], CTL_EXITS.usage, 'the format is unknown'],
      [[good, '--format', 'word'], CTL_EXITS.usage, '--format word: must be one of xliff-1.2'],
      [[good, '--status', 'proofread'], CTL_EXITS.usage, 'must be in_progress or translated'],
    ] as const) {
      const run = await service.run('translations', 'import', ...argv);
      expect(run).toMatchObject({ code, err: expect.stringContaining(message) as string });
    }
    expect(service.reads).toEqual([]);
  });

  it('shows the first problems, and has all of them in the report', async () => {
    const service = fakeTranslations([]);
    const path = await jsonl(...Array.from({ length: 40 }, (_, at) => row(`u${at}`)));
    const { out, rows } = await importFile(service, path);
    expect([out.match(/unknown_unit: u/g)?.length, rows.length]).toEqual([30, 40]);
    expect(out).toContain('... and 10 more; ');
  });
});

/** A service on whose units two runs and a person worked, at the times 10, 20 and 30. */
function worked(): FakeTranslations {
  const first = { run: 'run-1', token: 'bot', at: 10 };
  const second = { run: 'run-2', token: 'bot', at: 20 };
  const person = { token: 'ann', at: 30 };
  return fakeTranslations([
    storeFake(storeFake(fakeUnit('both'), { target: 'one', ...first }), { target: 'two', ...second }),
    storeFake(fakeUnit('only'), { target: 'two', ...second }),
    storeFake(storeFake(fakeUnit('corrected'), { target: 'two', ...second }), { target: 'hers', ...person }),
    storeFake(fakeUnit('first', { destination: 'b.json' }), { target: 'one', ...first }),
    fakeUnit('empty'),
  ]);
}

const BEFORE = { both: 'two', only: 'two', corrected: 'hers', first: 'one', empty: null };

describe('slipway ctl translations undo', () => {
  const targets = ({ units }: FakeTranslations) =>
    Object.fromEntries(units.map(({ id, target }) => [id, target]));

  it('takes a run back: the target before it comes back, or none, and newer work stays', async () => {
    const service = worked();
    const report = join(await temporaryDirectory(), 'report.jsonl');
    const { code, out } = await service.run(
      'translations',
      'undo',
      '--yes',
      '--run',
      'run-2',
      '--report',
      report,
    );
    expect([code, targets(service)]).toEqual([CTL_EXITS.ok, { ...BEFORE, both: 'one', only: null }]);
    expect(out).toContain('1 restored, 1 taken_back');
    expect(service.updates).toMatchObject([
      {
        status: 'in_progress',
        args: ['expect=both:2', 'expect=only:1'],
        reason: 'undone with slipway ctl translations undo',
      },
    ]);
    const rows = (await readFile(report, 'utf8')).trim().split('\n');
    expect(rows.map((row) => JSON.parse(row) as object)).toMatchObject([
      { unit_id: 'both', outcome: 'restored', target_text: 'one' },
      { unit_id: 'only', outcome: 'taken_back', target_text: '' },
    ]);
    const again = await service.run('translations', 'undo', '--yes', '--run', 'run-2');
    expect(again).toMatchObject({ code: CTL_EXITS.ok, out: 'nothing fits\n' });
  });

  it('asks first: without a terminal it changes nothing unless --yes answers', async () => {
    const service = worked();
    const before = targets(service);
    const refused = await service.run('translations', 'undo', '--run', 'run-2');
    expect(refused.code).toBe(CTL_EXITS.usage);
    expect(refused.err).toContain('undo takes back 2 translations; nothing was changed. Add --yes');
    expect([service.updates, targets(service)]).toEqual([[], before]);
  });

  it.each([
    [['--author', 'ann'], { corrected: 'two' }],
    [['--author', 'bot'], { both: null, only: null, first: null }],
    [['--since', '20'], { both: 'one', only: null, corrected: null }],
    [['--since', '1970-01-01T00:00:21Z'], { corrected: 'two' }],
    [['--author', 'bot', '--since', '15'], { both: 'one', only: null }],
    [['--run', 'run-1', '--destination', 'b*'], { first: null }],
    [['--author', 'bot', '--task', fakeTaskId('b.json')], { first: null }],
  ])('chooses by %j', async (argv, changed) => {
    const service = worked();
    expect((await service.run('translations', 'undo', '--yes', ...argv)).code).toBe(CTL_EXITS.ok);
    expect(targets(service)).toEqual({ ...BEFORE, ...changed });
  });

  it('does not bring back what someone has taken back', async () => {
    const service = worked();
    await service.run('translations', 'undo', '--yes', '--run', 'run-2');
    service.now = 40;
    await service.run('translations', 'undo', '--yes', '--author', 'translator');
    expect(targets(service)).toEqual({ ...BEFORE, both: 'one', only: null });
    const before = await service.run('translations', 'undo', '--yes', '--run', 'run-1');
    expect(before.out).toContain('2 taken_back');
    expect(targets(service)).toEqual({ ...BEFORE, both: null, only: null, first: null });
  });

  it('leaves a target of the Translation Memory: its token did not send it', async () => {
    const service = fakeTranslations([
      storeFake(fakeUnit('reused'), { target: 'hers', kind: 'memory', token: 'ann', at: 30 }),
    ]);
    const { out } = await service.run('translations', 'undo', '--yes', '--author', 'ann');
    expect(out).toBe('nothing fits\n');
  });

  it('takes a target for another source as none', async () => {
    const service = worked();
    const unit = service.units[0]!;
    unit.history[0]!.source = 'an older source';
    await service.run('translations', 'undo', '--yes', '--run', 'run-2');
    expect(unit.target).toBeNull();
  });

  it('changes nothing with --dry-run, and nothing without a choice', async () => {
    const service = worked();
    const shown = await service.run('translations', 'undo', '--run', 'run-2', '--dry-run');
    expect(shown.out).toContain('restored: both: one');
    expect(shown.out).toContain('nothing was changed: --dry-run');
    for (const argv of [[], ['--destination', 'a*'], ['--since', 'yesterday']]) {
      expect((await service.run('translations', 'undo', '--yes', ...argv)).code).toBe(CTL_EXITS.usage);
    }
    expect([service.updates, targets(service)]).toEqual([[], BEFORE]);
  });

  it('leaves a unit that is changed meanwhile, says what was done, and continues when repeated', async () => {
    const service = worked();
    service.onUpdate = ({ task_id: id }) => {
      if (id === fakeTaskId('b.json')) refuse('revision_changed');
    };
    const broken = await service.run('translations', 'undo', '--yes', '--author', 'bot');
    expect(broken.code).toBe(CTL_EXITS.failed);
    expect(broken.out).toContain('2 taken_back, 1 refused');
    service.onUpdate = () => undefined;
    const again = await service.run('translations', 'undo', '--yes', '--author', 'bot', '-o', 'json');
    expect(JSON.parse(again.out)).toEqual({ dry_run: false, outcomes: { taken_back: 1 }, failure: null });
    expect(targets(service)).toEqual({ ...BEFORE, both: null, only: null, first: null });
  });
});
