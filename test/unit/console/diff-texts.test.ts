import { describe, expect, it } from 'vitest';
import { countChanges, diffTexts, type DiffPart } from '../../../src/console/text/diff-texts.ts';

function render(parts: readonly DiffPart[]): string {
  const signs = { same: ['', ''], removed: ['[-', '-]'], added: ['{+', '+}'] } as const;
  return parts.map(({ kind, text }) => signs[kind][0] + text + signs[kind][1]).join('');
}

function side(parts: readonly DiffPart[], without: DiffPart['kind']): string {
  return parts.flatMap(({ kind, text }) => (kind === without ? [] : text)).join('');
}

describe('the difference of two texts', () => {
  it('is nothing for equal texts', () => {
    expect(diffTexts('', '')).toEqual([]);
    expect(render(diffTexts('同じ', '同じ'))).toBe('同じ');
  });

  it('names the characters', () => {
    expect(render(diffTexts('先生、{0}を頼みます。', '先生、{0}をお願いします。'))).toBe(
      '先生、{0}を[-頼み-]{+お願いし+}ます。',
    );
    expect(render(diffTexts('abc', 'abxc'))).toBe('ab{+x+}c');
    expect(render(diffTexts('abc', ''))).toBe('[-abc-]');
  });

  it('keeps placeholders, tags and composed characters whole', () => {
    expect(render(diffTexts('<b>{0}</b>', '<i>{1}</b>'))).toBe('[-<b>{0}-]{+<i>{1}+}</b>');
    expect(render(diffTexts('👩‍👩‍👧', '👩‍👩‍👦'))).toBe('[-👩‍👩‍👧-]{+👩‍👩‍👦+}');
  });

  it('does not keep single letters that are equal by chance', () => {
    expect(render(diffTexts('please take care of it', 'please look after it'))).not.toMatch(/\][a-z]\{/);
  });

  it('gives both texts back, whatever they are', () => {
    let seed = 3;
    const next = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % below;
    };
    const word = (): string => ['a', 'b', '漢', '{0}', '\ud83d', '\ude00', '\n'][next(7)] ?? '';
    for (let round = 0; round < 400; round += 1) {
      const [before, after] = [0, 1].map(() => Array.from({ length: next(14) }, word).join('')) as [
        string,
        string,
      ];
      const parts = diffTexts(before, after);
      expect(side(parts, 'added')).toBe(before);
      expect(side(parts, 'removed')).toBe(after);
    }
  });

  it('of long texts that have nothing in common takes bounded time', () => {
    let seed = 11;
    const noise = (length: number, from: number): string =>
      Array.from({ length }, () => {
        seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
        return String.fromCodePoint(from + (seed % 3000));
      }).join('');
    const start = process.cpuUsage().user;
    for (const [before, after] of [
      [noise(10_000, 0x4e00), noise(10_000, 0x4e00)],
      [noise(262_144, 0x4e00), noise(262_144, 0x4e00)],
      ['a '.repeat(5000), 'b '.repeat(5000)],
    ] as const) {
      const parts = diffTexts(before, after);
      expect(side(parts, 'added')).toBe(before);
      expect(side(parts, 'removed')).toBe(after);
    }
    expect(process.cpuUsage().user - start).toBeLessThan(4_000_000);
  });

  it('of a long text with one change names this change', () => {
    const text = 'All of these words are equal. '.repeat(330);
    const changed = `${text.slice(0, 5000)}changed${text.slice(5003)}`;
    expect(countChanges(diffTexts(text, changed)).added).toBeLessThan(10);
  });
});
