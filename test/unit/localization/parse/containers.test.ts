import { describe, expect, it } from 'vitest';
import { stringTable } from '../../../../demo/game/unity/string-table.ts';
import {
  leaf,
  list,
  object,
  reference,
  REGISTRY_TYPE,
  text,
  TEXT_ASSET_TYPE,
  type UnityType,
} from '../../../../demo/game/unity/unity-type.ts';
import { writeBundle } from '../../../../demo/game/unity/write-bundle.ts';
import { writeSerializedFile, type UnityObject } from '../../../../demo/game/unity/write-serialized-file.ts';
import { bytesSource, type ByteSource } from '../../../../src/formats/byte-source.ts';
import { FormatError } from '../../../../src/formats/format-error.ts';
import {
  keyPathParts,
  type ContainerOutcome,
  type ParsedUnit,
} from '../../../../src/localization/parse/container/parsed-container.ts';
import { parseContainer } from '../../../../src/localization/parse/container/parse-container.ts';
import { createUnitEmitter, unitIdOf } from '../../../../src/localization/parse/container/unit-emitter.ts';
import { compileRules } from '../../../../src/localization/parse/rules/compile-rules.ts';
import { parseConfigurationSchema } from '../../../../src/localization/parse/rules/parse-config.ts';
import { managedReference } from '../../../support/managed-references.ts';
import { parseBytes, type ParsedBytes } from '../../../support/parse-bytes.ts';
import { sampleBehaviour } from '../../../support/unity-samples.ts';
import { writeZip } from '../../../support/write-zip.ts';
import { zipOf } from '../../../support/zip-of.ts';

interface Parsed {
  readonly units: readonly ParsedUnit[];
  readonly outcome: ContainerOutcome;
  /** Largest number of units of one batch. */
  readonly largestBatch: number;
}

async function parse(
  destination: string,
  content: string | Uint8Array,
  configuration: object = {},
): Promise<Parsed> {
  const units: ParsedUnit[] = [];
  let largestBatch = 0;
  const { rules, sourceScript, stableNames } = parseConfigurationSchema.parse(configuration);
  const outcome = await parseContainer(
    {
      source: bytesSource(Buffer.from(content)),
      destination,
      destinationKey: destination,
      scratchDirectory: '/nowhere',
    },
    compileRules({
      configuration: { rules, sourceScript, stableNames },
      secrets: new Map(),
      files: new Map(),
    }),
    async (batch) => {
      largestBatch = Math.max(largestBatch, batch.length);
      units.push(...batch);
    },
  );
  return { units, outcome, largestBatch };
}

const textAsset = (pathId: bigint, name: string, script: string | Uint8Array): UnityObject => ({
  pathId,
  classId: 49,
  type: TEXT_ASSET_TYPE,
  value: { m_Name: name, m_Script: script },
});

const bundle = (...objects: readonly UnityObject[]): Buffer =>
  writeBundle([
    { name: 'CAB-0f3cab12e9d84c7b95a1e0d2c3b4a596', bytes: writeSerializedFile({ version: 22, objects }) },
  ]);

const shown = ({ units }: Parsed): string[] =>
  units.map(({ archiveEntry, pathId, fieldPath, format, sourceText }) =>
    [archiveEntry ?? '-', pathId ?? '-', fieldPath, format, sourceText].join(' | '),
  );

const serialized = (name: string, script: string): { readonly name: string; readonly bytes: Buffer } => ({
  name,
  bytes: writeSerializedFile({ version: 22, objects: [textAsset(1n, 'n', script)] }),
});

const idsOf = (units: readonly ParsedUnit[]): ReadonlySet<string> =>
  new Set(units.map(({ unitId }) => unitId.toString()));

describe('parsing a container', () => {
  it('finds the text of JSON, with speaker and keys', async () => {
    const rows = [
      { Id: '9007199254740993', Speaker: 'ホシノ', TextJp: 'おはよう', Code: 'ab' },
      { Id: '2', Speaker: 'x', TextJp: 'こんにちは' },
    ];
    const parsed = await parse('Scenario/Scene.json', JSON.stringify({ DataList: rows }));
    expect(parsed.outcome).toEqual({
      status: 'parsed',
      format: 'json',
      issues: [],
      skipped: { no_source_script: 4 },
    });
    expect(shown(parsed)).toEqual([
      '- | - | /DataList/0/Speaker | json | ホシノ',
      '- | - | /DataList/0/TextJp | json | おはよう',
      '- | - | /DataList/1/TextJp | json | こんにちは',
    ]);
    expect(parsed.units.map(({ speaker }) => speaker)).toEqual(['ホシノ', 'ホシノ', 'x']);
    expect(keyPathParts(parsed.units[2]?.keyPath ?? '')).toEqual(['', '', '/DataList/Id=2/TextJp']);
    // The id of a unit is a digest of this text, so it stays as it is.
    expect(parsed.units[2]?.keyPath).toBe('\0\0/DataList/Id=2/TextJp');
    expect(parsed.units[0]?.unitId).toHaveLength(16);
    expect(parsed.units[0]?.sourceDigest).toHaveLength(32);
  });

  it('finds the text of CSV, TSV and plain text', async () => {
    expect(shown(await parse('a.csv', 'Key,Text\r\n1,"はい、""そう"""\r\n2,no\r\n'))).toEqual([
      '- | - | row[0].Text | csv | はい、"そう"',
    ]);
    expect(shown(await parse('a.tsv', 'Key\tText\n1\tはい\n'))).toEqual(['- | - | row[0].Text | tsv | はい']);
    expect(shown(await parse('a.txt', 'x\nはい\n'))).toEqual(['- | - | line[1] | text | はい']);
  });

  it('finds the text of bundles, and of tables and JSON inside of text assets', async () => {
    const parsed = await parse(
      'a.bundle',
      bundle(
        textAsset(-9_180_874_206_900_030_759n, 'plain', 'むかしむかし'),
        stringTable('Table', 'ja', 7n, [
          { id: 9_007_199_254_740_993n, text: 'はい' },
          { id: 9_007_199_254_740_995n, text: 'yes' },
        ]),
        textAsset(9n, 'json', JSON.stringify([{ id: 1, t: 'い' }])),
        textAsset(11n, 'table', 'Id,Text\n5,う\n'),
      ),
    );
    expect(parsed.outcome).toMatchObject({ status: 'parsed', format: 'unity', issues: [] });
    expect(shown(parsed)).toEqual([
      '- | -9180874206900030759 | m_Script | unity.textasset | むかしむかし',
      '- | 7 | m_TableData[0].m_Localized | unity.monobehaviour | はい',
      '- | 9 | m_Script#/0/t | unity.textasset+json | い',
      '- | 11 | m_Script#row[0].Text | unity.textasset+csv | う',
    ]);
    expect(parsed.units.map(({ keyPath }) => keyPath.split('\0').slice(1))).toEqual([
      ['49:plain', 'm_Script'],
      [expect.stringMatching(/:Table$/), 'm_TableData[m_Id=9007199254740993].m_Localized'],
      ['49:json', 'm_Script#/id=1/t'],
      ['49:table', 'm_Script#row[Id=5].Text'],
    ]);
  });

  it('finds the text in front of a managed reference that nothing describes, and says which one that is', async () => {
    const references = {
      version: 2,
      RefIds: [managedReference(5n, 'SmartFormatTag', {}, 'Unity.Localization')],
    };
    const table = sampleBehaviour(1n, 'UI_ja', [list('rows', text('data')), REGISTRY_TYPE], {
      rows: ['はい', 'いいえ'],
      references,
    });
    const { units, outcome } = await parse('tables.bundle', bundle(table));
    expect(units.map(({ fieldPath }) => fieldPath)).toEqual(['rows[0]', 'rows[1]']);
    expect(outcome.status).toBe('partial');
    expect(outcome.issues).toEqual([
      expect.objectContaining({
        code: 'typetree_managed_reference_unsupported',
        pathId: 1n,
        message: expect.stringContaining('the class Demo.SmartFormatTag in Unity.Localization'),
      }),
    ]);
  });

  describe('texts that no player reads', () => {
    const texts = (...names: readonly string[]): UnityType =>
      object(
        'Map',
        'map',
        names.map((name) => list(name, text('data'))),
      );
    const nothing = { m_FileID: 0, m_PathID: 0n };
    const GUID = '0123456789abcdef0123456789abcdef';
    const localization = [
      object('LocaleIdentifier', 'm_LocaleId', [text('m_Code')]),
      reference('SharedTableData', 'm_SharedData'),
      list('m_TableData', object('TableEntryData', 'data', [leaf('SInt64', 'm_Id'), text('m_Localized')])),
    ];
    const table = (...rows: readonly string[]): UnityObject =>
      sampleBehaviour(1n, 'Table ja', localization, {
        m_LocaleId: { m_Code: 'ja' },
        m_SharedData: nothing,
        m_TableData: rows.map((row, index) => ({ m_Id: BigInt(index + 1), m_Localized: row })),
      });
    const term = object('TermData', 'data', [text('Term'), list('Languages', text('data'))]);
    const source = [
      list('mTerms', term),
      list('mLanguages', object('LanguageData', 'data', [text('Name'), text('Code')])),
    ];
    const i2 = {
      mTerms: [{ Term: 'menu/start', Languages: ['Start', 'Los'] }],
      mLanguages: [{ Name: 'English', Code: 'en' }],
    };
    const map = (field: string): UnityType => ({ ...texts('keys', 'values'), name: field });

    it.each<readonly [string, UnityObject, readonly string[]]>([
      ['a string table', table('Start', GUID), ['m_TableData[0].m_Localized']],
      [
        'an asset table',
        sampleBehaviour(
          1n,
          'Shared',
          [
            text('m_TableCollectionName'),
            text('m_TableCollectionNameGuidString'),
            list('m_Entries', text('data')),
          ],
          { m_TableCollectionName: 'UI', m_TableCollectionNameGuidString: GUID, m_Entries: ['START'] },
        ),
        [],
      ],
      [
        'I2 Localization',
        sampleBehaviour(1n, 'I2', [object('LanguageSourceData', 'mSource', source)], { mSource: i2 }),
        ['mSource.mTerms[0].Languages[0]', 'mSource.mTerms[0].Languages[1]'],
      ],
      [
        'older I2 Localization',
        sampleBehaviour(1n, 'I2', source, i2),
        ['mTerms[0].Languages[0]', 'mTerms[0].Languages[1]'],
      ],
      [
        'a script of Naninovel',
        sampleBehaviour(
          1n,
          'Chapter1',
          [
            object('ScriptTextMap', 'textMap', [map('idToText')]),
            object('Playlist', 'playlist', [text('name')]),
          ],
          { textMap: { idToText: { keys: ['1a'], values: ['Hello.'] } }, playlist: { name: 'Chapter1' } },
        ),
        ['textMap.idToText.values[0]'],
      ],
      [
        'Yarn Spinner',
        sampleBehaviour(1n, 'Project', [text('_LocaleCode'), map('_stringTable')], {
          _LocaleCode: 'en',
          _stringTable: { keys: ['line:1'], values: ['Hello.'] },
        }),
        ['_stringTable.values[0]'],
      ],
      [
        'TextMesh Pro',
        sampleBehaviour(
          1n,
          'Label',
          [text('m_text'), reference('TMP_FontAsset', 'm_fontAsset'), text('m_style')],
          {
            m_text: 'Start',
            m_fontAsset: nothing,
            m_style: 'Normal',
          },
        ),
        ['m_text'],
      ],
      [
        'Unity UI',
        sampleBehaviour(1n, 'Label', [object('FontData', 'm_FontData', [text('m_Style')]), text('m_Text')], {
          m_FontData: { m_Style: 'Bold' },
          m_Text: 'Start',
        }),
        ['m_Text'],
      ],
      [
        'an unknown class',
        sampleBehaviour(1n, 'Dialog', [text('m_text'), text('hint')], { m_text: 'a', hint: 'b' }),
        ['m_text', 'hint'],
      ],
    ])('are left out of %s, unless a rule selects them', async (_name, content, paths) => {
      const all = { sourceScript: 'latin', rules: [{ destination: ['**'], include: ['**'] }] };
      const own = await parse('a.bundle', bundle(content), { sourceScript: 'latin' });
      expect(own.units.map(({ fieldPath }) => fieldPath)).toEqual(paths);
      const selected = await parse('a.bundle', bundle(content), all);
      expect(selected.units.map(({ fieldPath }) => fieldPath)).toEqual(
        expect.arrayContaining(['m_Name', ...paths]),
      );
      expect(own.outcome.skipped.not_for_players).toBe(selected.units.length - own.units.length);
    });

    it('are left out of catalogs and settings of Addressables, alone and in a text asset', async () => {
      const settings = JSON.stringify({ m_buildTarget: 'Android', m_SettingsHash: 'abc', title: 'Start' });
      const files = { 'a.json': settings, 'b.bundle': bundle(textAsset(1n, 'settings', settings)) };
      for (const [name, content] of Object.entries(files)) {
        const { units, outcome } = await parse(name, content, { sourceScript: 'latin' });
        expect(units.map(({ sourceText }) => sourceText)).toEqual(['Start']);
        expect(outcome.skipped.not_for_players).toBe(name === 'a.json' ? 2 : 3);
      }
    });

    it('do not name terms of I2 Localization by their place', async () => {
      const { units } = await parse('a.bundle', bundle(sampleBehaviour(1n, 'I2', source, i2)), {
        sourceScript: 'latin',
      });
      expect(units.map(({ keyPath }) => keyPathParts(keyPath).at(-1))).toEqual([
        'mTerms[Term="menu/start"].Languages[0]',
        'mTerms[Term="menu/start"].Languages[1]',
      ]);
    });
  });

  it('keeps the identity of a unit when hashes, object ids and rows before it change', async () => {
    const before = await parse(
      'a.zip',
      await zipOf({ 'x_0f3cab12e9d84c7b.bundle': bundle(textAsset(5n, 'n', '[{"id":1,"t":"あ"}]')) }),
    );
    const after = await parse(
      'a.zip',
      await zipOf({
        'x_1f3cab12e9d84c7b.bundle': bundle(
          textAsset(2n, 'm', 'い'),
          textAsset(9n, 'n', '[{"id":0,"t":"い"},{"id":1,"t":"あ"}]'),
        ),
      }),
    );
    const idOf = ({ units }: Parsed): string | undefined =>
      units.find(({ sourceText }) => sourceText === 'あ')?.unitId.toString();
    expect(idOf(before)).toBeDefined();
    expect(idOf(after)).toBe(idOf(before));
    expect(before.units[0]?.archiveEntry).toBe('x_0f3cab12e9d84c7b.bundle');
  });

  it('numbers objects that share class and name', async () => {
    const { units } = await parse('a', bundle(textAsset(3n, 'n', 'あ'), textAsset(4n, 'n', 'い')));
    expect(units.map(({ keyPath }) => keyPath)).toEqual(['\u{0}49:n\0m_Script', '\u{0}49:n#2\0m_Script']);
  });

  it('never gives two objects one id, whatever their names are', async () => {
    const names = ['A', 'A', 'A#2', 'B#2', 'B', 'B', 'foo#2'];
    const { units, outcome } = await parse(
      'a',
      bundle(...names.map((name, index) => textAsset(BigInt(index + 1), name, 'あ'))),
    );
    expect(units).toHaveLength(7);
    expect(idsOf(units).size).toBe(7);
    expect(outcome.issues).toEqual([]);
  });

  it('identifies texts with one key by their exact place, and reports each key once', async () => {
    const rows = [5, 6, 5, 7, 5, 8, 9].map((Id) => ({ Id, Text: 'あ', Code: 'x' }));
    const before = await parse('a.json', JSON.stringify([...rows.slice(0, 2), ...rows.slice(5)]));
    const { units, outcome } = await parse('a.json', JSON.stringify(rows));
    expect(outcome).toMatchObject({
      status: 'parsed',
      issues: [{ code: 'duplicate_unit_key', fieldPath: '/0/Text' }],
    });
    expect(units.map(({ keyPath }) => keyPathParts(keyPath)[2])).toEqual([
      '/0/Text',
      '/Id=6/Text',
      '/2/Text',
      '/Id=7/Text',
      '/4/Text',
      '/Id=8/Text',
      '/Id=9/Text',
    ]);
    const known = idsOf(before.units);
    expect(
      units.filter(({ unitId }) => known.has(unitId.toString())).map(({ fieldPath }) => fieldPath),
    ).toEqual(['/1/Text', '/5/Text', '/6/Text']);
  });

  it('tells the tables inside of rows with one key apart', async () => {
    const rows = [0, 0, 1, 2, 3].map((id) => ({ id, m_Script: '[{"id":1,"t":"あ"}]' }));
    const { units, outcome } = await parse('a.json', JSON.stringify(rows));
    expect(outcome.issues.map(({ code, fieldPath }) => [code, fieldPath])).toEqual([
      ['duplicate_unit_key', '/0/m_Script'],
    ]);
    expect(units).toHaveLength(5);
    expect(idsOf(units).size).toBe(5);
  });

  it('tells a key that ends with `#` from a table inside of a string', async () => {
    const { units } = await parse(
      'a.json',
      JSON.stringify({ m_Script: '{"b":"あ"}', 'm_Script#': { b: 'い' } }),
    );
    expect(units.map(({ fieldPath }) => fieldPath)).toEqual(['/m_Script#/b', '/m_Script~2/b']);
    expect(idsOf(units).size).toBe(2);
  });

  it('tells an entry whose name looks like that of an inner archive from an entry of that archive', async () => {
    const inner = await zipOf({ 'b.json': '["あ"]' });
    const outer = writeZip([
      { name: 'inner.zip', content: inner },
      { name: 'inner.zip!/b.json', content: Buffer.from('["い"]') },
    ]);
    const { units } = await parse('a.zip', outer);
    expect(units.map(({ archiveEntry }) => archiveEntry)).toEqual([
      'inner.zip!/b.json',
      'inner.zip!%2Fb.json',
    ]);
    expect(idsOf(units).size).toBe(2);
  });

  it('trusts no file of a bundle whose name another one has, and loses only those', async () => {
    const { units, outcome } = await parse(
      'a',
      writeBundle([serialized('x', 'あ'), serialized('y', 'い'), serialized('x', 'う')]),
    );
    expect(outcome.status).toBe('partial');
    expect(outcome.issues.map(({ code, archiveEntry }) => [code, archiveEntry])).toEqual([
      ['bundle_invalid', 'x'],
      ['bundle_invalid', 'x'],
    ]);
    expect(units.map(({ sourceText }) => sourceText)).toEqual(['い']);
  });

  it('loses only the file of a bundle that cannot be read, and names it', async () => {
    const damaged = serialized('x', 'あ');
    damaged.bytes.writeUInt32BE(0x7fff_ffff, 20);
    const whole = await parse('a', writeBundle([serialized('x', 'あ'), serialized('y', 'い')]));
    const { units, outcome } = await parse('a', writeBundle([damaged, serialized('y', 'い')]));
    expect(outcome).toMatchObject({
      status: 'partial',
      issues: [{ code: 'serialized_invalid', archiveEntry: 'x' }],
    });
    expect(units).toEqual(whole.units.slice(1));
    expect((await parse('a', writeBundle([damaged]))).outcome.status).toBe('failed');
  });

  it('reports entries whose names differ only by their hashes', async () => {
    const names = ['a_0f3cab12e9d84c7b.json', 'a_1f3cab12e9d84c7b.json'];
    const { units, outcome } = await parse(
      'a.zip',
      await zipOf({
        [names[0] ?? '']: '["あ"]',
        [names[1] ?? '']: '["あ"]',
        'b_0f3cab12e9d84c7b.json': '["あ"]',
      }),
    );
    expect(outcome.status).toBe('parsed');
    expect(outcome.issues.map(({ code, archiveEntry }) => [code, archiveEntry])).toEqual(
      names.map((name) => ['duplicate_unit_key', name]),
    );
    expect(units.map(({ keyPath }) => keyPath.split('\0')[0])).toEqual([...names, 'b_*.json']);
  });

  it('keeps the rows of a table in a text asset when one of them is damaged', async () => {
    const { units, outcome } = await parse(
      'a',
      bundle(
        textAsset(1n, 'table', 'Id,Text\n1,あ\n2,い,x\n3,う\n'),
        textAsset(2n, 'prose', 'Hello,World\nこんにちは\n'),
      ),
    );
    expect(units.map(({ fieldPath, keyPath }) => [fieldPath, keyPathParts(keyPath)[2]])).toEqual([
      ['m_Script#row[0].Text', 'm_Script#row[Id=1].Text'],
      ['m_Script#row[2].Text', 'm_Script#row[Id=3].Text'],
      ['m_Script', 'm_Script'],
    ]);
    expect(outcome).toMatchObject({
      status: 'partial',
      issues: [{ code: 'csv_invalid', fieldPath: 'm_Script#row[1]', pathId: 1n }],
    });
  });

  it('walks archives in archives, in the order of names', async () => {
    const inner = await zipOf({ 'b.json': '["い"]', 'a.json': '["あ"]' });
    const parsed = await parse('a.zip', await zipOf({ 'z.txt': 'う', 'inner.zip': inner }));
    expect(shown(parsed)).toEqual([
      'inner.zip!/a.json | - | /0 | json | あ',
      'inner.zip!/b.json | - | /0 | json | い',
      'z.txt | - | line[0] | text | う',
    ]);
  });

  it('stops at the fifth level', async () => {
    let content: Uint8Array = Buffer.from('["あ"]');
    for (let level = 0; level < 5; level += 1)
      content = await zipOf({ [`l${level}.${level === 0 ? 'json' : 'zip'}`]: content });
    const { units, outcome } = await parse('a.zip', content);
    expect(units).toEqual([]);
    expect(outcome.status).toBe('partial');
    expect(outcome.issues.map(({ code }) => code)).toEqual(['nesting_too_deep']);
  });

  it('reports what it cannot read, and keeps the rest', async () => {
    const damaged = bundle(textAsset(1n, 'n', 'あ'));
    const parsed = await parse(
      'a.zip',
      await zipOf({
        'bad.bundle': damaged.subarray(0, damaged.length - 9),
        'bad.json': '{"a":',
        'good.txt': 'い',
      }),
    );
    expect(shown(parsed)).toEqual(['good.txt | - | line[0] | text | い']);
    expect(parsed.outcome.status).toBe('partial');
    expect(parsed.outcome.issues.map(({ archiveEntry, code }) => [archiveEntry, code])).toEqual([
      ['bad.bundle', 'bundle_invalid'],
      ['bad.json', 'json_invalid'],
    ]);
  });

  it('fails as a whole when the container itself cannot be read', async () => {
    const { units, outcome } = await parse('a.json', '{"a":"あ"');
    expect(units).toEqual([]);
    expect(outcome).toMatchObject({ status: 'failed', format: 'json' });
    expect(outcome.issues.map(({ code }) => code)).toEqual(['json_invalid']);
  });

  it('counts what has no text', async () => {
    const parsed = await parse(
      'a.zip',
      await zipOf({
        'a.png': Buffer.from('\u0089PNG\r\n\u001A\n', 'latin1'),
        'b.bin': Buffer.of(0, 1, 2),
        'c.txt': 'x',
      }),
    );
    expect(parsed.outcome).toEqual({
      status: 'parsed',
      format: 'zip',
      issues: [],
      skipped: { binary: 1, unknown_format: 1, no_source_script: 1 },
    });
    expect((await parse('a.bin', Buffer.of(0, 1))).outcome).toEqual({
      status: 'unsupported',
      format: 'unknown',
      issues: [],
      skipped: { unknown_format: 1 },
    });
  });

  it('obeys the rules: formats, fields, skipped files and nested formats', async () => {
    const content = JSON.stringify({ a: 'あ', b: 'い', c: '[{"id":1,"t":"う"}]' });
    const rules = [
      { destination: ['skip.*'], format: 'skip' },
      { destination: ['*.dat'], format: 'json', exclude: ['/b'], nested: { c: 'json' } },
    ];
    expect(shown(await parse('x.dat', content, { rules }))).toEqual([
      '- | - | /a | json | あ',
      '- | - | /c#/0/t | json+json | う',
    ]);
    const skipped = await parse('skip.json', content, { rules });
    expect(skipped.outcome).toMatchObject({ status: 'unsupported', skipped: { skipped_by_rule: 1 } });
  });

  it('reads text in CP932 by rule, also inside of a text asset', async () => {
    const cp932 = Buffer.from([0x82, 0xa0]); // あ
    const rules = [{ destination: ['**'], encoding: 'cp932', nested: { m_Script: 'text' } }];
    expect(shown(await parse('a.txt', cp932, { rules }))).toEqual(['- | - | line[0] | text | あ']);
    expect(shown(await parse('a.bundle', bundle(textAsset(1n, 'n', cp932)), { rules }))).toEqual([
      '- | 1 | m_Script#line[0] | unity.textasset+text | あ',
    ]);
    const { outcome } = await parse('a.txt', cp932);
    expect(outcome.issues.map(({ code }) => code)).toEqual(['encoding_invalid']);
  });

  it('demands a byte order mark where a rule says UTF-16', async () => {
    const rules = [{ destination: ['**'], encoding: 'utf-16' }];
    const text = Buffer.from('\uFEFFあ', 'utf16le');
    expect(shown(await parse('a.txt', text, { rules }))).toEqual(['- | - | line[0] | text | あ']);
    const { outcome } = await parse('a.txt', 'あ', { rules });
    expect(outcome.issues.map(({ code }) => code)).toEqual(['encoding_invalid']);
  });

  it('reads a table of more than a mebibyte in a text asset, but not a text of that size', async () => {
    const rows = Array.from({ length: 40_000 }, (_, id) => ({ id, t: `あいうえお${id}` }));
    const parsed = await parse(
      'a.bundle',
      bundle(textAsset(1n, 'json', JSON.stringify(rows)), textAsset(2n, 'text', 'あ'.repeat(400_000))),
    );
    expect(parsed.units).toHaveLength(40_000);
    expect(parsed.outcome.issues.map(({ pathId, code }) => [pathId, code])).toEqual([
      [2n, 'field_too_large'],
    ]);
  });

  it('parses a container inside of a field as an entry', async () => {
    const inner = await zipOf({ 'a.json': '["あ"]' });
    const parsed = await parse('a.bundle', bundle(textAsset(3n, 'n', inner)));
    expect(shown(parsed)).toEqual(['3/m_Script!/a.json | - | /0 | json | あ']);
    expect(keyPathParts(parsed.units[0]?.keyPath ?? '')).toEqual(['', '49:n', 'm_Script!/a.json', '', '/0']);
  });

  it('hands over units in bounded batches', async () => {
    const rows = Array.from({ length: 1700 }, (_, id) => ({ id, text: `あ${id}` }));
    const { units, largestBatch } = await parse('a.json', JSON.stringify(rows));
    expect(units).toHaveLength(1700);
    expect(largestBatch).toBeLessThanOrEqual(500);
  });
});

const GIBIBYTE = 1024 ** 3;

/** A source that has this size and no bytes. */
function unreadable(size: number): ByteSource {
  return {
    size,
    read: () => {
      throw new Error('it was read');
    },
  };
}

const codesOf = ({ outcome }: ParsedBytes): string[] => [...new Set(outcome.issues.map(({ code }) => code))];

describe('limits of containers', () => {
  describe('the limits of a container', () => {
    it('refuse more than 2 GiB without reading a byte', async () => {
      const parsed = await parseBytes('a.json', unreadable(2 * GIBIBYTE + 1));
      expect(parsed.outcome.status).toBe('failed');
      expect(codesOf(parsed)).toEqual(['container_limit_exceeded']);
    });

    it.each(['json', 'csv', 'tsv', 'text', 'flatbuffers'])(
      'refuse more than 512 MiB of %s, which is read as a whole, without reading a byte',
      async (format) => {
        const rules = [{ destination: ['**'], format, ...(format === 'flatbuffers' && { schema: '/s' }) }];
        const parsed = await parseBytes('a', unreadable(GIBIBYTE / 2 + 1), { configuration: { rules } });
        expect(parsed.outcome.status).toBe('failed');
        expect(codesOf(parsed)).toEqual(['container_limit_exceeded']);
      },
    );

    it('let a file be in four others, and no more', async () => {
      let content: Buffer = await zipOf({ 'a.json': '["あ"]' });
      for (let level = 2; level <= 4; level += 1)
        content = await zipOf({ 'a.zip': content, 'b.json': `["${level}い"]` });
      expect((await parseBytes('a.zip', content)).units.map(({ archiveEntry }) => archiveEntry)).toEqual([
        'a.zip!/a.zip!/a.zip!/a.json',
        'a.zip!/a.zip!/b.json',
        'a.zip!/b.json',
        'b.json',
      ]);
      const deeper = await parseBytes('a.zip', await zipOf({ 'a.zip': content }));
      expect(deeper.units).toHaveLength(3);
      expect(codesOf(deeper)).toEqual(['nesting_too_deep']);
    });

    it('list 1,000 errors and count the others', async () => {
      const { outcome } = await parseBytes('a.csv', `k,t\n${'1\n'.repeat(1500)}2,あ\n`);
      expect(outcome.status).toBe('partial');
      expect(outcome.issues).toHaveLength(1000);
      expect(outcome.skipped).toMatchObject({ errors_not_listed: 500 });
    });

    it('stop at the largest number of units, after all units before it were handed over', async () => {
      const seen: ParsedUnit[] = [];
      const emitter = createUnitEmitter({
        destinationKey: 'a',
        send: async (units) => void seen.push(...units),
        report: () => undefined,
        maxUnits: 1000,
      });
      const location = { archiveEntry: null, pathId: null, classId: null, format: 'json' };
      const emit = async (number: number): Promise<void> => {
        const path = `/${number}`;
        await emitter.emit(location, {
          fieldPath: path,
          keyPath: path,
          sourceText: 'あ',
          speaker: null,
          scene: null,
        });
      };
      for (let number = 0; number < 1000; number += 1) await emit(number);
      await expect(emit(1000)).rejects.toMatchObject({
        name: FormatError.name,
        code: 'container_limit_exceeded',
      });
      await emitter.flush();
      expect(seen).toHaveLength(1000);
    });
  });

  it('a unit with the id of an earlier one is reported and gets another id', async () => {
    const seen: ParsedUnit[] = [];
    const reports: unknown[] = [];
    const emitter = createUnitEmitter({
      destinationKey: 'a',
      send: async (units) => void seen.push(...units),
      report: (_location, { code }, fieldPath) => void reports.push([code, fieldPath]),
    });
    const location = { archiveEntry: null, pathId: null, classId: null, format: 'json' };
    const text = { keyPath: 'k', sourceText: 'あ', speaker: null, scene: null };
    for (const fieldPath of ['x', 'y', 'y']) await emitter.emit(location, { ...text, fieldPath });
    await emitter.flush();
    expect(new Set(seen.map(({ unitId }) => unitId.toString())).size).toBe(3);
    expect(seen.every(({ unitId, keyPath }) => Buffer.compare(unitId, unitIdOf('a', keyPath)) === 0)).toBe(
      true,
    );
    expect(reports).toEqual([
      ['duplicate_unit_key', 'y'],
      ['duplicate_unit_key', 'y'],
    ]);
  });

  it('a container stops when its texts and paths together are too long, after all units before', async () => {
    const seen: ParsedUnit[] = [];
    const emitter = createUnitEmitter({
      destinationKey: 'a',
      send: async (units) => void seen.push(...units),
      report: () => undefined,
      maxCharacters: 100,
    });
    const location = { archiveEntry: 'e', pathId: null, classId: null, format: 'json' };
    const text = { fieldPath: '/a/path', keyPath: '/a/key', sourceText: 'あ', speaker: null, scene: null };
    for (let number = 0; number < 6; number += 1) await emitter.emit(location, text);
    await expect(emitter.emit(location, text)).rejects.toMatchObject({
      code: 'container_limit_exceeded',
      message: 'the texts of the container and their paths have more than 100 characters',
    });
    await emitter.flush();
    expect(seen).toHaveLength(6);
  });

  describe('a long name that many texts share', () => {
    /** UTF-16 code units of the largest batch. */
    async function largestBatch(content: string): Promise<number> {
      let largest = 0;
      const { units, batches } = await parseBytes('a.json', content);
      let first = 0;
      for (const count of batches) {
        const batch = units.slice(first, first + count);
        largest = Math.max(
          largest,
          JSON.stringify(batch, ['fieldPath', 'keyPath', 'sourceText', 'speaker', 'scene']).length,
        );
        first += count;
      }
      return largest;
    }

    it('does not multiply: the key of an object', async () => {
      const content = (length: number): string =>
        JSON.stringify({ ['k'.repeat(length)]: Array.from({ length: 5000 }, () => 'あ') });
      expect(await largestBatch(content(10_000))).toBeLessThan(400_000);
      // To look into each of these paths would take gigabytes and minutes.
      const rules = { configuration: { rules: [{ destination: ['**'], include: ['**'] }] } };
      for (const refused of [
        await parseBytes('a.json', content(1_000_000)),
        await parseBytes('a.json', content(1_000_000), rules),
      ]) {
        expect(refused.units).toEqual([]);
        expect(refused.outcome.issues.map(({ code, message }) => [code, message])).toEqual([
          ['field_too_large', 'the paths of 5000 texts have more than 16384 characters'],
        ]);
      }
    });

    it('does not multiply: a speaker', async () => {
      const rows = (speaker: string): string =>
        JSON.stringify({ speaker, rows: Array.from({ length: 2000 }, (_, line) => `あ${line}`) });
      const parsed = await parseBytes('a.json', rows('ホシノ'.repeat(100_000)));
      expect(parsed.units.map(({ speaker }) => speaker)).toEqual(parsed.units.map(() => null));
      expect(await largestBatch(rows('ホシノ'.repeat(300)))).toBeLessThan(400_000);
    });
  });

  it('an object is not read again for each of its texts', async () => {
    const lines = Array.from({ length: 5000 }, (_, line) => `あ\uFFFD${line}`);
    const dialog = sampleBehaviour(1n, 'n', [list('lines', text('data'))], { lines });
    const source = bytesSource(writeSerializedFile({ version: 22, objects: [dialog] }));
    let reads = 0;
    const counted: ByteSource = {
      size: source.size,
      read: (offset, length) => {
        reads += 1;
        return source.read(offset, length);
      },
    };
    expect((await parseBytes('a', counted)).units).toHaveLength(5000);
    expect(reads).toBeLessThan(20);
  });
});
