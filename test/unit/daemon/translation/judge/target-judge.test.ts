import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { glossaryConfigurationSchema } from '../../../../../src/daemon/glossary/glossary-config.ts';
import { parseConfigurationSchema } from '../../../../../src/daemon/parse/rules/parse-config.ts';
import {
  createTargetJudge,
  type TextToJudge,
} from '../../../../../src/daemon/translation/judge/target-judge.ts';
import { createTextRules } from '../../../../../src/daemon/translation/judge/text-rules.ts';
import { createTestGlossary } from '../../../../support/glossary.ts';
import { TEST_PAIR } from '../../../../support/glossary-terms.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

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
