import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDestination } from '../../../../src/domain/release/destination.ts';
import type { ManifestEntry } from '../../../../src/domain/release/manifest.ts';
import { indexEntries } from '../../../support/index-entries.ts';
import type { ManifestIndex } from '../../../../src/snapshot/manifest/manifest-index.ts';
import {
  SAMPLE_SNAPSHOT,
  sampleDigest,
  sampleEntry,
  sampleHeader,
  sortEntries,
} from '../../../support/sample-entries.ts';

function indexOf(entries: readonly ManifestEntry[]): ManifestIndex {
  return indexEntries(sampleHeader(entries, { channel: 'localized' }), SAMPLE_SNAPSHOT, entries);
}

/** Destinations as in real releases, and as an attacker would choose them. */
const destinations = fc
  .uniqueArray(
    fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
      fc
        .string({ unit: 'grapheme', minLength: 1, maxLength: 6 })
        .map((end) => `${'long/shared/prefix/'.repeat(8)}${end}`),
      fc.constantFrom('a', 'b', 'a/b', 'ab', '日本語.json', '𝔸/𝔹', '\ufffd', '\uffee', '😀', 'é', 'a\ufffd'),
    ),
    { maxLength: 60 },
  )
  .map((texts) => texts.filter((text) => parseDestination(text).ok));

describe('ManifestIndex', () => {
  it('finds and returns exactly the entries of a Map of the same entries', () => {
    fc.assert(
      fc.property(
        destinations,
        fc.array(fc.string({ unit: 'binary', maxLength: 30 })),
        fc.infiniteStream(
          fc.record({
            size: fc.oneof(
              fc.nat({ max: 3_000_000 }),
              fc.constantFrom(0, 1_048_576, 1_048_577, Number.MAX_SAFE_INTEGER),
            ),
            source: fc.constantFrom('official' as const, 'localized' as const),
            media_type: fc.constantFrom('application/json', 'text/plain; charset=utf-8', 'image/png'),
          }),
        ),
        (texts, others, shapes) => {
          const entries = sortEntries(texts.map((text) => sampleEntry(text, shapes.next().value)));
          const index = indexOf(entries);
          const expected = new Map(entries.map((entry, position) => [entry.destination as string, position]));
          expect(index.length).toBe(entries.length);
          expect(index.entries(0, entries.length)).toEqual(entries);
          for (const text of [...texts, ...others, ...texts.map((text) => `${text}x`)]) {
            expect(index.find(text)).toBe(expected.get(text) ?? -1);
          }
          for (const [position, entry] of entries.entries()) {
            expect(index.findDigests([entry.blake3]).get(entry.blake3)).toEqual([position]);
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  it('rejects a lone surrogate as destination, although its bytes would be those of U+FFFD', () => {
    const index = indexOf([sampleEntry('a\ufffd')]);
    expect(index.find('a\ufffd')).toBe(0);
    expect(index.find('a\ud800')).toBe(-1);
    expect(index.find('x'.repeat(5000))).toBe(-1);
    expect(index.find('日'.repeat(1024))).toBe(-1);
    expect(index.find('')).toBe(-1);
  });

  it('finds every position of some digests', () => {
    const blake3 = sampleDigest('shared');
    const entries = ['a', 'b', 'c', 'd'].map((name) =>
      sampleEntry(name, { size: 7, ...(name === 'b' ? {} : { blake3 }) }),
    );
    const found = indexOf(entries).findDigests([sampleDigest('absent'), blake3, entries[1]!.blake3]);
    expect([...found.values()]).toEqual([[], [0, 2, 3], [1]]);
  });

  it('finds every entry by the first byte of its digest, in parts of the manifest', () => {
    const entries = sortEntries(
      Array.from({ length: 1000 }, (_, at) => sampleEntry(`entry-${at}`, { blake3: sampleDigest(`${at}`) })),
    );
    const index = indexOf(entries);
    const found: number[] = [];
    for (let firstByte = 0; firstByte < 256; firstByte += 1) {
      for (const [from, to] of [
        [0, 300],
        [300, 2000],
      ] as const) {
        for (const position of index.findDigestsOf(firstByte, from, to)) {
          expect(Number.parseInt(index.blake3(position).slice(0, 2), 16)).toBe(firstByte);
          found.push(position);
        }
      }
    }
    expect(found.sort((left, right) => left - right)).toEqual(entries.map((_, position) => position));
  });

  it('gives pages, empty past the end, and refuses positions that do not exist', () => {
    const entries = ['a', 'b', 'c'].map((name) => sampleEntry(name, { size: 1 }));
    const index = indexOf(entries);
    expect(index.entries(1, 1).map(({ destination }) => destination)).toEqual(['b']);
    expect(index.entries(2, 100)).toHaveLength(1);
    expect(index.entries(3, 100)).toEqual([]);
    expect(index.entries(1_000_000, 100)).toEqual([]);
    for (const position of [-1, 3, 0.5, Number.NaN]) expect(() => index.entry(position)).toThrow(RangeError);
    expect(indexOf([]).find('a')).toBe(-1);
  });

  it('refuses entries out of order, repeated, or more or fewer than announced', () => {
    const [a, b] = [sampleEntry('a', { size: 1 }), sampleEntry('b', { size: 1 })];
    expect(() => indexOf([b, a])).toThrow('byte order');
    expect(() => indexOf([a, a])).toThrow('twice');
    expect(() => indexEntries(sampleHeader([a]), SAMPLE_SNAPSHOT, [a, b])).toThrow('more entries');
    expect(() => indexEntries(sampleHeader([a, b]), SAMPLE_SNAPSHOT, [a])).toThrow('header says 2');
    // U+FFFD is before an astral character in UTF-8, and after it in UTF-16.
    expect(indexOf([sampleEntry('\ufffd'), sampleEntry('😀')]).find('😀')).toBe(1);
    expect(() => indexOf([sampleEntry('😀'), sampleEntry('\ufffd')])).toThrow('byte order');
  });

  it('costs at most 65 bytes per entry when destinations share their beginnings', () => {
    const entries = sortEntries(
      Array.from({ length: 20_000 }, (_, i) =>
        sampleEntry(`a/folder/of/some/depth/with/a/long/name/file-${i}`, { size: 1 }),
      ),
    );
    expect(indexOf(entries).memoryBytes / entries.length).toBeLessThan(65);
  });
});
