import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  GLOSSARY_EXPORT_JOB,
  GLOSSARY_IMPORT_JOB,
} from '../../../../src/localization/glossary/glossary-jobs.ts';
import { callOf } from '../../../../src/engine/tasks/job.ts';
import type { Task } from '../../../../src/engine/tasks/task.ts';
import { createTestGlossary, type TestGlossary } from '../../../support/glossary.ts';
import { askReport } from '../../../support/reports.ts';
import { runToEnd } from '../../../support/task-engine.ts';

const REVIEW = { reviewer: 'mika', reason: 'agreed with the publisher' };
const ALL = 'draft,approved,deprecated,rejected';

function put({ exchangeRoot }: TestGlossary, file: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(exchangeRoot, file)), { recursive: true });
  writeFileSync(join(exchangeRoot, file), content);
}

async function importFile(world: TestGlossary, file: string, args: object = {}, audit = {}): Promise<Task> {
  return await runToEnd(world.engine, callOf(GLOSSARY_IMPORT_JOB, { file, ...args }), audit);
}

async function exportFile(world: TestGlossary, file: string, args: object = {}): Promise<Task> {
  return await runToEnd(world.engine, callOf(GLOSSARY_EXPORT_JOB, { file, ...args }));
}

async function terms({ glossary }: TestGlossary) {
  const { items } = await askReport(glossary.reports, 'translation.glossary.query', { limit: 1000 });
  return items;
}

/** Everything that a change of the Glossary changes. */
async function contents(world: TestGlossary): Promise<unknown> {
  const summary = await askReport(world.glossary.reports, 'translation.glossary.summary');
  return { summary, terms: await terms(world) };
}

function counts({ result }: Task): unknown {
  return result?.['counts'];
}

/** A Glossary with a term of each state. */
async function fullGlossary(): Promise<TestGlossary> {
  const world = await createTestGlossary();
  const scope = { speaker: 'アロナ', destination: 'a/**' };
  await world.add({
    term_id: 'gt_a',
    aliases: ['せんせい', 'センセイ'],
    category: 'people',
    priority: -5,
    scope,
  });
  await world.act('approve', { term_id: 'gt_a', reviewer: 'mika' });
  await world.add({ term_id: 'gt_b', source_term: '生徒' });
  await world.act('update', { term_id: 'gt_b', recommended_translation: '' });
  await world.add({ term_id: 'gt_c', source_term: '学園', allowed_translations: ['=学园', '学校'] });
  await world.act('approve', { term_id: 'gt_c', reviewer: 'mika' });
  await world.act('deprecate', { term_id: 'gt_c', ...REVIEW });
  await world.add({ term_id: 'gt_d', source_term: '敵' });
  await world.act('update', { term_id: 'gt_d', review_status: 'rejected', ...REVIEW });
  return world;
}

describe.each(['tbx', 'csv'])('terms that leave as %s', (format) => {
  it('come back into another Glossary as they were, and once more without a change', async () => {
    const from = await fullGlossary();
    const file = `out/glossary.${format}`;
    const exported = await exportFile(from, file);
    const bytes = readFileSync(join(from.exchangeRoot, file));
    expect(exported.result).toEqual({
      file,
      path: join(from.exchangeRoot, file),
      format,
      include: 'draft,approved,deprecated',
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      written: 3,
      refused: 0,
      issues: [],
    });
    const to = await createTestGlossary();
    put(to, 'in/terms.file', bytes);
    const imported = await importFile(
      to,
      'in/terms.file',
      { format, trusted: true, token_id: 'ann' },
      REVIEW,
    );
    expect(counts(imported)).toMatchObject({ added: 3, conflict: 0, refused: 0 });
    const values = async (world: TestGlossary) =>
      (await terms(world)).map((term) => ({
        ...term,
        revision: 0,
        source: null,
        created_at: 0,
        updated_at: 0,
        review_history: [],
      }));
    expect(await values(to)).toEqual((await values(from)).filter(({ term_id }) => term_id !== 'gt_d'));
    const before = await contents(to);
    const again = await importFile(to, 'in/terms.file', { format, trusted: true }, REVIEW);
    expect(counts(again)).toMatchObject({ added: 0, updated: 0, reviewed: 0, unchanged: 3 });
    expect(await contents(to)).toEqual(before);
    expect(
      (await to.term('gt_a')).review_history.map((entry) => [entry.action, entry.reviewer, entry.token_id]),
    ).toEqual([
      ['add', 'mika', 'ann'],
      ['approve', 'mika', 'ann'],
    ]);
  });
});

describe('an import', () => {
  it('adds and changes drafts only, unless a reviewer stands for it', async () => {
    const world = await createTestGlossary();
    await world.add({ term_id: 'gt_a', recommended_translation: '老师' });
    await world.act('approve', { term_id: 'gt_a', reviewer: 'mika' });
    await world.add({ term_id: 'gt_b', source_term: '生徒', recommended_translation: '学生' });
    put(
      world,
      'a.csv',
      'source,translation,status\n先生,教师,approved\n生徒,学员,approved\n学園,学园,approved\n敵,敌,deprecated\n',
    );
    const drafts = await importFile(world, 'a.csv');
    expect(drafts.result).toMatchObject({
      counts: { added: 1, updated: 1, conflict: 1, left_out: 1 },
      issues: [
        { line: 2, outcome: 'conflict', message: expect.stringContaining('approved with other values') },
        { line: 5, outcome: 'left_out', message: expect.stringContaining('trusted import') },
      ],
    });
    expect(await world.term('gt_a')).toMatchObject({
      recommended_translation: '老师',
      review_status: 'approved',
    });
    expect(await world.term('gt_b')).toMatchObject({
      recommended_translation: '学员',
      review_status: 'draft',
    });
    expect(await importFile(world, 'a.csv', { trusted: true })).toMatchObject({
      failure_code: 'reviewer_missing',
    });
    const reviewed = await importFile(world, 'a.csv', { trusted: true }, REVIEW);
    expect(counts(reviewed)).toMatchObject({ added: 1, updated: 1, reviewed: 2 });
    expect((await terms(world)).map((term) => [term.source_term, term.review_status])).toEqual([
      ['先生', 'approved'],
      ['学園', 'approved'],
      ['敵', 'deprecated'],
      ['生徒', 'approved'],
    ]);
    expect(await world.term('gt_a')).toMatchObject({ recommended_translation: '教师' });
  });

  it('tells other parts once, and not for a dry run', async () => {
    const world = await createTestGlossary();
    const heard: number[] = [];
    world.events.subscribe(({ generation }) => heard.push(generation));
    put(
      world,
      'a.csv',
      `source,translation\n${Array.from({ length: 250 }, (_, at) => `語${at},词${at}`).join('\n')}`,
    );
    const before = await contents(world);
    expect(counts(await importFile(world, 'a.csv', { dry_run: true }))).toMatchObject({ added: 250 });
    expect(await contents(world)).toEqual(before);
    expect(heard).toEqual([]);
    expect(counts(await importFile(world, 'a.csv'))).toMatchObject({ added: 250 });
    expect(heard).toEqual([250]);
  });

  it('does not take the ids of other programs for those of its own terms', async () => {
    const world = await createTestGlossary();
    const tbx = (source: string): string =>
      `<martif type="TBX" xml:lang="en"><text><body><termEntry id="c1"><langSet xml:lang="ja-JP"><tig><term>${source}</term></tig></langSet>` +
      `<langSet xml:lang="zh-CN"><tig><term>译</term></tig></langSet></termEntry></body></text></martif>`;
    put(world, 'a.tbx', tbx('一'));
    put(world, 'b.tbx', tbx('二'));
    await importFile(world, 'a.tbx');
    expect(counts(await importFile(world, 'b.tbx'))).toMatchObject({ added: 1 });
    const found = (await terms(world)).map((term) => [term.source_term, term.term_id, term.target_language]);
    expect(found).toEqual([
      ['一', 'c1', 'zh-Hans'],
      ['二', expect.stringMatching(/^gt_/), 'zh-Hans'],
    ]);
  });

  it('names the terms that break a rule, and takes the others', async () => {
    const world = await createTestGlossary();
    put(
      world,
      'a.csv',
      'source,translation,priority,scope\n" ",a,,\n先生,老师,,\n生徒,学生,high,\n敵,敌,,[]\n',
    );
    const { result } = await importFile(world, 'a.csv');
    expect(result).toMatchObject({
      counts: { added: 1, refused: 3 },
      issues: [
        { line: 4, message: 'the priority is not a whole number' },
        { line: 5, message: expect.stringContaining('not a JSON object') },
        { line: 2, message: 'source_term must not be blank' },
      ].toSorted((left, right) => left.line - right.line),
    });
  });

  it('counts and names wordings that it leaves out, and what a spreadsheet may have changed', async () => {
    const world = await createTestGlossary();
    const term = (source: string, targets: string): string =>
      `<termEntry><langSet xml:lang="ja"><tig><term>${source}</term></tig></langSet><langSet xml:lang="zh-CN">${targets}</langSet></termEntry>\n`;
    const wording = (text: string, state: string): string =>
      `<tig><term>${text}</term><termNote type="administrativeStatus">${state}</termNote></tig>`;
    const entries = [
      term(
        '先生',
        wording('老师', 'preferred') + wording('先生', 'notRecommended') + wording('导师', 'veraltet'),
      ),
      term('敵', wording('敌', '\n forbidden\n')),
      term('海', wording('海', 'veraltet')),
    ];
    put(world, 'a.tbx', `<martif><text><body>\n${entries.join('')}</body></text></martif>`);
    const { result } = await importFile(world, 'a.tbx', { trusted: true }, REVIEW);
    expect(result).toMatchObject({
      counts: { added: 2, left_out: 1, wording_left_out: 2 },
      issues: [
        {
          line: 6,
          outcome: 'left_out',
          message: expect.stringContaining('"海" has a state that is not known'),
        },
        { line: 2, message: expect.stringContaining('"先生" must not be used: "notRecommended"') },
        { line: 2, message: expect.stringContaining('"导师" has a state that is not known: "veraltet"') },
      ],
    });
    expect(
      (await terms(world)).map((each) => [each.source_term, each.review_status, each.allowed_translations]),
    ).toEqual([
      ['先生', 'approved', []],
      ['敵', 'deprecated', []],
    ]);
    put(world, 'b.csv', 'source,translation\n1/2,2-Jan\n');
    expect((await importFile(world, 'b.csv')).result).toMatchObject({
      counts: { added: 1, spreadsheet_value: 1 },
      issues: [{ line: 2, outcome: 'spreadsheet_value' }],
    });
  });

  it('of a file without the wanted languages takes nothing, and says which ones the file has', async () => {
    const world = await createTestGlossary();
    const entry =
      '<termEntry><langSet xml:lang="ja"><tig><term>先生</term></tig></langSet><langSet xml:lang="en"><tig><term>teacher</term></tig></langSet></termEntry>';
    put(world, 'a.tbx', `<martif><text><body>\n${entry}\n${entry}</body></text></martif>`);
    expect((await importFile(world, 'a.tbx')).result).toMatchObject({
      counts: { added: 0, other_languages: 2 },
      issues: [
        {
          line: 2,
          outcome: 'other_languages',
          message: '0 taken: no entry is of ja to zh-Hans; the file has ja (2), en (2)',
        },
      ],
    });
    expect((await importFile(world, 'a.tbx', { target_language: 'en-US' })).result).toMatchObject({
      counts: { added: 1, unchanged: 1, other_languages: 0 },
      issues: [],
    });
  });

  it('refuses texts that are longer than a request can have', async () => {
    const world = await createTestGlossary();
    const note = 'x'.repeat(65_537);
    put(world, 'a.csv', `source,translation,source_note\n先生,老师,${note}\n生徒,学生,fine\n`);
    const { result } = await importFile(world, 'a.csv');
    expect(result).toMatchObject({
      counts: { added: 1, refused: 1 },
      issues: [{ line: 2, message: 'source/source_note must not exceed 65536 characters' }],
    });
  });

  it.each<[string, string | Uint8Array, number]>([
    ['a.tbx', '<!DOCTYPE martif [<!ENTITY a "&b;">]><martif/>', 1],
    ['a.tbx', '<martif type="TBX">\n<text><body>\n<termEntry>', 3],
    ['a.tbx', '<html/>', 1],
    ['a.csv', 'source,translation\n先生,"老师\n', 2],
    ['a.csv', 'source,translation\n先生', 2],
    ['a.csv', 'a,b\n', 1],
    ['a.csv', Buffer.from('source,translation\n\xe5', 'latin1'), 2],
  ])('of %s as %j is refused with line and reason, and changes nothing', async (file, content, at) => {
    const world = await fullGlossary();
    const before = await contents(world);
    put(world, file, content);
    expect(await importFile(world, file)).toMatchObject({
      status: 'failed',
      failure_code: 'file_refused',
      failure_reason: expect.stringMatching(new RegExp(`line ${at}: .*nothing was changed`)),
      result: { line: at },
    });
    expect(await contents(world)).toEqual(before);
  });
});

describe('an export', () => {
  it('names the states that it writes, and has no rejected terms in TBX', async () => {
    const world = await fullGlossary();
    expect(await exportFile(world, 'a.csv', { include: ALL })).toMatchObject({ result: { written: 4 } });
    expect(await exportFile(world, 'a.tbx', { include: ALL })).toMatchObject({ result: { written: 3 } });
    expect(await exportFile(world, 'b.csv', { include: 'approved' })).toMatchObject({
      result: { written: 1 },
    });
    expect(readFileSync(join(world.exchangeRoot, 'a.csv'), 'utf8')).toContain(`"'=学园\n学校"`);
  });

  it('of many terms has each of them once', async () => {
    const world = await createTestGlossary();
    put(
      world,
      'in.csv',
      `source,translation\n${Array.from({ length: 1200 }, (_, at) => `語${at},词${at}`).join('\n')}`,
    );
    await importFile(world, 'in.csv');
    await exportFile(world, 'out.csv');
    const rows = readFileSync(join(world.exchangeRoot, 'out.csv'), 'utf8').split('\r\n').slice(1, -1);
    expect(new Set(rows.map((row) => row.split(',')[1])).size).toBe(1200);
    expect(rows).toHaveLength(1200);
  });
});

describe('a Glossary that cannot be used', () => {
  it('is named by both jobs', async () => {
    const world = await createTestGlossary();
    writeFileSync(world.path, 'x'.repeat(5000));
    put(world, 'a.csv', 'source,translation\n先生,老师\n');
    for (const task of [await importFile(world, 'a.csv'), await exportFile(world, 'b.csv')]) {
      expect(task).toMatchObject({ status: 'failed', failure_code: 'glossary_unavailable' });
    }
  });
});
