import { describe, expect, it } from 'vitest';
import { machineFlaws, type MachineLanguages } from '../../../src/domain/translation/machine-flaws.ts';

const JA_ZH = { sourceLanguage: 'ja', targetLanguage: 'zh-Hans' };
const EN_ZH = { sourceLanguage: 'en', targetLanguage: 'zh-Hans' };

/** The checks with a finding on each text, in their order. */
function flawsOf(
  texts: readonly (readonly [source: string, target: string])[],
  languages: MachineLanguages = JA_ZH,
): readonly (readonly string[])[] {
  const machine = texts.map(([source, target], at) => ({ key: `k${at}`, source, target }));
  const found = machineFlaws(machine, languages, new Map());
  return machine.map(({ key }) =>
    (found.get(key) ?? []).map(({ check, severity }) =>
      severity === 'error' ? check : `${check} (${severity})`,
    ),
  );
}

const distinct = [
  '今日はいい天気ですね',
  '明日は学校に行きます',
  '昨日の宿題が終わらない',
  '剣を持って戦いましょう',
];

describe('one translation for different texts', () => {
  it('is an error on all of them', () => {
    expect(flawsOf(distinct.map((source) => [source, '你好']))).toEqual(
      distinct.map(() => ['answer_repeated']),
    );
  });

  it('is an error for long texts in the midst of others, and across the answers of a container', () => {
    const answers = new Map<string, Set<string>>();
    const found = distinct.map((source, at) =>
      machineFlaws([{ key: 'k', source, target: at === 1 ? '别的' : '你好。' }], JA_ZH, answers).get('k'),
    );
    expect(found.map((findings) => findings?.map(({ check }) => check))).toEqual([
      [],
      [],
      [],
      ['answer_repeated'],
    ]);
    expect(found[3]?.[0]?.message).toBe('"你好。" is the translation of 3 different texts');
  });

  it('is fine for equal texts, for those that differ in digits, and for a few short ones', () => {
    const none = (texts: readonly string[], target: string) =>
      flawsOf(texts.map((text) => [text, target])).flat();
    expect(
      none(
        Array.from({ length: 20 }, () => '今日はいい天気ですね'),
        '今天天气真好',
      ),
    ).toEqual([]);
    expect(
      none(['今日は1日です！', '今日は2日です', '今日は３日です…', '今日は44日です'], '今天是几号'),
    ).toEqual([]);
    expect(none(['はい', 'ええ', 'うん'], '嗯')).toEqual([]);
  });
});

describe('a short translation in the last of several answers', () => {
  it('is fine when the others of its answer differ', () => {
    const answers = new Map<string, Set<string>>();
    for (const source of ['はい', 'ええ', 'うん'])
      machineFlaws([{ key: 'k', source, target: '好' }], JA_ZH, answers);
    const last = ['よし', ...distinct.slice(1)].map((source, at) => ({
      key: `k${at}`,
      source,
      target: ['好', '明天去学校', '昨天的作业没做完', '拿起剑战斗吧'][at]!,
    }));
    expect([...machineFlaws(last, JA_ZH, answers).values()].flat()).toEqual([]);
  });
});

describe('translations that are shifted by a row', () => {
  const sources = ['残り1回', '残り2回？', '残り3回！', '残り4回', '残り5回？', '残り66回！'];
  const targets = ['剩余1次', '剩余2次？', '剩余3次！', '剩余4次', '剩余5次？', '剩余66次！'];
  const pairs = (shift: number) =>
    sources.map((source, at) => [source, targets.at((at + shift) % 6)!] as const);

  it.each([
    ['the next', 1],
    ['the previous', -1],
  ])('are an error when they fit %s texts', (_what, shift) => {
    expect(flawsOf(pairs(shift)).every((flaws) => flaws.includes('answer_shifted'))).toBe(true);
  });

  it('are not found in good answers, and not in texts without numbers', () => {
    expect(flawsOf(pairs(0)).flat()).toEqual([]);
    expect(flawsOf(distinct.map((source, at) => [source, `第${'一二三四'[at]!}句译文`])).flat()).toEqual([]);
  });
});

describe('the letters of a translation', () => {
  it.each<[string, string, string, MachineLanguages, readonly string[]]>([
    ['a copy with kana', '今日はいい天気', '今日はいい天気', JA_ZH, ['source_copied']],
    ['a copy that is right in both languages', '了解', '了解', JA_ZH, []],
    [
      'a copy of a sentence in Latin letters',
      'Take the old sword',
      'Take the old sword',
      EN_ZH,
      ['source_copied'],
    ],
    ['a copy of a name', 'Slipway Online', 'Slipway Online', EN_ZH, []],
    [
      'a copy within one language',
      'the grey tower',
      'the grey tower',
      { sourceLanguage: 'en', targetLanguage: 'en-GB' },
      [],
    ],
    ['a sentence in English', '剣を持て', 'Take the old sword', JA_ZH, ['wrong_script']],
    ['a name in Latin letters', 'アロナ', 'Arona', JA_ZH, []],
    ['Korean', '剣を持て', '검을 들어라', JA_ZH, ['wrong_script']],
    ['one Cyrillic letter', '剣を持って行け', '拿着剑走吧д', JA_ZH, ['wrong_script (warning)']],
    [
      'Chinese in place of English',
      '剣を持って行け',
      '拿着剑走吧',
      { sourceLanguage: 'ja', targetLanguage: 'en' },
      ['wrong_script'],
    ],
    [
      'letters of the source',
      'Привет!',
      '“Привет”是你好',
      { sourceLanguage: 'ru', targetLanguage: 'zh' },
      [],
    ],
    ['letters in a placeholder only', '{character_name}剣', '{character_name}剑', JA_ZH, []],
    [
      'a language that it does not know',
      '剣を持って行け',
      'ጤና ይስጥልኝ',
      { sourceLanguage: 'ja', targetLanguage: 'am' },
      [],
    ],
  ])('%s: %j as %j', (_what, source, target, languages, checks) => {
    expect(flawsOf([[source, target]], languages)).toEqual([checks]);
  });
});

describe('a placeholder', () => {
  it.each<[string, string, readonly string[]]>([
    ['今日の{item}はこちら', '{item}今天的在这里', ['token_moved (warning)']],
    ['今日の{item}はこちら', '今天的{item}在这里', []],
    ['{item}はこちら', '{item}在这里', []],
    ['こちらは{item}', '{item}在这里', []],
  ])('of %j in %j', (source, target, checks) => {
    expect(flawsOf([[source, target]])).toEqual([checks]);
  });
});
