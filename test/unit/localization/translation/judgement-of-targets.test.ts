import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assert, asyncProperty, integer, uniqueArray } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { glossaryConfigurationSchema } from '../../../../src/localization/glossary/glossary-config.ts';
import type {
  IndexedUnit,
  UnitsAfterQuery,
} from '../../../../src/localization/parse/index/read/units-after.ts';
import { parseConfigurationSchema } from '../../../../src/localization/parse/rules/parse-config.ts';
import { createTargetOffers } from '../../../../src/localization/translation/judge/offer-targets.ts';
import {
  createTargetJudge,
  type TextToJudge,
} from '../../../../src/localization/translation/judge/target-judge.ts';
import type { TranslationMemory } from '../../../../src/localization/memory/translation-memory.ts';
import { createTextBoxes } from '../../../../src/localization/translation/judge/text-boxes.ts';
import { createTextRules } from '../../../../src/localization/translation/judge/text-rules.ts';
import { createUnitSource } from '../../../../src/localization/translation/judge/unit-source.ts';
import { createSilentLogger } from '../../../../src/platform/logging/logging.ts';
import { TEST_PAIR } from '../../../support/glossary-terms.ts';
import { createTestGlossary } from '../../../support/glossary.ts';
import { indexRelease, openTestIndex, type ModelFile } from '../../../support/index-release.ts';
import { openReviewWorld, reviewUnit, type ReviewWorld } from '../../../support/review-world.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { partial } from '../../../support/partial.ts';

const PLACE = { destination: 'a.json', archiveEntry: null, fieldPath: '/name', speaker: null, scene: null };
const text = (
  sourceText: string,
  targetText: string,
  place: Partial<TextToJudge['place']> = {},
): TextToJudge => ({
  place: { ...PLACE, ...place },
  sourceText,
  targetText,
});

async function world(parse: object = {}, glossaryOptions: object = {}) {
  let configuration = parseConfigurationSchema.parse(parse);
  let { termMissing } = glossaryConfigurationSchema.parse({});
  const test = await createTestGlossary(glossaryOptions);
  const rules = createTextRules(() => configuration);
  const judge = createTargetJudge({
    glossary: test.glossary,
    rules,
    languages: () => TEST_PAIR,
    termMissing: () => termMissing,
  });
  return {
    ...test,
    judge,
    rules,
    reload: (next: object, glossary: object = {}) => {
      configuration = parseConfigurationSchema.parse(next);
      ({ termMissing } = glossaryConfigurationSchema.parse(glossary));
    },
    checksOf: async (each: TextToJudge, options: object = {}) => {
      const { judgements } = await judge.judge([each], { wasProofread: false, ...options });
      return judgements[0]?.findings.map(({ check, origin, severity }) => `${origin} ${severity} ${check}`);
    },
  };
}

const rule = (other: object) => ({ destination: ['a.json'], ...other });

describe('the box of a text', () => {
  it('is the first configured one of its file, otherwise the limits of its rule, also without rules', async () => {
    const { rules, reload } = await world({
      rules: [
        { destination: ['*.json'], limits: [{ fields: ['/name'], maxWidth: 20 }] },
        { destination: ['**'], limits: [{ maxCharacters: 9 }] },
      ],
    });
    const boxes = [
      { files: 'Scenario/**', columns: 44, lines: 2, fontWidth: 0.8 },
      { files: '**/*.csv', columns: 10, lines: 1, fontWidth: 1 },
    ];
    const placed = (destination: string, field = '/name') => ({
      destination,
      archive_entry: null,
      field_path: field,
    });
    const read = createTextBoxes(() => boxes, rules);
    const boxOf = await read();
    expect(boxOf(placed('Scenario/Main/a.csv'))).toEqual({ columns: 44, lines: 2, font_width: 0.8 });
    expect(boxOf(placed('Tables/a.csv'))).toEqual({ columns: 10, lines: 1, font_width: 1 });
    expect(boxOf(placed('a.json'))).toEqual({ columns: 20, lines: null, font_width: 1 });
    expect(boxOf(placed('a.json', '/text'))).toBe(null);
    expect(boxOf(placed('Tables/a.json'))).toBe(null);
    reload({ rules: [{ destination: ['**'], charset: '/missing/characters.txt' }] });
    const without = await read();
    expect([without(placed('a.json')), without(placed('b/a.csv'))?.lines]).toEqual([null, 1]);
    const fault = new TypeError('a fault of the rules');
    await expect(
      createTextBoxes(
        () => boxes,
        () => Promise.reject(fault),
      )(),
    ).rejects.toBe(fault);
  });
});

describe('the judge', () => {
  it('gives no finding for a good target', async () => {
    const { checksOf } = await world();
    expect(await checksOf(text('おはよう', '早上好'))).toEqual([]);
  });

  it.each([
    [
      rule({ limits: [{ fields: ['/name'], maxCharacters: 3 }] }),
      text('おはよう', '早上好啊'),
      'too_many_characters',
    ],
    [rule({ limits: [{ fields: ['/other'], maxCharacters: 3 }] }), text('おはよう', '早上好啊'), null],
    [rule({ limits: [{ maxBytes: 8 }] }), text('おはよう', '早上好'), 'too_many_bytes'],
    [rule({ limits: [{ maxBytes: 6 }], encoding: 'cp932' }), text('おはよう', '早上好'), null],
    [rule({ encoding: 'cp932' }), text('おはよう', '们'), 'unencodable_character'],
    [rule({ encoding: 'cp932', format: 'unity' }), text('おはよう', '们'), null],
    [rule({ encoding: 'utf-16', limits: [{ maxBytes: 6 }] }), text('おはよう', '早上好'), null],
    [rule({ tags: 'none' }), text('<b>おはよう</b>', '早上好'), null],
    [rule({ tags: 'angle' }), text('<b>おはよう</b>', '早上好'), 'tag_mismatch'],
  ])('applies the rule of the container: %o', async (configured, judged, expected) => {
    const { checksOf } = await world({ rules: [configured] });
    const errors = (await checksOf(judged))?.filter((each) => each.includes(' error '));
    expect([...new Set(errors)]).toEqual(expected === null ? [] : [`target error ${expected}`]);
  });

  it('names what it judges by, another one for every change that can change a judgement', async () => {
    const { judge, reload } = await world({ rules: [rule({ tags: 'angle' })] });
    const keyOf = async (options: object = {}) =>
      (await judge.judge([text('はい', '是')], { wasProofread: false, ...options })).by.key;
    const first = await keyOf();
    expect(await keyOf()).toBe(first);
    expect(await keyOf({ wasProofread: true })).toBe(`${first} proofread`);
    reload({ rules: [rule({ tags: 'none' })] });
    const otherRules = await keyOf();
    reload({ rules: [rule({ tags: 'angle' })] }, { termMissing: { default: 'always' } });
    const otherTerms = await keyOf();
    reload({ rules: [rule({ tags: 'angle' })] });
    expect(await keyOf()).toBe(first);
    expect(new Set([first, otherRules, otherTerms]).size).toBe(3);
  });

  it('takes the first rule that matches the destination and the entry', async () => {
    const { checksOf } = await world({
      rules: [
        rule({ destination: ['a.zip'], entry: ['x.json'], limits: [{ maxCharacters: 1 }] }),
        rule({ destination: ['a.zip'], limits: [{ maxCharacters: 100 }] }),
      ],
    });
    const inside = (archiveEntry: string) => text('はい', '是的', { destination: 'a.zip', archiveEntry });
    expect(await checksOf(inside('x.json'))).toHaveLength(1);
    expect(await checksOf(inside('y.json'))).toEqual([]);
  });

  it('reads the characters of a rule, again after a reload, and says when the file is missing', async () => {
    const charset = join(await temporaryDirectory(), 'glyphs.txt');
    const { checksOf, reload, rules } = await world({ rules: [rule({ charset })] });
    const judged = text('はい', '是的');
    await expect(checksOf(judged)).rejects.toMatchObject({ code: 'backend_unavailable' });
    await writeFile(charset, '是\n');
    expect(await checksOf(judged)).toEqual(['target error missing_glyph']);
    const { digest } = await rules();
    await writeFile(charset, '是的');
    expect(await checksOf(judged)).toEqual(['target error missing_glyph']);
    reload({ rules: [rule({ charset })] });
    expect(await checksOf(judged)).toEqual([]);
    expect((await rules()).digest).not.toBe(digest);
  });

  it('compares targets with the Glossary, by the scopes of their places', async () => {
    const { checksOf, ...glossary } = await world();
    await glossary.add({ review_status: 'approved', reviewer: 'r', scope: { speaker: 'アロナ' } });
    const spoken = text('先生', '教师', { speaker: 'アロナ' });
    expect(await checksOf(spoken)).toEqual(['glossary warning term_missing']);
    expect(await checksOf(spoken, { wasProofread: true })).toEqual(['glossary error term_missing']);
    expect(await checksOf(text('先生', '教师'))).toEqual([]);
    expect(await checksOf(text('先生', '老师', { speaker: 'アロナ' }))).toEqual([]);
  });

  it('gives judgements in the order of the texts, with their identities and the generation', async () => {
    const { judge, ...glossary } = await world();
    await glossary.add({ review_status: 'approved', reviewer: 'r' });
    const texts = Array.from({ length: 450 }, (_, at) => text('先生', at % 2 === 0 ? '老师' : ''));
    const { judgements, by } = await judge.judge(texts, { wasProofread: false });
    expect(judgements.map(({ findings }) => findings.some(({ check }) => check === 'empty_target'))).toEqual(
      texts.map((_, at) => at % 2 === 1),
    );
    expect(judgements[0]?.qaIdentity).toMatch(/^gqa1_/);
    expect(judgements[0]?.qaIdentity).not.toBe(judgements[1]?.qaIdentity);
    expect(by.generation).toBeGreaterThan(0);
  });

  it('gives the event loop its turn, and stops when it is cancelled', async () => {
    const { judge } = await world();
    const texts = Array.from({ length: 500 }, () => text('はい', '是的'));
    let turns = 0;
    const count = (): void => {
      turns += 1;
      running = setImmediate(count);
    };
    let running = setImmediate(count);
    await judge.judge(texts, { wasProofread: false });
    clearImmediate(running);
    expect(turns).toBeGreaterThanOrEqual(8);
    const reason = new Error('stop');
    const cancelled = judge.judge(texts, { wasProofread: false, signal: AbortSignal.abort(reason) });
    await expect(cancelled).rejects.toBe(reason);
  });
});

const unit = (sourceText: string, other: Partial<IndexedUnit> = {}): IndexedUnit => ({
  ordinal: 0,
  unitId: new Uint8Array(16),
  sourceDigest: new Uint8Array(32),
  sourceText,
  fieldPath: '/Text',
  speaker: null,
  scene: null,
  destination: 'a.json',
  archiveEntry: null,
  pathId: null,
  format: 'json',
  parseStatus: 'parsed',
  carriedBy: null,
  ...other,
});

const AUTHOR = { kind: 'machine', tokenId: null } as const;
const offered = (source: IndexedUnit, around: readonly IndexedUnit[] = []) => ({
  source: { unit: source, before: around.slice(0, -1), after: around.slice(-1) },
  unitId: 'tu1_x',
  targetText: '是',
  author: AUTHOR,
  provider: 'openai',
  provider_run_id: 'run',
  task_id: 'tt_1',
});

describe('offering targets to the memory', () => {
  it('proposes them with their place, their neighbours and where they come from', async () => {
    const proposals: unknown[] = [];
    const offers = createTargetOffers({
      memory: partial<TranslationMemory>({
        propose: (batch) => {
          proposals.push(...batch);
          return Promise.resolve([]);
        },
      }),
      languages: () => TEST_PAIR,
      logger: createSilentLogger(),
    });
    const full = unit('はい', { archiveEntry: 'b', speaker: 'アロナ', scene: 's' });
    const long = `${'あ'.repeat(499)}😀`;
    expect(
      await offers.offer([offered(full, [unit('前の前'), unit('前'), unit(long)])], 'worker', 'r1'),
    ).toBe(true);
    expect(await offers.offer([offered(unit('はい'))], 'task_update', 'r1')).toBe(true);
    const languages = { source_language: 'ja', target_language: 'zh-Hans' };
    const provenance = {
      origin: 'worker',
      provider: 'openai',
      provider_run_id: 'run',
      task_id: 'tt_1',
      unit_id: 'tu1_x',
      release_id: 'r1',
    };
    expect(proposals).toEqual([
      {
        ...languages,
        source_text: 'はい',
        target_text: '是',
        context: {
          destination: 'a.json',
          archive_entry: 'b',
          field_path: '/Text',
          speaker: 'アロナ',
          scene: 's',
          previous: '前',
          next: `${'あ'.repeat(499)}\ufffd`,
        },
        provenance,
        author: AUTHOR,
      },
      {
        ...languages,
        source_text: 'はい',
        target_text: '是',
        context: { destination: 'a.json', field_path: '/Text' },
        provenance: { ...provenance, origin: 'task_update' },
        author: AUTHOR,
      },
    ]);
  });

  it('says when the memory did not take them', async () => {
    const offers = createTargetOffers({
      memory: partial<TranslationMemory>({ propose: () => Promise.reject(new Error('closed')) }),
      languages: () => TEST_PAIR,
      logger: createSilentLogger(),
    });
    expect(await offers.offer([offered(unit('はい'))], 'worker', 'r1')).toBe(false);
    expect(await offers.offer([], 'worker', 'r1')).toBe(true);
  });
});

const UNITS = 300;
const FILES: readonly ModelFile[] = [
  { destination: 'a.json', leaves: [{ units: [['x', 'other file']] }] },
  {
    destination: 'b.zip',
    leaves: ['one', 'two'].map((archiveEntry, leaf) => ({
      archiveEntry,
      units: Array.from({ length: UNITS / 2 }, (_, at) => [`${leaf}-${at}`, `text ${leaf}-${at}`] as const),
    })),
  },
];

const textOf = (ordinal: number): string => {
  const half = UNITS / 2;
  return ordinal < half ? `text 0-${ordinal}` : `text 1-${ordinal - half}`;
};

describe('reading the units of tasks', () => {
  function open() {
    const index = openTestIndex();
    indexRelease(index, 'r1', FILES);
    const queries: UnitsAfterQuery[] = [];
    const source = createUnitSource((query) => {
      queries.push(query);
      return Promise.resolve(index.unitsAfter(query));
    });
    const { generation } = index.status();
    return {
      index,
      source,
      queries,
      request: { releaseId: 'r1', generation, destination: FILES[1]?.destination ?? '' },
    };
  }

  it('gives the unit of each ordinal in the order of the ordinals, with its neighbours in the container', async () => {
    const { source, request } = open();
    const ordinals = uniqueArray(integer({ min: 0, max: UNITS - 1 }), { minLength: 1, maxLength: 20 });
    await assert(
      asyncProperty(ordinals, integer({ min: 0, max: 3 }), async (wanted, neighbours) => {
        const units = await source.unitsOf({ ...request, ordinals: wanted, neighbours });
        expect(units.map(({ unit }) => unit.sourceText)).toEqual(wanted.map(textOf));
        for (const [at, { before, after }] of units.entries()) {
          const ordinal = wanted[at] ?? 0;
          const inContainer = (other: number): boolean =>
            other >= 0 && other < UNITS && Math.floor(other / 150) === Math.floor(ordinal / 150);
          const around = (from: number) =>
            Array.from({ length: neighbours }, (_, distance) => from + distance).filter(inContainer);
          expect(before.map((unit) => unit.ordinal)).toEqual(around(ordinal - neighbours));
          expect(after.map((unit) => unit.ordinal)).toEqual(around(ordinal + 1));
        }
      }),
      { numRuns: 50 },
    );
  });

  it('reads units that are close to each other with one call, and a distant one with its own', async () => {
    const { source, request, queries } = open();
    await source.unitsOf({ ...request, ordinals: [7, 3, 250] });
    expect(queries.map(({ from, limit }) => [from.ordinal, limit])).toEqual([
      [3, 5],
      [250, 1],
    ]);
  });

  it.each([
    ['another generation', { generation: 99 }],
    ['another release', { releaseId: 'r0' }],
    ['a file without these units', { destination: FILES[0]?.destination ?? '' }],
  ])('asks to try again when the index shows %s', async (_, other) => {
    const { source, request } = open();
    const read = source.unitsOf({ ...request, ...other, ordinals: [200] });
    await expect(read).rejects.toMatchObject({
      code: 'text_not_indexed',
      retryable: true,
      message: expect.stringContaining('try again'),
    });
  });

  it('says so when the index cannot be read, and ends with the signal', async () => {
    const { request } = open();
    const broken = createUnitSource(() => Promise.reject(new Error('disk')));
    const read = (signal?: AbortSignal) => broken.unitsOf({ ...request, ordinals: [1] }, signal);
    await expect(read()).rejects.toMatchObject({
      code: 'text_not_indexed',
      message: expect.stringContaining('disk'),
    });
    const reason = new Error('stop');
    await expect(read(AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});

const FIXTURE = { provider: 'fixture', fixture_path: 'evaluation.jsonl' };

/** Writes what the next evaluation finds in the first unit. */
async function found(world: ReviewWorld, findings: readonly object[], more = ''): Promise<void> {
  const folder = join(world.exchange, '..', 'fixtures');
  await mkdir(folder, { recursive: true });
  const item = { unit_id: reviewUnit('b.json', 0), findings };
  await writeFile(join(folder, FIXTURE.fixture_path), `${JSON.stringify(item)}\n${more}`);
}

const findingsOf = (world: ReviewWorld, text: string): unknown =>
  JSON.parse(
    String(world.rows(`SELECT findings FROM target WHERE target_text = '${text}'`)[0]?.['findings']),
  );

const FOUND = {
  check: 'accuracy',
  origin: 'evaluation',
  severity: 'warning',
  message: 'means "yes"',
  waivable: true,
  source_span: null,
  target_span: { start: 0, end: 1 },
};

describe('the evaluation of translated tasks', () => {
  /** Two translated targets, and a file with what an evaluation finds in the first. */
  async function open(): Promise<ReviewWorld> {
    const world = await openReviewWorld();
    world.store('b.json', [{ text: 'T0' }, { text: 'T1' }]);
    await found(world, [{ kind: 'accuracy', severity: 'warning', quote: 'T', message: 'means "yes"\u0000' }]);
    return world;
  }

  it('adds findings, and neither changes nor accepts a target', async () => {
    const world = await open();
    const targets = () => world.rows('SELECT unit_id, target_text, state, revision FROM target');
    const before = [targets(), world.rows('SELECT * FROM target_history')];
    const queued = await world.act({ ...FIXTURE, args: ['max_tokens=1000'] });
    expect(queued).toMatchObject({ kind: 'proofread', args: { ...FIXTURE, max_tokens: 1000 } });
    expect(await world.run('proofread', FIXTURE)).toMatchObject({
      tasks: 1,
      units: 2,
      blocked: 0,
      inconsistent: 0,
      evaluation: {
        provider: 'fixture',
        dry_run: false,
        evaluated: 2,
        units_with_findings: 1,
        findings: 1,
        findings_by_kind: { accuracy: 1 },
        failures: {},
        stopped: null,
      },
    });
    expect(findingsOf(world, 'T0')).toEqual([FOUND]);
    expect(findingsOf(world, 'T1')).toEqual([]);
    expect([targets(), world.rows('SELECT * FROM target_history')]).toEqual(before);
    expect(world.task('b.json').status).toBe('translated');
  });

  it('keeps its findings while the target has its text, and replaces them with the next evaluation', async () => {
    const world = await open();
    await world.run('proofread', FIXTURE);
    const seen: unknown[] = [];
    await world.run('proofread', { max_tasks: 1_000_000 }, (...step) => seen.push(step));
    // A bound is no total.
    expect(seen[0]).toEqual([1, null, 'steps', 'judging tasks']);
    expect(findingsOf(world, 'T0')).toEqual([FOUND]);
    await found(world, [{ kind: 'fluency', severity: 'info', message: 'stiff' }]);
    await world.run('proofread', FIXTURE);
    expect(findingsOf(world, 'T0')).toMatchObject([
      { check: 'fluency', severity: 'info', message: 'stiff', target_span: null },
    ]);
    await found(world, []);
    await world.run('proofread', FIXTURE);
    expect(findingsOf(world, 'T0')).toEqual([]);
  });

  it('has findings that a reviewer can waive, that stay after the acceptance, and that go with the text', async () => {
    const world = await open();
    await world.run('proofread', FIXTURE);
    const unit_id = reviewUnit('b.json', 0);
    const accept = { status: 'proofread', reason: 'meant so', args: [`waive=${unit_id}:accuracy`] };
    await world.review(accept, { destination: 'b.json' });
    expect(world.rows('SELECT check_name, reviewer FROM waiver')).toEqual([
      { check_name: 'accuracy', reviewer: 'Rin' },
    ]);
    expect(findingsOf(world, 'T0')).toEqual([FOUND]);
    const translation_results = [{ unit_id, source_text: 'いいえ', translated_text: 'new' }];
    await world.review({ status: 'proofread', translation_results }, { destination: 'b.json' });
    expect(findingsOf(world, 'new')).toEqual([]);
  });

  it('comes around to all tasks by itself, and an estimate does not move it', async () => {
    const world = await open();
    world.store('a.json', [{ text: 'A0' }, { text: 'A1' }, { text: 'A2' }]);
    const units = async (args: object): Promise<unknown> =>
      (await world.run('proofread', { max_tasks: 1, ...args }))['units'];
    expect(await units({})).toBe(3);
    expect(await units({ ...FIXTURE, dry_run: true })).toBe(3);
    expect([await units(FIXTURE), await units(FIXTURE), await units(FIXTURE)]).toEqual([3, 2, 3]);
    expect(await units({})).toBe(2);
  });

  it('continues within a task that it could not finish', async () => {
    const world = await openReviewWorld();
    const sources = Array.from({ length: 201 }, (_, at) => `行${at}`);
    await world.build('r2', { 'b.json': sources });
    world.store(
      'b.json',
      sources.map((text) => ({ text })),
    );
    const last = { unit_id: reviewUnit('b.json', 200), fail: '500', times: 2 };
    await found(world, [], `${JSON.stringify(last)}\n`);
    await expect(world.run('proofread', FIXTURE)).rejects.toMatchObject({
      code: 'provider_error',
      details: { evaluated: 200 },
    });
    await found(world, []);
    expect(await world.run('proofread', FIXTURE)).toMatchObject({ evaluation: { evaluated: 1 } });
    expect(await world.run('proofread', FIXTURE)).toMatchObject({ evaluation: { evaluated: 201 } });
  });

  it('only estimates with dry_run', async () => {
    const world = await open();
    const before = world.everything();
    expect(await world.run('proofread', { ...FIXTURE, dry_run: true, max_tokens: 1 })).toEqual({
      tasks: 1,
      units: 2,
      changed: 0,
      blocked: 0,
      evaluation: expect.objectContaining({
        dry_run: true,
        evaluated: 2,
        findings: 0,
        usage: expect.objectContaining({ characters: 6 }) as unknown,
        fits: true,
      }) as unknown,
    });
    expect(world.everything()).toEqual(before);
    expect(findingsOf(world, 'T0')).toEqual([]);
  });

  it('counts units that it cannot evaluate, and fails when the provider is in trouble', async () => {
    const world = await open();
    const fail = (kind: string, times: number) =>
      `${JSON.stringify({ unit_id: reviewUnit('b.json', 1), fail: kind, times })}\n`;
    await found(world, [{ kind: 'tone', severity: 'info', message: 'stiff' }], fail('malformed', 9));
    expect(await world.run('proofread', FIXTURE)).toMatchObject({
      tasks: 1,
      evaluation: { evaluated: 1, failures: { answer_malformed: 1 } },
    });
    await found(world, [], fail('500', 1));
    await expect(world.run('proofread', FIXTURE)).rejects.toMatchObject({
      code: 'provider_error',
      details: { evaluated: 0, failures: { provider_error: 2 }, stopped: 'provider_error' },
    });
    expect(findingsOf(world, 'T0')).toMatchObject([{ message: 'stiff' }]);
  });

  it('has no arguments of an evaluation without a provider', async () => {
    const world = await open();
    await expect(world.run('proofread', { max_tokens: 9 })).rejects.toThrow('is needed by');
  });
});
