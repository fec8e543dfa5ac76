import { describe, expect, it } from 'vitest';
import { createNameSearch, nameForms } from '../../../../../src/daemon/localized/catalogs/name-search.ts';
import { seededBytes } from '../../../../support/generate-release.ts';

const NAMES = ['texts.csv', 'more texts.csv', 'シナリオ.zip', 'a', 'ab', '5c1b0f', 'x"y.json', '100%.bin'];

describe('the search of names', () => {
  it('finds every form of every name at the start, within and at the end, and no other name', () => {
    const search = createNameSearch(NAMES);
    const contained = (name: string): readonly string[] =>
      NAMES.filter((other) =>
        nameForms(name).some((form) => nameForms(other).some((part) => form.includes(part))),
      );
    for (const name of NAMES) {
      for (const form of nameForms(name)) {
        for (const bytes of [
          form,
          Buffer.concat([form, Buffer.from('\n')]),
          Buffer.concat([Buffer.of(7), form]),
        ]) {
          const found = search.find(bytes);
          expect(found).toContain(name);
          expect(contained(name)).toEqual(expect.arrayContaining([...found]));
        }
      }
    }
    expect(search.find(Buffer.from('texts.cs'))).toEqual(new Set());
    expect(search.find(Buffer.alloc(0))).toEqual(new Set());
    expect(createNameSearch([]).find(Buffer.from('texts.csv'))).toEqual(new Set());
  });

  it('finds the same as a search of each name alone', () => {
    const alphabet = ['a', 'b', '.csv', '\0', 'texts', '5c1b', '0f', 'シ', 'ナリオ.zip', ' '];
    const search = createNameSearch(NAMES);
    for (let round = 0; round < 500; round += 1) {
      const parts = Array.from(
        seededBytes(`names ${round}`, 12),
        (byte) => alphabet[byte % alphabet.length]!,
      );
      const bytes = Buffer.from(parts.join(''), round % 3 === 0 ? 'utf16le' : 'utf8');
      const alone = NAMES.filter((name) => nameForms(name).some((form) => bytes.includes(form)));
      expect([...search.find(bytes)].toSorted()).toEqual(alone.toSorted());
    }
  });
});
