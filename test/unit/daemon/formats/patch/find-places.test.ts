import { describe, expect, it } from 'vitest';
import { DOTTED_SYNTAX, POINTER_SYNTAX } from '../../../../../src/daemon/formats/collect/path-syntax.ts';
import { findPlaces } from '../../../../../src/daemon/formats/patch/find-places.ts';
import { PatchError, type PatchErrorCode } from '../../../../../src/daemon/formats/patch/patch-error.ts';
import type { ValueEdit } from '../../../../../src/daemon/formats/patch/value-edit.ts';
import type { ValueVisitor } from '../../../../../src/daemon/formats/value-visitor.ts';

/** `{ rows: [{ text, note }, { text }], raw, twice, twice, files: [text] }` */
function read(visitor: ValueVisitor): void {
  visitor.beginObject();
  visitor.field('rows');
  visitor.beginArray();
  visitor.beginObject();
  visitor.field('text');
  visitor.text('a', 1, 2);
  visitor.field('note');
  visitor.text('a', 3, 4);
  visitor.endObject();
  visitor.beginObject();
  visitor.field('text');
  visitor.text('b', 5, 6);
  visitor.endObject();
  visitor.endArray();
  visitor.field('raw');
  visitor.bytes(Uint8Array.of(7), 8, 9);
  visitor.field('twice');
  visitor.text('c', 10, 11);
  visitor.field('twice');
  visitor.text('c', 12, 13);
  visitor.field('files');
  visitor.beginArray();
  visitor.text('{}', 14, 15);
  visitor.endArray();
  visitor.endObject();
}

function codeOf(edits: readonly ValueEdit[]): PatchErrorCode | null {
  try {
    findPlaces(edits, DOTTED_SYNTAX, read);
    return null;
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    return error.code;
  }
}

describe('findPlaces', () => {
  it('finds the places of texts and of files in fields, in the order of the file', () => {
    const edits: ValueEdit[] = [
      { fieldPath: 'raw', patch: (value) => Uint8Array.from([...Buffer.from(value), 1]) },
      { fieldPath: 'rows[1].text', source: 'b', target: 'B' },
      { fieldPath: 'rows[0].note', source: 'a', target: '' },
    ];
    const places = findPlaces(edits, DOTTED_SYNTAX, read);
    expect(places.map(({ start, end, source, target }) => [start, end, source, target])).toEqual([
      [3, 4, 'a', ''],
      [5, 6, 'b', 'B'],
      [8, 9, Uint8Array.of(7), Uint8Array.of(7, 1)],
    ]);
  });

  it('finds files in elements of arrays, and edits in any order', () => {
    const edits: ValueEdit[] = [
      { fieldPath: 'rows[0].text', source: 'a', target: 'x' },
      { fieldPath: 'rows[0].note', source: 'a', target: 'y' },
      { fieldPath: 'files[0]', patch: (value) => `${String(value)}!` },
    ];
    const placesOf = (each: readonly ValueEdit[]): unknown =>
      findPlaces(each, DOTTED_SYNTAX, read).map(({ start, target }) => [start, target]);
    const places = [
      [1, 'x'],
      [3, 'y'],
      [14, '{}!'],
    ];
    expect(placesOf(edits)).toEqual(places);
    expect(placesOf(edits.toReversed())).toEqual(places);
    expect(placesOf([])).toEqual([]);
  });

  it('takes paths in the syntax of the format', () => {
    const [place] = findPlaces(
      [{ fieldPath: '/rows/1/text', source: 'b', target: '' }],
      POINTER_SYNTAX,
      read,
    );
    expect(place?.start).toBe(5);
  });

  it.for<[PatchErrorCode, ValueEdit[]]>([
    ['place_not_found', [{ fieldPath: 'rows[2].text', source: 'a', target: 'x' }]],
    ['place_not_found', [{ fieldPath: 'rows[0]', patch: (value) => value }]],
    ['source_differs', [{ fieldPath: 'rows[1].text', source: 'a', target: 'x' }]],
    ['place_ambiguous', [{ fieldPath: 'twice', source: 'c', target: 'x' }]],
    ['character_not_allowed', [{ fieldPath: 'rows[0].text', source: 'a', target: '\uD83D' }]],
    [
      'place_ambiguous',
      [
        { fieldPath: 'rows[0].text', source: 'a', target: 'x' },
        { fieldPath: 'rows[0].text', source: 'a', target: 'x' },
      ],
    ],
  ])('refuses with %s', ([code, edits]) => {
    expect(codeOf(edits)).toBe(code);
  });
});
