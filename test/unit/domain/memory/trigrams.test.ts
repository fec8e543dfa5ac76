import { describe, expect, it } from 'vitest';
import { rarestTrigrams, searchedTrigrams, trigramsOf } from '../../../../src/domain/memory/trigrams.ts';

describe('trigrams', () => {
  it('are three code points, each once', () => {
    expect(trigramsOf('😀ab😀ab')).toEqual(['😀ab', 'ab😀', 'b😀a']);
    expect(trigramsOf('ab')).toEqual([]);
  });

  it('are searched outside of placeholders where possible, folded', () => {
    expect(searchedTrigrams('ＡＢＣ{name}x')).toEqual(['abc']);
    expect(searchedTrigrams('a{0}b')).toEqual(['a{0', '{0}', '0}b']);
  });
});

describe('rarestTrigrams', () => {
  const frequencies = new Map(Object.entries({ abc: 50, bcd: 0, cde: 3, def: 10, efg: 100 }));

  it('chooses the rarest that some record has', () => {
    expect(rarestTrigrams(frequencies, { count: 2, records: 1000 })).toEqual(['cde', 'def']);
  });

  it('stays within the bound of records, and chooses at least one', () => {
    expect(rarestTrigrams(frequencies, { count: 8, records: 20 })).toEqual(['cde', 'def']);
    expect(rarestTrigrams(new Map([['abc', 50]]), { count: 8, records: 20 })).toEqual(['abc']);
    expect(rarestTrigrams(new Map([['abc', 0]]), { count: 8, records: 20 })).toEqual([]);
  });
});
