import { describe, expect, it } from 'vitest';
import { stableName, stableNames } from '../../../../src/domain/text/stable-name.ts';

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
