import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  maskAlike,
  maskPlaceholders,
  MASK_STYLES,
  restorePlaceholders,
} from '../../../../src/domain/translation/placeholder-mask.ts';

const pieces =
  '{0} {name:{1}} %d %1$s <b> </b> <color=#fff> [[1]] <x id="1"/> \uE000 \uE001 { } [[ ]] < > 1 \0 あ 😀 \uD800'
    .split(' ')
    .concat('[[ 2 ]]', '<x id="7" />', ' ', '\n');
const texts = fc
  .array(fc.oneof(fc.constantFrom(...pieces), fc.string()), { maxLength: 20 })
  .map((all) => all.join(''));

describe.each(MASK_STYLES)('masks of the style %s', (style) => {
  const mask = (text: string) => maskPlaceholders(text, style)!;

  it('gives every text back', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const masked = mask(text);
        expect(restorePlaceholders(masked.text, masked, style)).toEqual({ ok: true, value: text });
      }),
      { numRuns: 2000 },
    );
  });

  it('hides every placeholder', () => {
    expect(mask('<b>{name}</b> has %d').text).not.toMatch(/name|%d|<b>|<\/b>/);
  });

  it('refuses a token that is lost, repeated, new or written out', () => {
    const masked = mask('{a} and {b}');
    const [first, second] = [mask('{a}').text, mask('{a}{b}').text.slice(mask('{a}').text.length)];
    const third = mask('{a}{b}{c}').text.slice(first.length + second.length);
    for (const wrong of [first, `${first}${second}${second}`, `${first}${second}${third}`, '{a} {b}', '']) {
      expect(restorePlaceholders(wrong, masked, style).ok, wrong).toBe(false);
    }
    expect(restorePlaceholders(`${second}, ${first}`, masked, style)).toEqual({
      ok: true,
      value: '{b}, {a}',
    });
  });

  it('gives equal placeholders one token and counts them', () => {
    const masked = mask('{a}{a}');
    expect(masked.originals).toEqual(['{a}']);
    expect(restorePlaceholders(mask('{a}').text, masked, style).ok).toBe(false);
  });

  it('masks an example with the same tokens, or not at all', () => {
    const { originals } = mask('{a} {b}');
    expect(maskAlike('{b}!', originals, style)).toBe(
      `${mask('{a}{b}').text.slice(mask('{a}').text.length)}!`,
    );
    expect(maskAlike('{c}', originals, style)).toBeNull();
  });

  it('refuses more placeholders than there are tokens', () => {
    const many = Array.from({ length: 6401 }, (_, index) => `{${index}}`);
    expect(maskPlaceholders(many.slice(1).join(''), style)).not.toBeNull();
    expect(maskPlaceholders(many.join(''), style)).toBeNull();
  });
});

it('takes a token with a space for the same token', () => {
  const masked = maskPlaceholders('{a}', 'xml')!;
  expect(restorePlaceholders('<x id="1" />', masked, 'xml')).toEqual({ ok: true, value: '{a}' });
});
