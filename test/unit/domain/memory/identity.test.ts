import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CONTEXT_KEYS, contextKeyOf, identityOf } from '../../../../src/domain/memory/identity.ts';
import { normalText } from '../../../../src/domain/text/normal-text.ts';

const PAIR = { source_language: 'ja', target_language: 'zh-Hans' };

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

describe('the identity of a record', () => {
  it('property: does not depend on the order of the context, nor on keys that identify no place', () => {
    const context = fc.dictionary(fc.constantFrom(...CONTEXT_KEYS), fc.string());
    fc.assert(
      fc.property(context, fc.dictionary(fc.string({ minLength: 20 }), fc.string()), (known, other) => {
        const turned = Object.fromEntries(Object.entries({ ...other, ...known }).toReversed());
        expect(contextKeyOf(turned, digest)).toBe(contextKeyOf(known, digest));
      }),
    );
  });

  it('property: changes with every value of the context', () => {
    const value = fc.string();
    fc.assert(
      fc.property(fc.constantFrom(...CONTEXT_KEYS), value, value, (key, left, right) => {
        fc.pre(normalText(left) !== normalText(right));
        expect(contextKeyOf({ [key]: left }, digest)).not.toBe(contextKeyOf({ [key]: right }, digest));
      }),
    );
  });

  it('property: is one for texts that are equal after normalization, and differs for all others', () => {
    const text = fc.string({ unit: fc.constantFrom('か', '\u3099', 'が', '\r', '\n', 'a', ' ', 'Ａ') });
    fc.assert(
      fc.property(text, text, (left, right) => {
        const [first, second] = [normalText(left), normalText(right)];
        const isEqual = identityOf(PAIR, first, '', digest) === identityOf(PAIR, second, '', digest);
        expect(isEqual).toBe(first === second);
      }),
    );
  });

  it('differs between languages, and between a default record and one with context', () => {
    const identities = [
      identityOf(PAIR, 'はい', '', digest),
      identityOf({ ...PAIR, target_language: 'ko' }, 'はい', '', digest),
      identityOf(PAIR, 'はい', contextKeyOf({ speaker: 'A' }, digest), digest),
    ];
    expect(new Set(identities).size).toBe(3);
    expect(contextKeyOf({}, digest)).toBe('');
    expect(contextKeyOf({ note: 'x' }, digest)).toBe('');
  });
});
