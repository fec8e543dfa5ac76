import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  compareDestinations,
  foldDestination,
  parseDestination,
  type Destination,
} from '../../../src/domain/release/destination.ts';
import { createFieldGlob } from '../../../src/domain/text/field-glob.ts';
import { isSameLanguage } from '../../../src/domain/text/language-tag.ts';
import { stableName, stableNames } from '../../../src/domain/text/stable-name.ts';
import { campaignSize } from '../../support/long.ts';

function destination(text: string): Destination {
  const parsed = parseDestination(text);
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.value;
}

describe('a destination', () => {
  test.each([
    'a',
    'TableBundles/Excel.zip',
    'unity default resources',
    '日本語/テキスト.json',
    '...',
    '.hidden',
    'a..b',
    '-',
    '~',
    'a:b',
    '100%+&?#',
    'é',
    '😀/x',
    `${'a'.repeat(255)}/b`,
  ])('%j is a destination', (text) => {
    expect(parseDestination(text)).toEqual({ ok: true, value: text });
  });

  describe('an invalid destination names the broken rule', () => {
    test.each([
      ['', /empty/],
      ['/a', /relative/],
      ['a/', /empty segment/],
      ['a//b', /empty segment/],
      ['.', /segment/],
      ['..', /segment/],
      ['a/../b', /segment/],
      ['a/./b', /segment/],
      ['a\\b', /"\/"/],
      ['a\u0000b', /control/],
      ['a\nb', /control/],
      ['a\u007f', /control/],
      ['a\u0085', /control/],
      ['a\u2028b', /control/],
      ['a\u202egpj.exe', /control/],
      ['\ufeffa', /control/],
      ['\ud800', /surrogate/],
      ['e\u0301', /normalization/],
      ['a'.repeat(256), /255/],
      ['日'.repeat(86), /255/],
      [`${'a'.repeat(200)}/`.repeat(6).slice(0, -1), /1024/],
    ])('%j', (text, message) => {
      const parsed = parseDestination(text);
      if (parsed.ok) throw new Error('it was accepted');
      expect(parsed.error).toMatch(message);
    });
  });

  test('property: an accepted text has only safe segments and round-trips through UTF-8', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (text) => {
        const parsed = parseDestination(text);
        if (!parsed.ok) return;
        expect(Buffer.from(parsed.value).toString()).toBe(text);
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1024);
        for (const segment of text.split('/')) expect(['', '.', '..']).not.toContain(segment);
      }),
      { numRuns: campaignSize(300, 10_000) },
    );
  });

  test('property: destinations are ordered by their UTF-8 bytes', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', 'b', '/', 'é', '日', '\ue000', '\uffee', '😀', '\u{10ffff}'),
      maxLength: 6,
    });
    fc.assert(
      fc.property(text, text, (left, right) => {
        expect(Math.sign(compareDestinations(left, right))).toBe(
          Buffer.compare(Buffer.from(left), Buffer.from(right)),
        );
      }),
      { numRuns: campaignSize(500, 10_000) },
    );
  });

  test('names that differ only in case fold together', () => {
    expect(foldDestination(destination('A/É.ZIP'))).toBe(foldDestination(destination('a/é.zip')));
    expect(foldDestination(destination('a'))).not.toBe(foldDestination(destination('b')));
  });
});

describe('createFieldGlob', () => {
  it.each<[string, string, boolean]>([
    ['/rows/*/TextJp', '/rows/0/TextJp', true],
    ['/rows/*/TextJp', '/rows/0/a/TextJp', false],
    ['**/TextJp', '/rows/0/a/TextJp', true],
    ['lines[*].text', 'lines[12].text', true],
    ['lines[*].text', 'lines[12].x.text', false],
    ['m_Script#**', 'm_Script#/rows/0/TextJp', true],
    ['m_*', 'm_Name', true],
    ['m_*', 'm_Table.text', false],
    ['a+b', 'a+b', true],
    ['a+b', 'aab', false],
  ])('%s and %s: %s', (glob, path, expected) => {
    expect(createFieldGlob(glob)(path)).toBe(expected);
  });

  it('takes bounded time, whatever upstream calls its fields', () => {
    const test = createFieldGlob('**a**a**a**a**a**a**a**b');
    const start = performance.now();
    expect(test('a'.repeat(2000))).toBe(false);
    expect(performance.now() - start).toBeLessThan(2000);
  });
});

describe('two language tags', () => {
  it.each([
    ['ja', 'ja', true],
    ['JA', 'ja-JP', true],
    ['zh-CN', 'zh-Hans', true],
    ['zh', 'zh-Hans', true],
    ['zh-TW', 'zh-Hans', false],
    ['zh-Hant', 'zh-HK', true],
    ['en', 'en-GB', true],
    ['ja_JP', 'ja', true],
    ['zh_CN', 'zh-Hans', true],
    ['zh-CHT', 'zh-TW', true],
    ['pt-BR', 'pt', true],
    ['pt-BR', 'pt-PT', false],
    ['zh-Hans-SG', 'zh-CN', false],
    ['ja', 'ko', false],
    ['*all*', 'ja', false],
    ['', 'ja', false],
    ['a b', 'ja', false],
  ])('%s and %s name the same language: %s', (left, right, same) => {
    expect(isSameLanguage(left, right)).toBe(same);
    expect(isSameLanguage(right, left)).toBe(same);
  });
});

describe('the stable name of an item', () => {
  describe('stableName', () => {
    it.each([
      ['ui_assets_all_0f3cab12e9d84c7b95a1e0d2c3b4a596.bundle', 'ui_assets_all_*.bundle'],
      ['0f3cab12e9d84c7b95a1e0d2c3b4a596.bundle', '*.bundle'],
      [
        'Android/academy-2024-11-18_assets_all_3456789012.bundle',
        'Android/academy-2024-11-18_assets_all_*.bundle',
      ],
      ['ui_23456789.bundle', 'ui_*.bundle'],
      ['ui_2024991812.bundle', 'ui_*.bundle'],
      ['CAB-0f3cab12e9d84c7b95a1e0d2c3b4a596', 'CAB-*'],
      ['a/0f3cab12e9d84c7b/b/1f3cab12e9d84c7b.json', 'a/*/b/*.json'],
    ])('replaces the hash of %s', (name, expected) => {
      expect(stableName(name)).toBe(expected);
    });

    it.each([
      'Scenario/Scene0001.json',
      'TableBundles/Localize20240918.bytes',
      'defacedefacedefaced.txt',
      'Windows_PatchPack/FullPack_0001.bundle',
      'event_20240918/text.csv',
      'news_20240918.csv',
      'news_2024091823.csv',
      'Scene_00001234.json',
      'x0f3cab12e9d84c7b95a1e0d2c3b4a596.bundle',
    ])('keeps %s', (name) => {
      expect(stableName(name)).toBe(name);
    });
  });

  describe('stableNames', () => {
    it('keeps the exact names of siblings that would share a stable name', () => {
      const names = [
        'a_0f3cab12e9d84c7b.bundle',
        'a_1f3cab12e9d84c7b.bundle',
        'b_2f3cab12e9d84c7b.bundle',
        'c_*.bundle',
        'c_3f3cab12e9d84c7b.bundle',
        'd.bundle',
      ];
      const stable = stableNames(() => names);
      expect(names.map((name) => [name, stable.keyOf(name), stable.isAmbiguous(name)])).toEqual([
        ['a_0f3cab12e9d84c7b.bundle', 'a_0f3cab12e9d84c7b.bundle', true],
        ['a_1f3cab12e9d84c7b.bundle', 'a_1f3cab12e9d84c7b.bundle', true],
        ['b_2f3cab12e9d84c7b.bundle', 'b_*.bundle', false],
        ['c_*.bundle', 'c_*.bundle', true],
        ['c_3f3cab12e9d84c7b.bundle', 'c_3f3cab12e9d84c7b.bundle', true],
        ['d.bundle', 'd.bundle', false],
      ]);
    });
  });
});
