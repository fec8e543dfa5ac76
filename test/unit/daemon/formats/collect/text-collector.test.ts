import { describe, expect, it } from 'vitest';
import {
  DOTTED_SYNTAX,
  POINTER_SYNTAX,
  type PathSyntax,
} from '../../../../../src/daemon/formats/collect/path-syntax.ts';
import {
  TextCollector,
  type CollectorOptions,
} from '../../../../../src/daemon/formats/collect/text-collector.ts';

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
