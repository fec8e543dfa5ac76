import { describe, expect, it } from 'vitest';
import { createNameSearch, nameForms } from '../../../../../src/daemon/localized/catalogs/name-search.ts';
import { seededBytes } from '../../../../support/generate-release.ts';

const NAMES = ['texts.csv', 'more texts.csv', 'シナリオ.zip', 'a', 'ab', '5c1b0f', 'x"y.json', '100%.bin'];
const LONG_NAMES = [
  'scenario_5c1b0f.bundle',
  'my scenario_5c1b0f.bundle',
  'scenario_5c1b0f.bundle.manifest',
  'table.bytes',
];

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

  // With a short name every place is looked at; without one most are skipped.
  it.for([NAMES, LONG_NAMES])('finds the same as a search of each name alone: %j', (names) => {
    const parts = names.flatMap((name) => [name, name.slice(0, -1), name.slice(1), name.slice(3, 7)]);
    const alphabet = [...parts, '.csv', '\0', '5c1b', 'シ', ' '];
    const search = createNameSearch(names);
    let hits = 0;
    for (let round = 0; round < 1000; round += 1) {
      const picked = Array.from(
        seededBytes(`names ${round}`, 12),
        (byte) => alphabet[byte % alphabet.length]!,
      );
      const bytes = Buffer.from(picked.join(''), round % 3 === 0 ? 'utf16le' : 'utf8');
      const alone = names.filter((name) => nameForms(name).some((form) => bytes.includes(form)));
      expect([...search.find(bytes)].toSorted()).toEqual(alone.toSorted());
      hits += alone.length;
    }
    expect(hits).toBeGreaterThan(1000);
  });
});
