import { gzipSync, deflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { ParsedUnit } from '../../../../src/localization/parse/container/parsed-container.ts';
import { compileRules } from '../../../../src/localization/parse/rules/compile-rules.ts';
import { parseRuleSchema } from '../../../../src/localization/parse/rules/parse-config.ts';
import { editOf } from '../../../support/frozen-edits.ts';
import { loadedRules, parseBytes, type TestRules } from '../../../support/parse-bytes.ts';
import { patchBytes, placesOf, unitsOf } from '../../../support/patch-bytes.ts';
import { SCRIPT_SAMPLES } from '../../../support/script-samples.ts';
import { zipOf } from '../../../support/zip-of.ts';

/** Encodes with the table of Python's name for Windows' Shift_JIS and the like, as literal bytes. */
const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex');
const short = ({ fieldPath, sourceText }: ParsedUnit): string => `${fieldPath} ${sourceText}`;
const keysOf = (units: readonly ParsedUnit[]): string[] =>
  units.map(({ keyPath }) => keyPath.split('\0').at(-1) ?? '');
const rule = (extra: object, destination = '**'): TestRules => ({
  configuration: { rules: [{ destination: [destination], ...extra }] },
});

const RPG_MAP = JSON.stringify({
  autoplayBgm: true,
  bgm: { name: '町', volume: 90 },
  displayName: '王都',
  note: 'メモ',
  events: [
    null,
    {
      id: 1,
      name: 'イベント',
      note: '',
      pages: [
        {
          list: [
            { code: 101, indent: 0, parameters: ['顔', 0, 0, 2, 'アロナ'] },
            { code: 401, indent: 0, parameters: ['こんにちは'] },
            { code: 102, indent: 0, parameters: [['はい', 'いいえ'], 1] },
            { code: 402, indent: 0, parameters: [0, 'はい'] },
            { code: 405, indent: 0, parameters: ['流れる文'] },
            { code: 108, indent: 0, parameters: ['注釈'] },
            { code: 241, indent: 0, parameters: [{ name: '曲' }] },
            { code: 320, indent: 0, parameters: [1, '新しい名前'] },
          ],
        },
      ],
    },
  ],
});
const RPG_LIST = (row: object): string => `[\nnull,\n{"id":1,${JSON.stringify(row).slice(1)}\n]`;

describe('the formats of engines and platforms', () => {
  it('are told by the names of files, without rules', async () => {
    const found = async (name: string, content: string): Promise<string> =>
      (await parseBytes(name, content)).outcome.format;
    expect(await found('a/first.ks', 'あ')).toBe('tyrano');
    expect(await found('script.rpy', 'あ')).toBe('renpy');
    expect(await found('a.yarn', 'あ')).toBe('yarn');
    expect(await found('a.properties', 'あ=い')).toBe('properties');
    expect(await found('ja.lproj/a.strings', '"あ" = "い";')).toBe('strings');
    expect(await found('ja.po', '')).toBe('po');
    expect(await found('res/values/a.xml', '<resources></resources>')).toBe('android');
    expect(await found('a.xml', '<other/>')).toBe('xml');
    expect(await found('a.dat', '<?xml version="1.0"?><other/>')).toBe('xml');
    expect(await found('a.resx', '<root/>')).toBe('resx');
    expect(await found('www/data/Map001.json', RPG_MAP)).toBe('rpg-maker');
    expect(await found('data/Items.json', RPG_LIST({ name: 'あ' }))).toBe('rpg-maker');
    expect(await found('data/Items.json', '[{"name":"あ"}]')).toBe('json');
    expect(await found('Items.json', RPG_LIST({ name: 'あ' }))).toBe('json');
  });

  it('read of RPG Maker what players see', async () => {
    const map = await parseBytes('data/Map001.json', RPG_MAP);
    expect(map.units.map(({ sourceText }) => sourceText)).toEqual([
      '王都',
      'アロナ',
      'こんにちは',
      'はい',
      'いいえ',
      '流れる文',
      '新しい名前',
    ]);
    expect(map.outcome.skipped).toMatchObject({ field_not_selected: 7 });
    const names = async (file: string, row: object): Promise<string[]> =>
      (await unitsOf(`data/${file}.json`, Buffer.from(RPG_LIST(row)))).map(short);
    expect(await names('Actors', { name: '名', nickname: '通称', note: 'メモ' })).toEqual([
      '/1/name 名',
      '/1/nickname 通称',
    ]);
    expect(await names('Troops', { name: 'コウモリ*2', members: [] })).toEqual([]);
    expect(await names('Tilesets', { name: '世界', mode: 1, note: '' })).toEqual([]);
  });

  it('read of Android and .NET the values of resources', async () => {
    const android = `<resources><string name="a">一</string><string name="b" translatable="false">二</string>
<string-array name="c"><item>三</item></string-array><plurals name="d"><item quantity="other">四</item></plurals><color name="色">#fff</color></resources>`;
    const { units } = await parseBytes('res/values/strings.xml', android);
    expect(units.map(({ sourceText }) => sourceText)).toEqual(['一', '三', '四']);
    expect(keysOf(units)).toEqual([
      '/resources[1]/@name=a/text()',
      '/resources[1]/@name=c/item[1]/text()',
      '/resources[1]/@name=d/@quantity=other/text()',
    ]);
    const resx =
      '<root><data name="A"><value>一</value><comment>注</comment></data><data name="B" type="T"><value>二</value></data></root>';
    expect((await unitsOf('a.resx', Buffer.from(resx))).map(short)).toEqual([
      '/root[1]/data[1]/value[1]/text() 一',
    ]);
  });

  it('give a text its speaker, its scene and a key that survives new lines', async () => {
    const [unit] = await unitsOf('a.yarn', Buffer.from('title: Start\n---\nArona: あ #line:7\n===\n'));
    expect(unit).toMatchObject({ speaker: 'Arona', scene: 'Start', fieldPath: 'line[2].text' });
    expect(keysOf(unit === undefined ? [] : [unit])).toEqual(['line[key="line:7"].text']);
  });
});

describe('rules for texts', () => {
  it('name the patterns of a script, with the place of a wrong one', async () => {
    const script = { patterns: [{ match: String.raw`^\s*(?<key>\w+)\s*=\s*"(?<text>[^"]*)"` }] };
    const units = await unitsOf(
      'a.lua',
      Buffer.from('return {\n  hello = "こんにちは",\n  n = 1 -- "注"\n}'),
      rule({ format: 'script', script }),
    );
    expect(units.map(short)).toEqual(['line[1].text こんにちは']);
    const problems = (extra: object): string[] =>
      parseRuleSchema
        .safeParse({ destination: ['**'], ...extra })
        .error?.issues.map(({ path, message }) => `${path.join('.')} ${message}`) ?? [];
    expect(problems({ format: 'script' })).toEqual(['script is needed for the format script']);
    expect(problems({ format: 'text', script })).toEqual(['script is only for the format script']);
    expect(problems({ format: 'script', script: { patterns: [{ match: 'a' }, { match: '(' }] } })).toEqual([
      expect.stringMatching(/^script\.patterns\.1\.match is no regular expression of RE2: /),
    ]);
  });

  it('choose texts by other fields of their object', async () => {
    const file = Buffer.from(
      JSON.stringify([
        { kind: 'say', text: 'あ' },
        { text: 'い', kind: 'file' },
        { text: 'う' },
        { kind: 3, more: { text: 'え' } },
      ]),
    );
    const textsBy = async (condition: object): Promise<string> => {
      const conditions = [{ fields: ['**/text'], sibling: 'kind', ...condition }];
      return (await unitsOf('a.json', file, rule({ conditions })))
        .map(({ sourceText }) => sourceText)
        .join('');
    };
    expect(await textsBy({ is: ['say', 3] })).toBe('あえ');
    expect(await textsBy({ is: ['*'] })).toBe('あいえ');
    expect(await textsBy({ isNot: ['file'] })).toBe('あうえ');
    expect(await textsBy({ isNot: ['*'] })).toBe('う');
  });

  it('find what separates columns, or name it', async () => {
    for (const delimiter of [',', ';', '\t', '|']) {
      const table = Buffer.from(`id${delimiter}"a,b;c|d"\n1${delimiter}あ\n`);
      expect((await unitsOf('a.csv', table)).map(short)).toEqual(['row[0].a,b;c|d あ'].map((text) => text));
    }
    const single = Buffer.from('text\nあ,い\n');
    expect((await parseBytes('a.csv', single)).outcome.issues.map(({ code }) => code)).toEqual([
      'csv_invalid',
    ]);
    expect((await unitsOf('a.csv', single, rule({ delimiter: ';' }))).map(short)).toEqual([
      'row[0].text あ,い',
    ]);
  });

  it.each([
    ['euc-jp', 'a4a2', 'あ', 'い', 'a4a4'],
    ['gbk', 'c4e3', '你', '我', 'ced2'],
    ['gb18030', 'c4e3', '你', '😀', '9439fc36'],
    ['big5', 'a741', '你', '我', 'a7da'],
    ['euc-kr', 'b0a1', '가', '나', 'b3aa'],
    ['windows-1251', 'e6', 'ж', 'я', 'ff'],
    ['windows-874', 'a1', 'ก', 'ข', 'a2'],
    ['utf-16le', '4230', 'あ', 'い', '4430'],
    ['utf-16be', '3042', 'あ', 'い', '3044'],
  ])(
    '%s is read, and written with the same bytes around a text',
    async (encoding, hex, source, target, patched) => {
      const end = encoding === 'utf-16le' ? '0a00' : encoding === 'utf-16be' ? '000a' : '0a';
      const file = bytes(`${hex}${end}${hex}${end}`);
      const rules = rule({ encoding, sourceScript: 'any' });
      const units = await unitsOf('a.txt', file, rules);
      expect(units.map(({ sourceText }) => sourceText)).toEqual([source, source]);
      const [, second] = units;
      if (second === undefined) throw new Error('the file has two texts');
      const { result, bytes: written } = await patchBytes('a.txt', file, [editOf(second, target)], rules);
      expect(result).toMatchObject({ kind: 'patched' });
      expect(written?.toString('hex')).toBe(`${hex}${end}${patched}${end}`);
      if (encoding.startsWith('utf')) return;
      const refused = await patchBytes('a.txt', file, [editOf(second, '\u0E5B\u{1F9D0}ñ가')], rules);
      expect(refused.result).toMatchObject(
        encoding === 'gb18030' ? { kind: 'patched' } : { code: 'unencodable_character' },
      );
    },
  );

  it('refuse a text in codes that its encoding is not written with, at parsing', async () => {
    // The same character: in two bytes, and in three as JIS X 0212 has it.
    const codes = async (hex: string): Promise<string[]> =>
      (await parseBytes('a.txt', bytes(hex), rule({ encoding: 'euc-jp' }))).outcome.issues.map(
        ({ code }) => code,
      );
    expect(await codes('ada2a4a2')).toEqual([]);
    expect(await codes('8fa2f1a4a2')).toEqual(['encoding_invalid']);
  });
});

describe('files that hold another file', () => {
  const CONTENT = '{"a":"はい"}';

  it.each([
    ['a.json.gz', gzipSync(CONTENT), 'gzip'],
    ['a.bytes', gzipSync(CONTENT), 'gzip'],
    ['a.bytes', deflateSync(CONTENT.repeat(1)), 'zlib'],
  ])('%s is read and written: %#', async (name, file, format) => {
    const parsed = await parseBytes(name, file);
    expect(parsed.outcome).toMatchObject({ status: 'parsed', format });
    expect(parsed.units.map(({ archiveEntry, fieldPath }) => [archiveEntry, fieldPath])).toEqual([
      ['content', '/a'],
    ]);
    const [unit] = parsed.units;
    if (unit === undefined) throw new Error('the file has a text');
    const { result, bytes: written } = await patchBytes(name, file, [editOf(unit, 'は！')]);
    expect(result).toMatchObject({ kind: 'patched' });
    expect((await unitsOf(name, written ?? Buffer.alloc(0))).map(({ sourceText }) => sourceText)).toEqual([
      'は！',
    ]);
  });

  it('finds an archive behind other bytes', async () => {
    const file = Buffer.concat([
      Buffer.from('MZ\u0090\0 a program \0\u0001', 'latin1'),
      await zipOf({ 'a.json': CONTENT }),
    ]);
    const [unit] = await unitsOf('setup.exe', file);
    expect(unit).toMatchObject({ archiveEntry: 'a.json', sourceText: 'はい' });
    if (unit === undefined) throw new Error('the archive has a text');
    const { bytes: written } = await patchBytes('setup.exe', file, [editOf(unit, 'は')]);
    expect(written?.subarray(0, 8).equals(file.subarray(0, 8))).toBe(true);
    expect(
      (await unitsOf('setup.exe', written ?? Buffer.alloc(0))).map(({ sourceText }) => sourceText),
    ).toEqual(['は']);
  });

  it.each([
    ['a.yaml', Buffer.from('key: あ\n'), 'yaml'],
    ['Main.unity', Buffer.from('%YAML 1.1\n--- !u!1 &1\n'), 'yaml'],
    [
      'a.bytes',
      Buffer.from('93a6e38182e38184a3e38182a3e38182a16101020304050607a3e38182a3e38182a3e38182', 'hex'),
      'messagepack',
    ],
    ['data.xp3', Buffer.from('XP3\r\n \n\u001A\u008B', 'latin1'), 'xp3'],
    ['Map001.rvdata2', Buffer.from('\u0004\bo:', 'latin1'), 'ruby-marshal'],
  ])('%s is named, and not read: %#', async (name, file, format) => {
    const { outcome } = await parseBytes(name, file);
    expect(outcome).toEqual({ status: 'unsupported', format, issues: [], skipped: { format_not_read: 1 } });
  });

  it('names a workbook, which is an archive', async () => {
    const workbook = await zipOf({
      '[Content_Types].xml': '<Types/>',
      'xl/sharedStrings.xml': '<sst><si><t>あ</t></si></sst>',
    });
    expect((await parseBytes('a.xlsx', workbook)).outcome).toMatchObject({
      status: 'unsupported',
      format: 'xlsx',
    });
    expect((await parseBytes('a.zip', workbook)).outcome).toMatchObject({ status: 'parsed', format: 'zip' });
  });
});

const FILES: readonly (readonly [name: string, content: string])[] = [
  ['a.ks', SCRIPT_SAMPLES.tyrano[0]],
  ['a.rpy', SCRIPT_SAMPLES.renpy[0]],
  ['a.yarn', SCRIPT_SAMPLES.yarn[0]],
  ['a.properties', SCRIPT_SAMPLES.properties[0]],
  ['a.strings', SCRIPT_SAMPLES.strings[0]],
  ['a.xml', '<a b="題"><c>一 &amp; 二</c><d>三<e>四</e></d></a>'],
  ['a.po', 'msgid "a"\nmsgstr "一\\n"\n"二"\n\nmsgid "三"\nmsgstr ""\n'],
  ['data/Map001.json', RPG_MAP],
  ['a.csv', 'id;text\r\n1;あ\r\n'],
];

describe('a patch of a text file', () => {
  it.each(FILES)('%s: replaces the texts, and passes its self-check', async (name, content) => {
    const units = await unitsOf(name, Buffer.from(content));
    expect(units.length).toBeGreaterThan(0);
    const edits = units.map((unit, number) => {
      return editOf(
        unit,
        unit.sourceText.includes('<')
          ? unit.sourceText.replace('三', 'は')
          : `は "${number}" & ー`.replace(/"/g, /\.(?:ks|rpy)$/.test(name) ? '' : '"'),
      );
    });
    const { result, bytes: patched } = await patchBytes(name, Buffer.from(content), edits);
    expect(result).toMatchObject({ kind: 'patched', checked: { editedUnits: edits.length } });
    expect(placesOf(await unitsOf(name, patched ?? Buffer.alloc(0)))).toEqual(placesOf(units, edits));
  });

  it('says which text a script cannot hold', async () => {
    const file = Buffer.from('あ[p]\nい\n');
    const [unit] = await unitsOf('a.ks', file);
    if (unit === undefined) throw new Error('the script has a text');
    const { result } = await patchBytes('a.ks', file, [editOf(unit, ';は')]);
    expect(result).toMatchObject({
      kind: 'failed',
      code: 'character_not_allowed',
      fieldPath: 'line[0].text',
      message: expect.stringContaining('patterns of the script') as string,
    });
  });

  it('does not share texts between names that tell different formats', () => {
    const rules = compileRules(loadedRules());
    const digests = ['a/Map001.json', 'a/Other.json', 'a.ks', 'a.json.gz', 'a.csv.gz'].map((name) =>
      rules.digestFor(name),
    );
    expect(new Set(digests).size).toBe(digests.length);
  });
});
