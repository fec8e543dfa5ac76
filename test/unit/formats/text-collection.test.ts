import { describe, expect, it } from 'vitest';
import { createRandom, type Random } from '../../../demo/game/seeded-random.ts';
import { DOTTED_SYNTAX, POINTER_SYNTAX, type PathSyntax } from '../../../src/formats/collect/path-syntax.ts';
import { PathVisitor } from '../../../src/formats/patch/find-places.ts';
import { TextCollector, type CollectorOptions } from '../../../src/formats/collect/text-collector.ts';
import { SNIFFED_BYTES, sniffFormat } from '../../../src/formats/sniff.ts';
import type { ValueVisitor } from '../../../src/formats/value-visitor.ts';
import { writeZip } from '../../support/write-zip.ts';

const utf16 = (text: string): Buffer => Buffer.from(`\uFEFF${text}`, 'utf16le');
const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');
/** The start of a SerializedFile: big endian, version 21 or 22. */
const serialized = (version: number): Buffer => {
  const head = Buffer.alloc(48);
  head.writeUInt32BE(1_000, 0);
  head.writeUInt32BE(version, 8);
  return head;
};

describe('sniffFormat', () => {
  it.each([
    ['unity', bytes('UnityFS\0\0\0\0\u0008'), 'a.json'],
    ['unity', bytes('UnityWeb\0'), 'a'],
    ['unity', bytes('UnityRaw\0'), 'a'],
    ['unity', bytes('UnityArchive\0'), 'a'],
    ['serialized', serialized(21), 'level0'],
    ['serialized', serialized(22), 'a.json'],
    ['zip', writeZip([{ name: 'a' }]), 'a.png'],
    ['zip', writeZip([]), 'a'],
    ['xlsx', writeZip([{ name: '[Content_Types].xml' }]), 'a.xlsx'],
    ['office', writeZip([{ name: 'mimetype' }]), 'table.ods'],
    ['zip', writeZip([{ name: 'mimetype' }]), 'book.epub'],
    ['sqlite', bytes('SQLite format 3\0'), 'a.bytes'],
    ['json', Buffer.from('{"a":1}'), 'a.bytes'],
    ['json', Buffer.from('\uFEFF [ {'), 'a'],
    ['json', Buffer.from('not json'), 'a.JSON'],
    ['json', utf16('{"a":1}'), 'a'],
    ['csv', Buffer.from('a,b'), 'folder.d/a.csv'],
    ['csv', Buffer.of(0x8a, 0xbf, 0x2c, 0x31), 'cp932.csv'],
    ['csv', utf16('a,b'), 'a.csv'],
    ['tsv', Buffer.from('a\tb'), 'a.tsv'],
    ['text', Buffer.from('こんにちは'), 'a.bytes'],
    ['text', Buffer.from('[scene] こんにちは'), 'a'],
    ['text', Buffer.from('{0} こんにちは'), 'a'],
    ['text', Buffer.from('RIFF is the first word'), 'readme'],
    ['text', utf16('こんにちは'), 'a'],
    ['text', Buffer.of(0x8a, 0xbf), 'cp932.txt'],
    ['binary', bytes('\u0089PNG\r\n\u001A\n\0'), 'a.txt'],
    ['binary', bytes('\u00FF\u00D8\u00FF\u00E0'), 'a'],
    ['binary', bytes('OggS\0\u0002'), 'a'],
    ['binary', bytes('\0\0\0\u0020ftypisom'), 'a.mp4'],
    ['binary', bytes('RIFF\u0024\0\0\0WAVE'), 'a.wav'],
    ['binary', bytes('\0asm\u0001\0\0\0'), 'a.wasm'],
    ['binary', bytes('\u007FELF\u0002\u0001\u0001\0'), 'a'],
    ['binary', bytes('MZ\u0090\0'), 'a.dll'],
    ['binary', bytes('ID3\u0003\0'), 'a.mp3'],
    ['binary', bytes('@UTF\0\0'), 'a.acb'],
    ['unknown', Buffer.alloc(0), 'a'],
    ['unknown', Buffer.of(1, 2, 3), 'a'],
    ['unknown', Buffer.of(0x8a, 0xbf), 'a'],
    ['unknown', Buffer.of(0x61, 0, 0x62), 'a.txt'],
  ])('finds %s', (format, head, name) => {
    expect(sniffFormat(head, name)).toBe(format);
  });

  it('accepts a head that ends within a character, and ignores what follows the head', () => {
    const text = Buffer.from('あ'.repeat(SNIFFED_BYTES));
    expect(SNIFFED_BYTES % 3).not.toBe(0);
    expect(sniffFormat(text.subarray(0, SNIFFED_BYTES), 'a')).toBe('text');
    expect(sniffFormat(Buffer.concat([text, Buffer.alloc(9)]), 'a')).toBe('text');
  });
});

/** Reports a random value to several visitors. */
function visitValue(random: Random, visitors: readonly ValueVisitor[], depth: number): void {
  const kind = random.below(depth === 0 ? 4 : 6);
  const each = (call: (visitor: ValueVisitor) => void): void => visitors.forEach(call);
  if (kind <= 1) each((visitor) => visitor.text('t', 0, 1));
  else if (kind === 2) each((visitor) => visitor.integer(5));
  else if (kind === 3) each((visitor) => visitor.other());
  else if (kind === 4) {
    each((visitor) => visitor.beginObject());
    for (let count = random.below(4); count > 0; count -= 1) {
      const name = random.pick(['a', 'b.c', '', 'd#', 'e/~', 'm_Text']);
      each((visitor) => visitor.field(name));
      visitValue(random, visitors, depth - 1);
    }
    each((visitor) => visitor.endObject());
  } else {
    each((visitor) => visitor.beginArray());
    for (let count = random.below(4); count > 0; count -= 1) {
      const name = random.below(3) === 0 ? random.pick(['"row 1"', '7']) : null;
      if (name !== null) each((visitor) => visitor.element(name));
      visitValue(random, visitors, depth - 1);
    }
    each((visitor) => visitor.endArray());
  }
}

describe('PathVisitor', () => {
  it('makes the paths that the collector of the parser makes', () => {
    const random = createRandom(16);
    let compared = 0;
    for (let round = 0; round < 2000; round += 1) {
      const syntax = random.pick([DOTTED_SYNTAX, POINTER_SYNTAX]);
      const collector = new TextCollector({
        syntax,
        rowKeys: [],
        speakerFields: new Set(),
        sceneFields: new Set(),
        isCandidate: () => true,
        mayNest: () => false,
      });
      const paths: string[] = [];
      const visitor = new PathVisitor(syntax, (_value, _start, _end, path) => void paths.push(path()));
      visitValue(random, [collector, visitor], 5);
      expect(paths).toEqual(collector.finish().texts.map(({ fieldPath }) => fieldPath));
      compared += paths.length;
    }
    expect(compared).toBeGreaterThan(1000);
  });
});

const DEFAULT_ROW_KEYS = [['id'], ['Id'], ['key']];

/** Reports a plain value to a collector, as a reader would. */
function visit(collector: TextCollector, value: unknown): void {
  if (typeof value === 'string') collector.text(value, 0, value.length);
  else if (typeof value === 'number' || typeof value === 'bigint') collector.integer(value);
  else if (value instanceof Uint8Array) collector.bytes(value, 0, value.length);
  else if (Array.isArray(value)) {
    collector.beginArray();
    for (const element of value) visit(collector, element);
    collector.endArray();
  } else if (typeof value === 'object' && value !== null) {
    collector.beginObject();
    for (const [name, field] of Object.entries(value)) {
      collector.field(name);
      visit(collector, field);
    }
    collector.endObject();
  } else collector.other();
}

function collect(value: unknown, options: Partial<CollectorOptions> = {}) {
  const collector = new TextCollector({
    syntax: POINTER_SYNTAX,
    rowKeys: DEFAULT_ROW_KEYS,
    speakerFields: new Set(['Speaker']),
    sceneFields: new Set(['Scene']),
    isCandidate: (text) => /[ぁ-ん]/.test(text),
    mayNest: () => false,
    ...options,
  });
  visit(collector, value);
  return collector.finish();
}

const paths = (value: unknown, syntax: PathSyntax = POINTER_SYNTAX, rowKeys = DEFAULT_ROW_KEYS): string[][] =>
  collect(value, { syntax, rowKeys }).texts.map(({ fieldPath, keyPath }) => [fieldPath, keyPath]);

describe('the text collector', () => {
  it('names the value that is the whole file by the empty path', () => {
    expect(paths('あ')).toEqual([['', '']]);
    expect(paths(['x', 'あ'])).toEqual([['/1', '/1']]);
  });

  it('writes the path as the format does', () => {
    const value = { 'a/b~': [{ 'c.d': 'あ' }, null, true, [1, 'い']] };
    expect(paths(value)).toEqual([
      ['/a~1b~0/0/c.d', '/a~1b~0/0/c.d'],
      ['/a~1b~0/3/1', '/a~1b~0/3/1'],
    ]);
    expect(paths(value, DOTTED_SYNTAX).map(([path]) => path)).toEqual(['a/b~[0]["c.d"]', 'a/b~[3][1]']);
  });

  it('names rows by the first key that tells most of them apart', () => {
    const rows = [
      { id: 1, Id: 'x', Text: 'あ' },
      { Id: 'y z', id: 1, Text: 'い' },
    ];
    expect(paths({ rows }).map(([, key]) => key)).toEqual(['/rows/Id=x/Text', '/rows/Id="y z"/Text']);
  });

  it('keeps the keys of the other rows when a row has no key, is not an object or cannot be read', () => {
    const keys = (rows: readonly unknown[]): string[] => paths({ rows }).map(([, key]) => key ?? '');
    const rows = [
      { Id: 'x', Text: 'あ' },
      { Id: 'y', Text: 'い' },
    ];
    const expected = ['/rows/Id=x/Text', '/rows/Id=y/Text'];
    expect(keys(rows)).toEqual(expected);
    expect(keys([null, ...rows, 7, [], 'x'])).toEqual(expected);
    expect(keys([...rows, { Text: 'う' }])).toEqual([...expected, '/rows/2/Text']);
    expect(keys([{ Text: 'う' }, { Text: 'え' }, ...rows])).toEqual([
      '/rows/0/Text',
      '/rows/1/Text',
      '/rows/2/Text',
      '/rows/3/Text',
    ]);
  });

  it('gives rows that share a key the same path, and changes no other row', () => {
    const rows = ['x', 'y', 'x', 'z', 'w'].map((Id) => ({ Id, Text: 'あ' }));
    expect(paths({ rows }).map(([, key]) => key)).toEqual(rows.map(({ Id }) => `/rows/Id=${Id}/Text`));
  });

  it('tells a key with `#` from a path that continues inside a string', () => {
    expect(paths({ 'm_Script#': { b: 'あ' } })).toEqual([['/m_Script~2/b', '/m_Script~2/b']]);
    expect(paths({ 'm_Script#': { b: 'あ' } }, DOTTED_SYNTAX).map(([path]) => path)).toEqual([
      '["m_Script#"].b',
    ]);
  });

  it('counts rows without a text, and keeps keys beyond 2^53 exact', () => {
    const rows = [
      { Id: 9_007_199_254_740_993n, Text: 'x' },
      { Id: 9_007_199_254_740_992n, Text: 'あ' },
    ];
    expect(paths(rows)).toEqual([['/1/Text', '/Id=9007199254740992/Text']]);
  });

  it('names rows by several fields together', () => {
    const rows = [
      { Group: 1, Line: 1, Text: 'あ' },
      { Group: 1, Line: 2, Text: 'い' },
    ];
    expect(
      paths(rows, DOTTED_SYNTAX, [
        ['Line', 'Missing'],
        ['Group', 'Line'],
      ]).map(([, key]) => key),
    ).toEqual(['[Group=1+Line=1].Text', '[Group=1+Line=2].Text']);
  });

  it('names rows of rows', () => {
    const value = [{ Id: 7, lines: [{ key: 'a', text: 'あ' }] }];
    expect(paths(value, DOTTED_SYNTAX)).toEqual([['[0].lines[0].text', '[Id=7].lines[key=a].text']]);
  });

  it('tells speaker and scene, in whatever order the fields come', () => {
    const value = { Scene: 's1', rows: [{ Text: 'あ', Speaker: 'Hoshino' }, { Text: 'い' }] };
    expect(collect(value).texts.map(({ speaker, scene }) => [speaker, scene])).toEqual([
      ['Hoshino', 's1'],
      [null, 's1'],
    ]);
  });

  it('drops strings that are not candidates, and keeps fields that can hold a file', () => {
    const value = { m_Name: 'x', m_Script: '{}', data: new Uint8Array(2), Text: 'あ' };
    const { texts, dropped } = collect(value, { mayNest: (name) => name === 'm_Script' || name === 'data' });
    expect(texts.map(({ fieldPath }) => fieldPath)).toEqual(['/m_Script', '/data', '/Text']);
    expect(dropped).toBe(1);
  });

  it('takes the name of an element from the format', () => {
    const collector = new TextCollector({
      syntax: DOTTED_SYNTAX,
      rowKeys: DEFAULT_ROW_KEYS,
      speakerFields: new Set(),
      sceneFields: new Set(),
      isCandidate: () => true,
      mayNest: () => false,
    });
    collector.beginObject();
    collector.field('dialog');
    collector.beginArray();
    for (const row of ['41', '7']) {
      collector.element(row);
      collector.beginObject();
      collector.field('text');
      collector.text('あ', 0, 1);
      collector.endObject();
    }
    collector.endArray();
    collector.endObject();
    expect(collector.finish().texts.map(({ fieldPath, keyPath }) => [fieldPath, keyPath])).toEqual([
      ['dialog[41].text', 'dialog[41].text'],
      ['dialog[7].text', 'dialog[7].text'],
    ]);
  });
});
