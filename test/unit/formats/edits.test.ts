import { describe, expect, it } from 'vitest';
import { createRandom, type Random } from '../../../demo/game/seeded-random.ts';
import { bytesSource } from '../../../src/formats/byte-source.ts';
import { DOTTED_SYNTAX, POINTER_SYNTAX } from '../../../src/formats/collect/path-syntax.ts';
import { patchCsv } from '../../../src/formats/csv/patch-csv.ts';
import { patchJson } from '../../../src/formats/json/patch-json.ts';
import { findPlaces, type FieldEdit, type ValueEdit } from '../../../src/formats/patch/find-places.ts';
import { nestEdits } from '../../../src/formats/patch/nest-edits.ts';
import { joinPieces, newPiece, pieceChunks } from '../../../src/formats/patch/output-pieces.ts';
import { PatchError, type PatchErrorCode } from '../../../src/formats/patch/patch-error.ts';
import { spliceSource, type Splice } from '../../../src/formats/patch/spliced-source.ts';
import type { ValueVisitor } from '../../../src/formats/value-visitor.ts';

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

const edit = (fieldPath: string): FieldEdit => ({ fieldPath, source: 'い', target: 'a "new", text' });

describe('nestEdits', () => {
  it.for([
    ['m_Script#/lines/0', 'm_Script', '/lines/0'],
    ['a["x#\\"]#"].b#row[0].t', 'a["x#\\"]#"].b', 'row[0].t'],
    [`["t"]['it''s #]',1].text#/a#/b`, `["t"]['it''s #]',1].text`, '/a#/b'],
    ["t[x'00ff'].c#", "t[x'00ff'].c", ''],
    ['/x#line[0]', '/x', 'line[0]'],
  ] as const)('splits %j into %j and %j', ([path, outer, inner]) => {
    const found: unknown[] = [];
    const edits = nestEdits([edit(path)], 'dotted', ({ fieldPath, fieldName, value }, inside) => {
      expect(fieldName).toBe('data');
      found.push([fieldPath, inside.map((each) => each.fieldPath)]);
      return value;
    });
    for (const each of edits) if ('patch' in each) each.patch('', 'data');
    expect([edits.map(({ fieldPath }) => fieldPath), found]).toEqual([[outer], [[outer, [inner]]]]);
  });

  it('leaves the edits of the file itself as they are', () => {
    const own = [edit('a["#"].b'), edit("t['#'].c"), edit('rows[0]')];
    expect(nestEdits(own, 'dotted', ({ value }) => value)).toEqual(own);
  });

  it('patches JSON in a table in JSON, each level in its own style', () => {
    const json = JSON.stringify({ t: 'い', u: 'う' });
    const table = `id,data\r\n1,"${json.replaceAll('"', '""')}"\r\n`;
    const file = JSON.stringify({ text: 'い', table });
    const edits = [edit('/text'), edit('/table#row[0].data#/t')];
    const patched = patchJson(
      file,
      nestEdits(edits, 'pointer', (outer, inTable) =>
        patchCsv(
          String(outer.value),
          nestEdits(inTable, 'dotted', (inner, inJson) => patchJson(String(inner.value), inJson)),
          { delimiter: ',', header: true },
        ),
      ),
    );
    const newJson = JSON.stringify({ t: 'a "new", text', u: 'う' });
    const newTable = `id,data\r\n1,"${newJson.replaceAll('"', '""')}"\r\n`;
    expect(patched).toBe(JSON.stringify({ text: 'a "new", text', table: newTable }));
  });
});

describe('the pieces of an output', () => {
  it('joins copied and new bytes, in chunks of at most 1 MiB', () => {
    const large = Buffer.alloc(3 * 1024 * 1024, 'abc');
    const pieces = [
      { source: bytesSource(large), offset: 1, length: large.length - 1 },
      newPiece(Buffer.from('new')),
      newPiece(Buffer.alloc(0)),
    ];
    expect(joinPieces(pieces).equals(Buffer.concat([large.subarray(1), Buffer.from('new')]))).toBe(true);
    const sizes = Array.from(pieceChunks(pieces), ({ length }) => length);
    expect(sizes).toEqual([1024 * 1024, 1024 * 1024, 1024 * 1024 - 1, 3]);
  });
});

function splice(offset: number, length: number, text: string): Splice {
  return { offset, length, bytes: Buffer.from(text) };
}

function randomSplices(random: Random, size: number): Splice[] {
  const splices: Splice[] = [];
  let at = random.below(20);
  while (at < size) {
    const length = Math.min(size - at, random.below(30));
    splices.push({ offset: at, length, bytes: random.bytes(random.below(40)) });
    at += length + random.pick([0, 1, 5, 500, 200_000]);
  }
  return splices;
}

/** The same, on the whole. */
function spliced(base: Buffer, splices: readonly Splice[]): Buffer {
  const parts: Uint8Array[] = [];
  let at = 0;
  for (const { offset, length, bytes } of splices) {
    parts.push(base.subarray(at, offset), bytes);
    at = offset + length;
  }
  return Buffer.concat([...parts, base.subarray(at)]);
}

describe('spliceSource', () => {
  it('reads every range as if the bytes had been joined', () => {
    const random = createRandom(16);
    for (let round = 0; round < 30; round += 1) {
      const base = random.bytes(random.pick([0, 10, 1000, 300_000]));
      const splices = randomSplices(random, base.length);
      const expected = spliced(base, splices);
      const source = spliceSource(bytesSource(base), splices);
      expect(source.size).toBe(expected.length);
      expect(source.read(0, source.size).equals(expected)).toBe(true);
      for (let read = 0; read < 50 && expected.length > 0; read += 1) {
        const from = random.below(expected.length);
        const length = random.below(expected.length - from + 1);
        expect(source.read(from, length).equals(expected.subarray(from, from + length))).toBe(true);
      }
      for (const { from, to, length } of source.keptRanges()) {
        expect(expected.subarray(to, to + length).equals(base.subarray(from, from + length))).toBe(true);
      }
    }
  });

  it('inserts in front of, within and behind the bytes', () => {
    const source = spliceSource(bytesSource(Buffer.from('abc')), [
      splice(0, 0, '1'),
      splice(1, 1, '23'),
      splice(3, 0, '4'),
    ]);
    expect(source.read(0, source.size).toString()).toBe('1a23c4');
    expect([...source.keptRanges()]).toEqual([
      { from: 0, to: 1, length: 1 },
      { from: 2, to: 4, length: 1 },
    ]);
  });

  it('copies nothing where a range has no splice', () => {
    const base = Buffer.from('abcdef');
    const source = spliceSource(bytesSource(base), [splice(1, 1, 'xyz')]);
    expect(source.read(4, 3).buffer).toBe(base.buffer);
    expect(source.read(4, 3).toString()).toBe('cde');
  });

  it('refuses splices that overlap or do not fit, and ranges that do not', () => {
    const base = bytesSource(Buffer.from('abcdef'));
    expect(() => spliceSource(base, [splice(0, 3, ''), splice(2, 1, '')])).toThrow(RangeError);
    expect(() => spliceSource(base, [splice(5, 2, '')])).toThrow(RangeError);
    expect(() => spliceSource(base, [splice(0, 6, 'x')]).read(0, 2)).toThrow(RangeError);
  });
});
