import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CheckInput } from '../../../src/domain/text/checks/check-input.ts';
import { CHECKS } from '../../../src/domain/text/checks/check-table.ts';
import { checkTarget } from '../../../src/domain/text/checks/check-target.ts';
import { displayWidth } from '../../../src/domain/text/checks/display-width.ts';
import { longestTarget } from '../../../src/domain/text/checks/longest-target.ts';
import { UTF_16 } from '../../../src/domain/text/checks/field-encodings.ts';
import { findInconsistentTargets } from '../../../src/domain/text/checks/find-inconsistent-targets.ts';
import { findPlaceholders, splitPlaceholders } from '../../../src/domain/text/placeholders.ts';
import { campaignSize } from '../../support/long.ts';

const LANGUAGES = { sourceLanguage: 'ja', targetLanguage: 'zh-Hans' };

function checksOf(source: string, target: string, more: Partial<CheckInput> = {}): string[] {
  return checkTarget({ source, target, ...LANGUAGES, ...more }).map(({ check }) => check);
}

describe('the longest target of a field', () => {
  it.each<[string, Parameters<typeof longestTarget>, number | null]>([
    ['without limits', [{}, 'x', 'zh-Hans'], null],
    ['by characters', [{ maxCharacters: 12 }, 'x', 'zh-Hans'], 12],
    ['by bytes of UTF-8', [{ maxBytes: 31 }, 'x', 'zh-Hans'], 10],
    ['by bytes of UTF-8 in Latin letters', [{ maxBytes: 31 }, 'x', 'en'], 31],
    ['by bytes of UTF-16', [{ maxBytes: 31, encoding: UTF_16 }, 'x', 'en'], 15],
    ['by columns, two for a wide character', [{ maxWidth: 20 }, 'x', 'ja'], 10],
    ['by columns of each line', [{ maxWidth: 20, maxLines: 2 }, 'a\nb\nc', 'en'], 40],
    ['by the smallest limit, and at least 1', [{ maxCharacters: 9, maxBytes: 2 }, 'x', 'zh'], 1],
  ])('is %s', (_what, [limits, source, language], length) => {
    expect(longestTarget(limits, source, language)).toBe(length);
  });
});

/** Strings full of what the checks look for. */
const markupText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '{0}',
        '{name}',
        '{',
        '}',
        '${x}',
        '#{y}',
        '%s',
        '%1$d',
        '%%',
        '%',
        '<b>',
        '</b>',
        '<color=#f80>',

        '<#ff8800>',
        '<br>',
        '<sprite name=x>',
        '<',
        '>',
        '[ruby=かん]',
        '[/ruby]',
        '[b]',
        '[/b]',
        '[OK]',

        '{n:plural:a|{}b}',
        '{n, plural, one {# item} other {{m} items}}',
        '<ruby>',
        '<rt>',
        '</rt>',
        '</ruby>',

        '｜漢字《かんじ》',
        '｜漢《》',
        '\\n',
        '\n',
        '\r\n',
        '\t',
        '\u0000',
        '\u200b',
        '\u202e',
        '\ufeff',
        '１２',
        '3,000',

        '「',
        '」',
        '“',
        '”',
        '(',
        'ああああああ',
        '漢字',
        '。',
        '？',
        ' ',
        '　',
        '👨‍👩‍👧',
        'é',
        'é',
        '\ufffd',
        '\u200d',
      ),
      fc.string({ unit: 'binary', maxLength: 4 }),
    ),
    { maxLength: 20 },
  )
  .map((parts) => parts.join(''));

function isWithin(span: { start: number; end: number } | null, text: string): boolean {
  return span === null || (span.start >= 0 && span.start <= span.end && span.end <= text.length);
}

describe('the checks of a target', () => {
  describe('any texts', () => {
    it('never stop a check, not even ill-formed ones', () => {
      const anyText = fc.oneof(
        markupText,
        fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)), maxLength: 40 }),
      );
      fc.assert(
        fc.property(anyText, anyText, fc.nat(20), (source, target, limit) => {
          const findings = checkTarget({
            ...LANGUAGES,
            source,
            target,
            maxBytes: limit,
            maxCharacters: limit,
            maxWidth: limit,
            maxLines: limit,
            glyphs: new Set([0x6f22]),
            encoding: { name: 'none', bytesOf: () => null },
          });
          for (const { check, source_span, target_span, waivable } of findings) {
            expect(waivable).toBe(CHECKS[check].waivable);
            expect(isWithin(source_span, source) && isWithin(target_span, target)).toBe(true);
          }
          const counts = Map.groupBy(findings, ({ check }) => check);
          expect([...counts.values()].every((each) => each.length <= 20)).toBe(true);
        }),
      );
    });

    it('have no blocking finding when they are copied, and none at all without kana', () => {
      fc.assert(
        fc.property(fc.oneof(markupText, fc.string({ unit: 'grapheme' })), (text) => {
          const findings = checkTarget({ source: text, target: text, ...LANGUAGES, sameLineBreaks: true });
          expect(findings.some(({ severity }) => severity === 'error')).toBe(false);
          expect(findings.filter(({ check }) => check !== 'target_equals_source')).toEqual([]);
        }),
      );
    });

    it.each([
      ['an open brace', '{'],
      ['open braces with text', '{a'],
      ['nested alternatives', '{a:plural:'],
      ['an open tag', '<a'],
      ['an open square tag', '[a'],
      ['closed square tags', '[/a]'],
      ['ruby', '｜a《b'],
      ['percent signs', '%'],
      ['directives', '%1'],
      ['white space within', ' \u3000'],
      ['ruby tags', '<ruby>'],
      ['digits', '1,'],
      ['backslashes', '\\'],
      ['brackets', '(」'],
      ['kana', 'あア '],
      ['joiners', '\u200d'],
      ['tags that overlap', '<a><b></a></b>'],
    ])('take time linear in their length: %s', (_, part) => {
      const long = part.repeat(Math.ceil(campaignSize(2 ** 18, 2 ** 20) / part.length));
      const before = performance.now();
      checkTarget({
        source: `x${long}`,
        target: `${long}y`,
        ...LANGUAGES,
        maxWidth: 10,
        glyphs: new Set([1]),
      });
      // Quadratic time would be many minutes.
      expect(performance.now() - before).toBeLessThan(20_000);
    });
  });

  describe('placeholders', () => {
    it.each([
      ['{0}は{name}です', '{name}是{0}', []],
      ['{0}と{0}', '{0}和', ['placeholder_mismatch']],
      ['{name}', '{Name}', ['placeholder_mismatch', 'placeholder_mismatch']],
      ['${x} #{y}', '#{y} ${x}', []],
      ['${x}', '#{x}', ['placeholder_mismatch', 'placeholder_mismatch']],
      ['%sに%d個', '%d个给%s', ['placeholder_order']],
      ['%1$sに%2$d個', '%2$d个给%1$s', []],
      ['%sと%s', '%s和%s', []],
      ['100%%', '100%', []],
      ['{0:N2}円', '{0:N0}元', ['placeholder_mismatch', 'placeholder_mismatch']],
      ['{0:plural:1 item|{} items}', '{0:plural:{}个}', []],
      ['{0:plural:1 item|{} items}', '{1:plural:{}个}', ['placeholder_mismatch', 'placeholder_mismatch']],
      ['{n:choose(1|2):甲|乙}', '{n:choose(1|2):一|二}', []],
      ['{a:plural:{b}|{c}}', '{a:plural:{d}}', ['placeholder_mismatch']],
      ['{n, plural, one {# item} other {{m} items}}', '{n, plural, other {{m}个}}', []],
      ['{n, plural, one {# item} other {{m} items}}', '{n, plural, other {{x}个}}', ['placeholder_mismatch']],
      ['{n, plural, one {item} other {items}}', '{n, plural, other {things}}', []],
    ])('%s, %s', (source, target, expected) => {
      const found = checksOf(source, target).filter((check) => check.startsWith('placeholder'));
      expect(found).toEqual(expected);
    });

    it('of the configuration are compared too', () => {
      const findPlaceholders = (text: string): { start: number; end: number }[] =>
        Array.from(text.matchAll(/@\w+@/g), ({ 0: found, index }) => ({
          start: index,
          end: index + found.length,
        }));
      expect(checksOf('@player@様', '玩家', { findPlaceholders })).toEqual(['placeholder_mismatch']);
      expect(checksOf('@player@様', '@player@大人', { findPlaceholders })).toEqual([]);
    });
  });

  describe('tags', () => {
    it.each([
      ['<b>強</b>い<i>風</i>', '<i>风</i>很<b>强</b>', []],
      ['<color=#f80>赤</color>', '<color=#F80>红</color>', ['tag_mismatch', 'tag_mismatch']],
      ['<COLOR=red>赤</COLOR>', '<color=red>红</color>', []],
      ['<#ff8800>橙</color>', '<#ff8800>橙</color>', []],
      ['<b>強い', '<b>很强', []],
      ['一<br>二<sprite name=x>', '一<sprite name=x>二<br>', []],
      ['<b>強</b>い', '</b>强<b>', ['tag_nesting']],
      ['<b>強</b><i>い</i>', '<b>强<i></b>大</i>', ['tag_nesting']],
      ['[b]強[/b]', '[b]强', ['tag_mismatch']],
      ['[OK]を押す', '按[确定]', []],
      ['[color=red]赤[/color]', '红', ['tag_mismatch', 'tag_mismatch']],
    ])('%s, %s', (source, target, expected) => {
      expect(checksOf(source, target).filter((check) => check.startsWith('tag'))).toEqual(expected);
    });

    it.each([
      ['<b>強い</b>風', '<b>强</b>风', []],
      ['<b>強い', '<b>很强', []],
      ['<b>強い</b><b>風</b>', '<b>强<b>风</b></b>', []],
      ['<b>強</b><i>風</i>', '<i>强<b>风</i></b>', ['tag_nesting']],
      ['<b>強い</b>風', '</b>强<b>风', ['tag_nesting']],
      ['<b>強い</b>風', '<b>强<b>风', ['tag_mismatch', 'tag_mismatch', 'tag_nesting']],
    ])('that must be closed: %s, %s', (source, target, expected) => {
      const found = checksOf(source, target, { tagGrammar: 'angle' });
      expect(found.filter((check) => check.startsWith('tag'))).toEqual(expected);
    });

    it('are text where the field has none', () => {
      expect(checksOf('<確認>', '<a>', { tagGrammar: 'none' })).toEqual([]);
    });
  });

  describe('ruby', () => {
    it.each([
      ['[ruby=かんじ]漢字[/ruby]', '[ruby=hanzi]汉字[/ruby]', []],
      ['[ruby=かんじ]漢字[/ruby]', '[ruby=]汉字[/ruby]', ['ruby_incomplete']],
      ['[ruby=かんじ]漢字[/ruby]', '[ruby=hanzi][/ruby]汉字', ['ruby_incomplete']],
      ['[ruby=かんじ]漢字[/ruby]', '汉字', ['ruby_count']],
      ['<ruby>漢字<rt>かんじ</rt></ruby>', '<ruby>汉字<rt>hanzi</rt></ruby>', []],
      ['<ruby>漢字<rt>かんじ</rt></ruby>', '<ruby>汉字</ruby>', ['ruby_incomplete']],
      ['<r=かんじ>漢字</r>', '<r=hanzi><b></b></r>', ['ruby_incomplete']],
      ['｜漢字《かんじ》', '｜汉字《》', ['ruby_incomplete']],
    ])('%s, %s', (source, target, expected) => {
      expect(checksOf(source, target).filter((check) => check.startsWith('ruby'))).toEqual(expected);
    });
  });

  describe('characters', () => {
    it.each([
      ['漢字', '汉\u0000字', ['control_character']],
      ['漢\u0001字', '汉\u0001字', []],
      ['漢字', '汉\ud800字', ['lone_surrogate']],
      ['漢字', '汉\u202e字', ['bidi_control']],
      ['漢字', '汉\u200b字', ['zero_width_character']],
      ['家族', '👨‍👩‍👧', []],
      ['漢字', '汉\ufffd', ['replacement_character']],
    ])('%j, %j', (source, target, expected) => {
      expect(checksOf(source, target)).toEqual(expected);
    });

    it('have to be in the encoding and in the font', () => {
      const encoding = { name: 'TEST', bytesOf: (point: number) => (point === 0x9519 ? null : 2) };
      expect(checksOf('間違い', '错误', { encoding })).toEqual(['unencodable_character']);
      expect(checksOf('間違い', '错\ud800', { encoding: UTF_16 })).toEqual(['lone_surrogate']);
      const glyphs = new Set(['错', '误'].map((each) => each.codePointAt(0) ?? 0));
      expect(checksOf('間違い{0}<b>\n', '错误{0}<b>\n', { glyphs })).toEqual([]);
      expect(checksOf('間違い', '错了', { glyphs })).toEqual(['missing_glyph']);
    });
  });

  describe('limits', () => {
    it.each([
      [{ maxBytes: 6 }, '汉字', []],
      [{ maxBytes: 5 }, '汉字', ['too_many_bytes']],
      [{ maxBytes: 6, encoding: UTF_16 }, '汉𠮟', []],
      [{ maxBytes: 5, encoding: UTF_16 }, '汉𠮟', ['too_many_bytes']],
      [{ maxCharacters: 2 }, '𠮟字', []],
      [{ maxCharacters: 1 }, '𠮟字', ['too_many_characters']],
      [{ maxWidth: 5 }, '汉字a<b>\né', []],
      [{ maxWidth: 4 }, '汉字a<b>\né', ['too_wide']],
      [{ maxWidth: 4 }, '汉字\\n汉字', []],
      [{ maxLines: 3 }, '汉\n字\\n汉', []],
      [{ maxLines: 3 }, '汉\n字\\n汉<br>字', ['too_many_lines']],
    ])('%j, %s', (limits, target, expected) => {
      const found = checksOf('漢', target, limits).filter((check) => check.startsWith('too_'));
      expect(found).toEqual(expected);
    });
  });

  describe('the other checks', () => {
    it.each([
      ['漢字', ' ', ['empty_target']],
      ['漢字', '', ['empty_target']],
      ['漢\n字', '汉字', ['line_break_mismatch']],
      ['漢\\n字', '汉字', ['line_break_mismatch']],
      ['C:\\\\new', 'C:\\\\new', []],
      ['３個', '3个', []],
      ['1,000円', '1000日元', []],
      ['３個', '三个', ['number_mismatch']],
      ['個', '3个', ['number_mismatch']],
      ['{0}個', '{0}个', []],
      ['こんにちは', 'こんにちは', ['target_equals_source']],
      ['漢字', '漢字', []],
      ['さくらの花', '櫻の花', ['kana_residue']],
      ['ラーメン・中', '拉面・中ー', []],
      ['「はい」', '“是”', []],
      ['「はい」', '「是', ['bracket_balance']],
      ['「はい', '“是', []],
      ['好', '好的好的好的好的好的好的', ['repeated_characters']],
      ['ああああ', '啊啊啊啊啊', []],
      ['長い', '……………………', []],
      ['これはとても長い文章です', '好', ['length_ratio']],
      [' 漢字', '汉字 ', ['whitespace_ends', 'whitespace_ends']],
      ['漢字？', '汉字', []],
    ])('%j, %j', (source, target, expected) => {
      expect(checksOf(source, target)).toEqual(expected);
    });

    it('block line breaks where the field demands it', () => {
      const input = { source: '漢\n字', target: '汉字', ...LANGUAGES };
      expect(checkTarget(input).some(({ severity }) => severity === 'error')).toBe(false);
      expect(
        checkTarget({ ...input, sameLineBreaks: true }).some(({ severity }) => severity === 'error'),
      ).toBe(true);
    });

    it('compare the end where a language is not Chinese, Japanese or Korean', () => {
      const english = { targetLanguage: 'en' };
      expect(checksOf('漢字？', 'Kanji', english)).toEqual(['end_punctuation']);
      expect(checksOf('「漢字。」', '"Kanji."', english)).toEqual([]);
      expect(checksOf('漢字…', 'Kanji...', english)).toEqual([]);
    });

    it('say where and what', () => {
      expect(checkTarget({ source: '{0}個', target: '两个{1}', ...LANGUAGES })).toEqual([
        {
          check: 'placeholder_mismatch',
          severity: 'error',
          source_span: { start: 0, end: 3 },
          target_span: null,
          message: 'the target lacks the placeholder "{0}"',
          waivable: false,
        },
        {
          check: 'placeholder_mismatch',
          severity: 'error',
          source_span: null,
          target_span: { start: 2, end: 5 },
          message: 'the source lacks the placeholder "{1}"',
          waivable: false,
        },
      ]);
    });
  });
});

describe('the display width', () => {
  it.each([
    ['', 0],
    ['abc', 3],
    ['汉字', 4],
    ['ｱｲ', 2],
    ['ＡＢ', 4],
    ['e\u0301', 1],
    ['한글', 4],
    ['𠮟', 2],
    ['😀', 2],
    ['\u{1d360}', 2],
    ['\u200b', 0],
    ['…', 1],
    ['\u{10ffff}', 1],
  ])('of %j is %d', (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });
});

function unit(
  unit_id: string,
  source: string,
  target: string,
): Record<'unit_id' | 'source' | 'target', string> {
  return { unit_id, source, target };
}

describe('targets of one source', () => {
  it('are inconsistent where they differ from most others', () => {
    const found = findInconsistentTargets([
      unit('1', 'はい', '是'),
      unit('2', 'はい', '好的'),
      unit('3', 'はい', '是'),
      unit('4', '先生', '老师'),
      unit('5', '改\r\n行', '换\r\n行'),
      unit('6', '改\n行', '换\n行'),
      unit('7', 'が', '甲'),
      unit('8', 'か\u3099', '乙'),
    ]);
    expect(Array.from(found, ({ unit_id, finding }) => [unit_id, finding.check, finding.message])).toEqual([
      ['2', 'inconsistent_target', 'the target "是" stands for the same source 2 times'],
      ['8', 'inconsistent_target', 'the target "甲" stands for the same source once'],
    ]);
  });
});

describe('the placeholders of a text', () => {
  describe('findPlaceholders', () => {
    it.each<[string, readonly string[]]>([
      ['おはよう、{name}先生', ['{name}']],
      ['{0}個の石を{1:N0}', ['{0}', '{1:N0}']],
      ['{count, plural, one {# 個} other {# 個}}', ['{count, plural, one {# 個} other {# 個}}']],
      ['<color=#ff8800>注意</color><#fff>白<br>', ['<color=#ff8800>', '</color>', '<#fff>', '<br>']],
      ['%sは%1$dを%.2f', ['%s', '%1$d', '%.2f']],
      ['100%しかない', []],
      ['a < b > c', []],
      ['{name}と{name}', ['{name}', '{name}']],
      ['閉じない{name', []],
    ])('finds those of %s', (text, expected) => {
      expect(findPlaceholders(text)).toEqual(expected);
    });

    it('takes time in proportion to the text', () => {
      for (const text of ['{'.repeat(200_000), `%${'0'.repeat(200_000)}`, '<a'.repeat(100_000)]) {
        expect(findPlaceholders(text)).toEqual([]);
      }
    });
  });

  describe('splitPlaceholders', () => {
    it('gives plain text and placeholders in turn', () => {
      expect(splitPlaceholders('{0}と<b>名</b>')).toEqual(['', '{0}', 'と', '<b>', '名', '</b>', '']);
      expect(splitPlaceholders('はい')).toEqual(['はい']);
    });
  });
});
