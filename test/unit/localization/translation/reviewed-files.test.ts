import { createHash } from 'node:crypto';
import { readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../../demo/game/seeded-random.ts';
import { TaskError } from '../../../../src/engine/tasks/task.ts';
import { judgeReview } from '../../../../src/localization/translation/review/review-pages.ts';
import { createUnitReader, readUnits } from '../../../../src/exchange/units/unit-formats.ts';
import type { ReadUnit, UnitRecord } from '../../../../src/exchange/units/unit-record.ts';
import { fileOf, sampleUnit, UNIT_FORMAT_NAMES } from '../../../support/exchange-units.ts';
import { sha256, unitIdOf } from '../../../support/index-release.ts';
import { campaignSize } from '../../../support/long.ts';
import { mutations } from '../../../support/mutate.ts';
import {
  openReviewWorld,
  REVIEW_SOURCES,
  reviewUnit,
  type ReviewWorld,
} from '../../../support/review-world.ts';
import { blockingFinding, judgeOf, openTranslatedTexts } from '../../../support/translated-texts.ts';

const unit = (destination: string, at: number, other: Partial<UnitRecord> = {}): UnitRecord =>
  sampleUnit({
    unit_id: reviewUnit(destination, at),
    locator: { destination, archive_entry: null, path_id: null, field_path: `/k${at}` },
    source_text: REVIEW_SOURCES[destination]?.[at] ?? '',
    target_text: `T${at}`,
    context: {},
    revision: null,
    ...other,
  });

const importOf = async (world: ReviewWorld, name: string, more: object = {}) =>
  await world.run('proofread-import', {
    translation_file: name,
    reviewer: 'Rin',
    reason: null,
    token_id: 'reviewer',
    ...more,
  });

const failureOf = async (promise: Promise<unknown>): Promise<TaskError> =>
  await promise.then(
    () => {
      throw new Error('was not refused');
    },
    (error: unknown) => error as TaskError,
  );

const ALL = [0, 1, 2].map((at) => unit('a.json', at));
const OTHERS = [0, 1].map((at) => unit('b.json', at));

/** The units of an exported file. */
async function exported(
  world: ReviewWorld,
  args: object,
): Promise<{ result: object; units: ReadUnit[]; states: string[] }> {
  const result = await world.run('handoff-export', { format: 'jsonl', ...args });
  const bytes = await world.read(String(result['file']));
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(result['sha256']);
  const units: ReadUnit[] = [];
  const pieces = (async function* pieces() {
    yield await Promise.resolve(bytes);
  })();
  for await (const each of readUnits(createUnitReader('jsonl'), pieces))
    if (each.kind === 'unit') units.push(each.unit);
  const states = [...bytes.toString().matchAll(/"state":"(\w+)"/g)].map(([, state = '']) => state);
  return { result, units, states };
}

describe('files of reviewers', () => {
  describe('a reviewed file', () => {
    it.each(UNIT_FORMAT_NAMES)('as %s is accepted as a whole', async (format) => {
      const world = await openReviewWorld();
      await world.write('in', await fileOf(format, [...ALL, ...OTHERS]));
      expect(await importOf(world, 'in', { reason: 'from the agency' })).toMatchObject({
        file: 'in',
        counts: { accepted: 5, repeated: 0 },
        issues: [],
        containers: [
          { destination: 'a.json', written: 3, refused: 0 },
          { destination: 'b.json', written: 2, refused: 0 },
        ],
        memory: { confirmed: 5 },
      });
      expect(world.task('a.json')).toMatchObject({ status: 'proofread', unit_counts: { proofread: 3 } });
      expect(
        world.rows('SELECT DISTINCT author_kind, token_id, reviewer, reason FROM target_history'),
      ).toEqual([
        { author_kind: 'import', token_id: 'reviewer', reviewer: 'Rin', reason: 'from the agency' },
      ]);
    });

    it.each([
      ['#,source,target\n1,おはよう,T0\n', 1],
      ['\ufeff\n#\n# Rin\n#\nmsgid "おはよう"\nmsgstr "T0"\n', 1],
      ['#, fuzzy\nmsgid "おはよう"\nmsgstr "T0"\n', 1],
      ['source,target\nおはよう,"T0\n# 1"\n', 1],
    ])('without an ending is told by its first line: %j', async (content, accepted) => {
      const world = await openReviewWorld();
      await world.write('in', Buffer.from(content));
      expect(await importOf(world, 'in')).toMatchObject({ counts: { accepted } });
    });

    it('that is a workbook has issues which name the sheets of their rows', async () => {
      const world = await openReviewWorld();
      const units = [unit('a.json', 0, { target_text: '1/2/2025' }), unit('b.json', 0, { source_text: 'x' })];
      await world.write('in.xlsx', await fileOf('xlsx', units));
      const { details } = await failureOf(importOf(world, 'in.xlsx'));
      expect(details).toMatchObject({
        issues: [
          { line: 2, message: expect.stringContaining('the sheet "b.json": ') as string },
          { line: 2, message: expect.stringContaining('the sheet "a.json": the target') as string },
        ],
      });
    });

    it('is accepted once, also with the revisions of before', async () => {
      const world = await openReviewWorld();
      const units = ALL.map((each) => ({ ...each, revision: 0 }));
      await world.write('in.csv', await fileOf('csv', units));
      await importOf(world, 'in.csv');
      const before = world.rows('SELECT * FROM target_history');
      expect(await importOf(world, 'in.csv')).toMatchObject({ counts: { accepted: 0, repeated: 3 } });
      expect(world.rows('SELECT * FROM target_history')).toEqual(before);
    });

    it('leaves units without a target as they are', async () => {
      const world = await openReviewWorld();
      const units = [unit('a.json', 0), unit('a.json', 1, { target_text: null, state: 'untranslated' })];
      await world.write('in.xlf', await fileOf('xliff-1.2', units));
      expect(await importOf(world, 'in.xlf')).toMatchObject({ counts: { accepted: 1, without_target: 1 } });
      expect(world.task().unit_counts).toEqual({ proofread: 1, untranslated: 2 });
    });

    it('finds units by their id, then their place, then a source that occurs once', async () => {
      const world = await openReviewWorld();
      const elsewhere = { destination: 'x', archive_entry: null, path_id: null, field_path: '/x' };
      const lost = { unit_id: 'tu1_mzxw6ytboi2dgnbvgy3tqojqga' };
      await world.write(
        'in.jsonl',
        await fileOf('jsonl', [
          unit('a.json', 0, { locator: elsewhere }),
          unit('a.json', 1, lost),
          unit('b.json', 0, { ...lost, locator: elsewhere }),
        ]),
      );
      expect(await importOf(world, 'in.jsonl')).toMatchObject({ counts: { accepted: 3 } });
      const sources = world.rows('SELECT source_text FROM target').map(({ source_text }) => source_text);
      expect(new Set(sources)).toEqual(new Set(['おはよう', 'さようなら', 'いいえ']));
    });

    it('keeps the line ends of the release and of stored targets, which a spreadsheet has changed, and says so', async () => {
      const world = await openReviewWorld();
      const sources = ['い\r\nろ', 'は\nに', 'ほ\rへ', '真'];
      await world.build('r2', { 'a.json': sources });
      const id = (at: number): string => reviewUnit('a.json', at);
      const table = (rows: readonly string[]): string => `id,source,target\r\n${rows.join('\r\n')}\r\n`;
      const stored = table([`${id(0)},"い\r\nろ","a\r\nb"`, `${id(1)},"は\nに","a\r\nb"`]);
      await world.write('stored.csv', stored);
      await importOf(world, 'stored.csv');
      const rows = [
        `${id(0)},"い\nろ","c\nd"`,
        `${id(1)},"は\nに","a\nb"`,
        `${id(2)},"ほ\nへ","e\nf"`,
        `${id(3)},真,TRUE`,
      ];
      await world.write('in.csv', table(rows));
      const result = await importOf(world, 'in.csv');
      expect(result).toMatchObject({
        counts: { accepted: 3, repeated: 1, line_ends_changed: 3, spreadsheet_value: 1 },
      });
      expect(result['issues']).toMatchObject([
        {
          line: 2,
          outcome: 'line_ends_changed',
          message: expect.stringContaining(`${id(0)} has other line ends`),
        },
        { line: 5, outcome: 'line_ends_changed' },
        { line: 8, outcome: 'line_ends_changed' },
        {
          line: 11,
          outcome: 'spreadsheet_value',
          message: expect.stringContaining('"TRUE" is a truth value'),
        },
      ]);
      expect(world.rows('SELECT source_text, target_text FROM target ORDER BY source_text')).toEqual([
        { source_text: 'い\r\nろ', target_text: 'c\r\nd' },
        { source_text: 'は\nに', target_text: 'a\r\nb' },
        { source_text: 'ほ\rへ', target_text: 'e\rf' },
        { source_text: '真', target_text: 'TRUE' },
      ]);
    });

    it('knows a source with several kinds of line ends by the stored target, and refuses another text', async () => {
      const world = await openReviewWorld();
      const source = 'い\r\nろ\nは';
      await world.build('r2', { 'a.json': [source, source] });
      const row = (at: number, text: string, target: string): string =>
        `${reviewUnit('a.json', at)},"${text}","${target}"`;
      await world.write('stored.csv', `id,source,target\n${row(0, source, 'a\r\nb\nc')}\n`);
      await importOf(world, 'stored.csv');
      await world.write('in.csv', `id,source,target\n${row(0, 'い\nろ\nは', 'a\nb\nd')}\n`);
      expect(await importOf(world, 'in.csv')).toMatchObject({
        counts: { accepted: 1, line_ends_changed: 1 },
      });
      expect(world.rows('SELECT source_text, target_text FROM target')).toEqual([
        { source_text: source, target_text: 'a\nb\nd' },
      ]);
      for (const other of [row(1, 'い\nろ\nは', 'x'), row(0, 'い\n\nろ\nは', 'x')]) {
        await world.write('in.csv', `id,source,target\n${other}\n`);
        expect((await failureOf(importOf(world, 'in.csv'))).details).toMatchObject({
          counts: { source_mismatch: 1 },
        });
      }
    });

    it('names the refusal first where a spreadsheet has changed other rows', async () => {
      const world = await openReviewWorld();
      await world.build('r2', { 'a.json': ['い\r\nろ', '真'] });
      const rows = [`${reviewUnit('a.json', 0)},"い\nろ",x`, `${reviewUnit('a.json', 1)},真,BAD`];
      await world.write('in.csv', `id,source,target\n${rows.join('\n')}\n`);
      const failure = await failureOf(importOf(world, 'in.csv'));
      expect(failure.message).toMatch(/the first one: line 4: .*found placeholders/);
      expect(failure.details).toMatchObject({ counts: { qa_blocked: 1, line_ends_changed: 1, left_out: 1 } });
    });

    it('does not guess where a source occurs twice', async () => {
      const world = await openReviewWorld();
      await world.build('r2', { 'a.json': ['同じ', '同じ'] });
      const lost = unit('a.json', 0, {
        unit_id: 'tu1_mzxw6ytboi2dgnbvgy3tqojqga',
        locator: { destination: 'x', archive_entry: null, path_id: null, field_path: '/x' },
        source_text: '同じ',
      });
      await world.write('in.csv', await fileOf('csv', [lost]));
      expect((await failureOf(importOf(world, 'in.csv'))).details).toMatchObject({
        counts: { ambiguous_source: 1 },
      });
    });

    it('takes many units in pages', async () => {
      const world = await openReviewWorld();
      const sources = Array.from({ length: 700 }, (_, at) => `文${at}`);
      await world.build('r2', { 'a.json': sources });
      const units = sources.map((source_text, at) => unit('a.json', at, { source_text }));
      await world.write('in.csv', await fileOf('csv', units));
      expect(await importOf(world, 'in.csv')).toMatchObject({
        counts: { accepted: 700 },
        memory: { confirmed: 700 },
      });
    });
  });

  describe('a file with a unit that cannot be accepted', () => {
    const wrong: readonly (readonly [string, UnitRecord, string])[] = [
      ['another source', unit('b.json', 0, { source_text: 'いいえ!' }), 'source_mismatch'],
      ['a finding that blocks', unit('b.json', 0, { target_text: 'BAD' }), 'qa_blocked'],
      ['an older revision', unit('b.json', 0, { revision: 4 }), 'revision_changed'],
      ['the same unit twice', unit('b.json', 1, { target_text: 'again' }), 'duplicate_unit'],
      [
        'an unknown unit',
        unit('b.json', 0, {
          unit_id: 'tu1_mzxw6ytboi2dgnbvgy3tqojqga',
          source_text: '?',
          locator: { destination: 'b.json', archive_entry: null, path_id: null, field_path: '/gone' },
        }),
        'unknown_unit',
      ],
    ];

    it.each(wrong)('%s changes nothing, and names it with its line', async (_name, bad, code) => {
      const world = await openReviewWorld();
      await world.write('in.csv', await fileOf('csv', [...ALL, unit('b.json', 1), bad]));
      const before = world.everything();
      const failure = await failureOf(importOf(world, 'in.csv'));
      expect(failure).toMatchObject({
        code: 'import_refused',
        details: {
          counts: { accepted: 0, [code]: 1 },
          issues: [{ line: 6, outcome: code }],
        },
      });
      expect(failure.message).toMatch(
        /in\.csv: units cannot be accepted, the first one: line 6: .*nothing was changed/,
      );
      expect(world.everything()).toEqual(before);
    });

    it.each(wrong)('%s leaves out its container with `partial`', async (_name, bad, code) => {
      const world = await openReviewWorld();
      await world.write('in.csv', await fileOf('csv', [...ALL, unit('b.json', 1), bad]));
      expect(await importOf(world, 'in.csv', { partial: true })).toMatchObject({
        counts: { accepted: 3, left_out: 1, [code]: 1 },
        memory: { confirmed: 3 },
      });
      expect(world.task('a.json').status).toBe('proofread');
      expect(world.task('b.json').unit_counts).toEqual({ untranslated: 2 });
    });

    it('names the targets of the same token', async () => {
      const world = await openReviewWorld({ fourEyes: true });
      world.store('a.json', [{ text: 'T0' }, { text: 'T1', tokenId: 'reviewer' }, { text: 'T2' }]);
      await world.write('in.csv', await fileOf('csv', ALL));
      const { details } = await failureOf(importOf(world, 'in.csv'));
      expect(details).toMatchObject({ counts: { four_eyes_required: 1 }, issues: [{ line: 3 }] });
    });

    it('continues a failed task', async () => {
      const world = await openReviewWorld();
      world.closeTask(world.task().task_id, 'failed');
      await world.write('in.csv', await fileOf('csv', [unit('a.json', 0)]));
      expect(await importOf(world, 'in.csv')).toMatchObject({ counts: { accepted: 1 } });
      expect(world.task()).toMatchObject({ status: 'in_progress' });
    });

    it('says that a task takes no results', async () => {
      const world = await openReviewWorld();
      const { task_id: taskId } = world.task();
      world.closeTask(taskId, 'skipped');
      await world.write('in.csv', await fileOf('csv', ALL));
      expect((await failureOf(importOf(world, 'in.csv'))).details).toMatchObject({
        counts: { task_closed: 3 },
      });
    });
  });

  describe('a file that cannot be read', () => {
    const files: readonly (readonly [string, string, string | Buffer, RegExp])[] = [
      [
        'a document type with entities',
        'in.xlf',
        '<!DOCTYPE x [<!ENTITY a "b">]>\n<xliff/>',
        /line \d+: .*document type/,
      ],
      ['another encoding', 'in.csv', Buffer.from([0x93, 0xfa, 0x96, 0x7b, 0x0a]), /line 1: .*UTF-8/],
      [
        'an end too early',
        'in.xlf',
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2"><file>',
        /line 1: /,
      ],
      ['another kind of document', 'in', '<html></html>', /line 1: /],
      ['half a JSON value', 'in.jsonl', '{"unit_id":', /line 1: /],
    ];

    it.each(files)(
      'because of %s is refused with line and reason, and changes nothing',
      async (_name, file, content, message) => {
        const world = await openReviewWorld();
        world.store('a.json', [{ text: 'T0' }]);
        await world.write(file, content);
        const before = world.everything();
        const failure = await failureOf(importOf(world, file));
        expect(failure).toMatchObject({ code: 'file_refused', details: { file } });
        expect(failure.message).toMatch(message);
        expect(failure.message).toContain('nothing was changed');
        expect(world.everything()).toEqual(before);
      },
    );

    it('because it is not there, or leads out of the folder, is refused before a task is queued', async () => {
      const world = await openReviewWorld();
      await symlink('/etc/passwd', join(world.exchange, 'link.csv'));
      const body = { reviewer: 'Rin' };
      await expect(world.act({ ...body, translation_file: 'none.csv' })).rejects.toMatchObject({
        code: 'file_not_found',
      });
      await expect(world.act({ ...body, translation_file: 'link.csv' })).rejects.toMatchObject({
        code: 'invalid_path',
      });
      await expect(world.act({ ...body, translation_file: '../x.csv' })).rejects.toMatchObject({
        code: 'invalid_request',
      });
      await world.write('in.csv', 'x');
      for (const more of [{ args: ['dry_run=true'] }, { reviewer: ' ' }, { status: 'proofread' }]) {
        await expect(world.act({ ...body, translation_file: 'in.csv', ...more })).rejects.toMatchObject({
          code: 'invalid_request',
        });
      }
      const task = await world.act({ ...body, translation_file: 'in.csv', args: ['partial=true'] });
      expect(task).toMatchObject({
        kind: 'proofread-import',
        args: { translation_file: 'in.csv', reviewer: 'Rin', token_id: 'reviewer', partial: true },
      });
    });
  });

  describe('the export for translators', () => {
    it('writes the open and translated units with their places, texts, states and revisions', async () => {
      const world = await openReviewWorld();
      world.store('a.json', [{ text: 'T0' }, { text: 'T1', state: 'draft' }]);
      await world.review({
        status: 'proofread',
        translation_results: [
          { unit_id: reviewUnit('a.json', 0), source_text: 'おはよう', translated_text: 'T0' },
        ],
      });
      const { result, units, states } = await exported(world, {});
      expect(result).toMatchObject({
        file: 'handoff/r1.zh-Hans.jsonl',
        units: 4,
        release_id: 'r1',
        refused: 0,
      });
      expect(units[0]).toEqual({
        unit_id: reviewUnit('a.json', 1),
        locator: { destination: 'a.json', archive_entry: null, path_id: null, field_path: '/k1' },
        source_text: 'さようなら',
        target_text: 'T1',
        note: null,
        context: {},
        previous_source: null,
        previous_target: null,
        revision: 1,
      });
      expect(states).toEqual(['draft', 'untranslated', 'untranslated', 'untranslated']);
      expect(world.rows('SELECT file, sha256, units, release_id FROM handoff_export')).toMatchObject([
        { file: 'handoff/r1.zh-Hans.jsonl', units: 4, release_id: 'r1' },
      ]);
      expect(await readdir(join(world.exchange, 'handoff'))).toEqual(['r1.zh-Hans.jsonl']);
    });

    it('selects by state and destination, and names its file by release, language and format', async () => {
      const world = await openReviewWorld();
      world.store('a.json', [{ text: 'T0' }]);
      const { units } = await exported(world, { states: 'untranslated', include: 'a.*' });
      expect(units.map(({ source_text }) => source_text)).toEqual(['さようなら', 'はい']);
      const done = await world.run('handoff-export', { format: 'xliff-1.2', states: 'translated' });
      expect(done).toMatchObject({ file: 'handoff/r1.zh-Hans.xliff-1.2.xlf', units: 1 });
      await expect(world.run('handoff-export', { states: 'no' })).rejects.toThrow('must be one or more of');
    });

    it('copies the sources of missing targets into XLIFF 1.2, and into XLIFF 2.1 where asked', async () => {
      const world = await openReviewWorld();
      const copiesOf = async (args: object): Promise<number> => {
        const { file } = await world.run('handoff-export', { include: 'a.json', ...args });
        return (await world.read(String(file))).toString().split('さようなら').length - 2;
      };
      expect(await copiesOf({ format: 'xliff-1.2' })).toBe(1);
      expect(await copiesOf({ format: 'xliff-1.2', copy_source: false })).toBe(0);
      expect(await copiesOf({ format: 'xliff-2.1' })).toBe(0);
      expect(await copiesOf({ format: 'xliff-2.1', copy_source: true })).toBe(1);
      await expect(copiesOf({ format: 'csv', copy_source: true })).rejects.toThrow(
        'is only for xliff-1.2 and xliff-2.1',
      );
      const done = await importOf(world, 'handoff/r1.zh-Hans.xliff-1.2.xlf');
      expect(done).toMatchObject({ counts: { accepted: 0, without_target: 3 } });
    });

    it('gives stale units the texts of before, and leaves out skipped tasks', async () => {
      const world = await openReviewWorld();
      world.store('a.json', [{ text: 'T0' }]);
      await world.build('r2', {
        'a.json': ['おはようございます', 'さようなら', 'はい'],
        'b.json': ['いいえ'],
      });
      world.closeTask(world.task('b.json').task_id, 'skipped');
      const { units, states } = await exported(world, {});
      expect([units.length, states[0]]).toEqual([3, 'stale']);
      expect(units[0]).toMatchObject({
        target_text: null,
        previous_source: 'おはよう',
        previous_target: 'T0',
      });
    });

    it('begins again when the release changes, and says when the tasks are not built', async () => {
      const world = await openReviewWorld();
      world.indexOnly('r2', { 'c.json': ['やあ'] });
      await expect(world.run('handoff-export', {})).rejects.toMatchObject({
        code: 'tasks_not_built',
        retryable: true,
      });
      expect(await readdir(join(world.exchange, 'handoff'))).toEqual([]);
      await world.build('r2', { 'c.json': ['やあ'] });
      expect(await world.run('handoff-export', {})).toMatchObject({ release_id: 'r2', units: 1 });
    });

    it('comes back as a reviewed file', async () => {
      const world = await openReviewWorld();
      world.store('a.json', [{ text: 'T0' }, { text: 'T1' }, { text: 'T2' }]);
      for (const format of UNIT_FORMAT_NAMES) {
        const { file } = await world.run('handoff-export', { format, states: 'translated,proofread' });
        const done = await importOf(world, String(file));
        expect(done).toMatchObject({ issues: [] });
      }
      expect(world.task().status).toBe('proofread');
    });
  });

  describe('the check of translated tasks', () => {
    it('stores findings, blocks targets with a new error, and accepts nothing', async () => {
      const world = await openReviewWorld();
      world.store('a.json', [{ text: 'T0' }, { text: 'T1 BAD' }, { text: 'T2' }]);
      world.store('b.json', [{ text: 'T3' }]);
      const queued = await world.act({ max_tasks: 5 });
      expect(queued).toMatchObject({ kind: 'proofread', args: { max_tasks: 5 } });
      expect(await world.run('proofread', { max_tasks: 5 })).toEqual({
        tasks: 1,
        units: 3,
        changed: 3,
        blocked: 1,
        inconsistent: 0,
      });
      expect(world.task()).toMatchObject({ status: 'blocked', unit_counts: { translated: 2, blocked: 1 } });
      expect(world.task().reason).toMatch(/^requalified: .* blocks 1 unit with /);
      expect(
        world.rows(`SELECT task_id, release_id, reason FROM target_history WHERE state = 'blocked'`),
      ).toEqual([
        {
          task_id: world.task().task_id,
          release_id: 'r1',
          reason: expect.stringMatching(/^checked again: /) as string,
        },
      ]);
      expect(world.rows('SELECT * FROM proofread_container')).toEqual([]);
      expect(await world.run('proofread', {})).toMatchObject({ tasks: 0, units: 0 });
    });

    it('marks targets that differ from the usual one of their source, and unmarks them', async () => {
      const world = await openReviewWorld();
      await world.build('r2', { 'a.json': ['はい', 'はい', 'はい', 'いや'], 'b.json': ['はい'] });
      const results = (texts: readonly string[]) => ({
        status: 'proofread',
        translation_results: texts.map((translated_text, at) => ({
          unit_id: reviewUnit('a.json', at),
          source_text: at === 3 ? 'いや' : 'はい',
          translated_text,
        })),
      });
      await world.review(results(['是', '是', '对', '不']));
      expect(await world.run('proofread', {})).toMatchObject({ tasks: 0, inconsistent: 1 });
      const marked = () =>
        world.rows(`SELECT target_text FROM target WHERE findings LIKE '%inconsistent_target%'`);
      expect(marked()).toEqual([{ target_text: '对' }]);
      await world.review(results(['是', '是', '是', '不']));
      expect(await world.run('proofread', {})).toMatchObject({ inconsistent: 0 });
      expect(marked()).toEqual([]);
    });

    it('comes around to all tasks, a part with each run', async () => {
      const world = await openReviewWorld();
      world.store('a.json', [{ text: 'T0' }, { text: 'T1' }, { text: 'T2' }]);
      world.store('b.json', [{ text: 'T3' }, { text: 'T4' }]);
      const units = async (args: Readonly<Record<string, number>>): Promise<unknown> =>
        (await world.run('proofread', args))['units'];
      const one = { max_tasks: 1 };
      expect([await units(one), await units(one), await units(one)]).toEqual([3, 2, 3]);
      expect(await units({})).toBe(5);
      // The last one was the first task again: the second one follows.
      expect(await units(one)).toBe(2);
    });

    it('refuses a provider that cannot evaluate, and entries of args', async () => {
      const world = await openReviewWorld();
      for (const provider of ['x', 'libre', 'memory-only']) {
        await expect(world.act({ provider })).rejects.toMatchObject({ code: 'provider_not_configured' });
      }
      const fixture = { provider: 'fixture', fixture_path: 'none.jsonl' };
      await expect(world.act(fixture)).rejects.toMatchObject({ code: 'file_not_found' });
      await expect(world.act({ ...fixture, args: ['speed=9'] })).rejects.toMatchObject({
        code: 'invalid_request',
      });
      await expect(world.act({ args: ['partial=true'] })).rejects.toMatchObject({ code: 'invalid_request' });
      await expect(world.act({ status: 'proofread' })).rejects.toMatchObject({ code: 'invalid_request' });
    });
  });
});

const FILES = campaignSize(1_200, 20_000);
const FORMATS = UNIT_FORMAT_NAMES;
/** Parts that attack readers of XML and tables. */
const HOSTILE: readonly Buffer[] = [
  '<!DOCTYPE x [<!ENTITY a "&b;&b;&b;"><!ENTITY b "bbbbbbbbbb">]>',
  '<!DOCTYPE x SYSTEM "file:///etc/passwd">',
  '&a;&#0;&#xD800;',
  '<![CDATA[',
  '<?xml version="1.1" encoding="Shift_JIS"?>',
  '"',
  '\u0000',
  '\r\n',
  '{"unit_id":7}\n',
].map((text) => Buffer.from(text));
/** Bytes that are not UTF-8. */
const OTHER_ENCODING = Buffer.from([0x93, 0xfa, 0x96, 0x7b]);

describe(`${FILES} mutated files that a reviewer sends`, () => {
  it.each(FORMATS)(
    'as %s are accepted, or refused with the reason and without a change',
    async (format) => {
      const world = await openReviewWorld();
      const units = Object.entries(REVIEW_SOURCES).flatMap(([destination, sources]) =>
        sources.map((source_text, at) =>
          sampleUnit({
            unit_id: reviewUnit(destination, at),
            locator: { destination, archive_entry: null, path_id: null, field_path: `/k${at}` },
            source_text,
            target_text: `T${at}`,
            context: {},
            revision: null,
          }),
        ),
      );
      const original = await fileOf(format, units);
      const name = format.startsWith('xliff') ? 'in.xlf' : `in.${format}`;
      const random = createRandom(15);
      const count = FILES / FORMATS.length;
      const outcomes = { accepted: 0, file_refused: 0, import_refused: 0 };
      let before = world.everything();
      for (const copy of mutations(original, { seed: 15, count })) {
        const at = random.below(copy.length + 1);
        const part = random.below(4) === 0 ? OTHER_ENCODING : random.pick(HOSTILE);
        const isHostile = random.below(2) === 0;
        const bytes = isHostile ? Buffer.concat([copy.subarray(0, at), part, copy.subarray(at)]) : copy;
        await world.write(name, bytes);
        const args = { translation_file: name, reviewer: 'Rin', reason: null, token_id: null };
        try {
          await world.run('proofread-import', args);
          outcomes.accepted += 1;
          before = world.everything();
        } catch (error) {
          expect(error).toBeInstanceOf(TaskError);
          const { code, message } = error as TaskError;
          expect(message).toMatch(/line \d+: ./);
          expect(['file_refused', 'import_refused']).toContain(code);
          outcomes[code as keyof typeof outcomes] += 1;
          expect(world.everything()).toEqual(before);
        }
      }
      expect(outcomes.file_refused).toBeGreaterThan(count / 10);
      // Some mutations change only a target, a note or an id.
      // The checksums of an archive find nearly every mutation.
      if (format !== 'xlsx') expect(outcomes.accepted + outcomes.import_refused).toBeGreaterThan(0);
    },
    120_000,
  );
});

describe('a file with replaced tasks', () => {
  it('judges all rows of a file, also when the first ones belong to tasks of the release before', async () => {
    const world = await openTranslatedTexts();
    world.build('r1', { 'a.json': { one: 'いち' } });
    const { reviewId } = world.calls.beginFileReview();
    const stage = (file: string, key: string, sourceText: string, line: number) =>
      world.calls.stageLines({
        reviewId,
        lines: [
          {
            line,
            unitId: unitIdOf(file, key),
            sourceText,
            sourceDigest: sha256(sourceText),
            text: 'BAD',
            revision: null,
            isOfTable: false,
          },
        ],
      });
    expect(stage('a.json', 'one', 'いち', 1)).toEqual(['staged']);
    world.build('r2', { 'a.json': { one: 'いち' }, 'b.json': { two: 'に' } });
    expect(stage('b.json', 'two', 'に', 2)).toEqual(['staged']);
    const judge = judgeOf(() => [blockingFinding('bad')]);
    await judgeReview({ thread: world.thread, judge, units: world.units }, reviewId);
    const by = {
      reviewer: 'rin',
      reason: null,
      tokenId: null,
      fourEyes: false,
      isPartial: true,
      hasRefused: false,
    };
    expect(world.calls.applyFileReview({ reviewId, by }).written).toBe(0);
    expect(world.target('b.json', 'two')).toBeNull();
  });
});

/** Collects two rows of a file, whose first task is replaced by a second release between them. */
async function collectAcrossReleases() {
  const world = await openTranslatedTexts();
  const { reviewId } = world.calls.beginFileReview();
  const stage = (file: string, key: string, source: string, line: number) =>
    world.calls.stageLines({
      reviewId,
      lines: [
        {
          line,
          unitId: unitIdOf(file, key),
          sourceText: source,
          sourceDigest: sha256(source),
          text: 'text',
          revision: null,
          isOfTable: false,
        },
      ],
    });
  world.build('r1', { 'a.json': { one: 'いち' } });
  expect(stage('a.json', 'one', 'いち', 1)).toEqual(['staged']);
  world.build('r2', { 'a.json': { one: 'いち' }, 'b.json': { two: 'に' } });
  expect(stage('b.json', 'two', 'に', 2)).toEqual(['staged']);
  const by = {
    reviewer: 'Rin',
    reason: null,
    tokenId: null,
    fourEyes: false,
    isPartial: true,
    hasRefused: false,
  };
  return { ...world, reviewId, apply: () => world.calls.applyFileReview({ reviewId, by }) };
}

describe('a reviewed file of which a task was replaced and removed while its rows were collected', () => {
  it('accepts no row that nobody has judged', async () => {
    const world = await collectAcrossReleases();
    const done = world.apply();
    expect(done).toMatchObject({ written: 0, refusedCounts: { revision_changed: 2 } });
    expect(done.refusedLines[1]?.message).toContain('was not judged');
    expect(world.target('b.json', 'two')).toBeNull();
  });
});
