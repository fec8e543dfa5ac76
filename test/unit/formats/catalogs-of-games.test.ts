import { describe, expect, it } from 'vitest';
import { memoryPack } from '../../../demo/game/catalogs/memory-pack-writer.ts';
import {
  newText,
  type CatalogPlugin,
  type FileChange,
} from '../../../src/formats/catalogs/catalog-plugin.ts';
import { figuresOf, type FileFigures } from '../../../src/formats/catalogs/file-figures.ts';
import { GAME_LIST_PLUGINS } from '../../../src/formats/catalogs/bundle-plugins.ts';
import { listPlugin, type ListRule } from '../../../src/formats/catalogs/list-plugin.ts';
import { MEMORY_PACK_PLUGINS } from '../../../src/formats/catalogs/memory-pack-plugins.ts';
import { PatchError } from '../../../src/formats/patch/patch-error.ts';
import { mutations } from '../../support/mutate.ts';

describe('the JSON catalogs of games', () => {
  function changeOf(path: string): FileChange {
    return {
      path,
      before: figuresOf([Buffer.from(`official ${path}`)]),
      after: figuresOf([Buffer.from(`the patched ${path}`)]),
    };
  }

  const decimal = (digits: string): number => Number(BigInt(`0x${digits}`));
  const facts = ({ size, checksums }: FileFigures) => ({ Size: size, Crc: decimal(checksums.crc32) });

  it.for([
    [
      'T/TableCatalog.json',
      'T/a.zip',
      (file: FileFigures) => ({ Table: { a: { Name: 'a.zip', ...facts(file) } } }),
    ],
    [
      'M/Catalog/MediaCatalog.json',
      'M/x/a.zip',
      (file: FileFigures) => ({
        Table: {
          a: { Path: 'x\\a.zip', FileName: 'a.zip', Bytes: file.size, Crc: decimal(file.checksums.crc32) },
        },
      }),
    ],
    [
      'A/bundleDownloadInfo.json',
      'A/x.bundle',
      (file: FileFigures) => ({ BundleFiles: [{ Name: 'x.bundle', ...facts(file), IsPrologue: false }] }),
    ],
  ] as const)('list files: %s', async ([path, file, write]) => {
    const change = changeOf(file);
    const plugins = GAME_LIST_PLUGINS.filter((plugin) => plugin.recognizes(path));
    expect(plugins).toHaveLength(1);
    const bytes = Buffer.from(JSON.stringify(write(change.before)));
    const result = await plugins[0]!.rewrite(path, bytes, [change, changeOf('other')]);
    expect(Buffer.from(result.bytes).toString()).toBe(JSON.stringify(write(change.after)));
    expect([...result.rewritten]).toEqual([file]);
  });

  it('list packs, and the bundles in each pack under one name', async () => {
    const path = 'A_PatchPack/BundlePackingInfo.json';
    const [one, two] = ['one.zip', 'two.zip'].map((name) => `A_PatchPack/${name}`) as [string, string];
    const changes = [one, `${one}!/x.bundle`, `${two}!/x.bundle`].map(changeOf);
    const other = figuresOf([Buffer.from('other')]);
    const write = (form: 'before' | 'after'): string => {
      const [pack, first, second] = changes.map((change) => change[form]) as [
        FileFigures,
        FileFigures,
        FileFigures,
      ];
      const inside = (file: FileFigures) => ({
        Name: 'x.bundle',
        ...facts(file),
        FileHash: decimal(file.checksums.xxh32),
        Signature: file.checksums.md5,
      });
      const packed = (name: string, file: FileFigures, bundle: FileFigures) => ({
        PackName: name,
        PackSize: file.size,
        Crc: decimal(file.checksums.crc32),
        BundleFiles: [inside(bundle)],
      });
      return JSON.stringify({
        Milestone: 'm',
        FullPatchPacks: [packed('one.zip', pack, first)],
        UpdatePacks: [packed('two.zip', other, second)],
      });
    };
    const plugin = GAME_LIST_PLUGINS.find((each) => each.recognizes(path))!;
    const result = await plugin.rewrite(path, Buffer.from(write('before')), changes);
    expect(Buffer.from(result.bytes).toString()).toBe(write('after'));
    expect(result.rewritten).toEqual(new Set(changes.map((change) => change.path)));
  });
});

const FIELDS: ListRule['fields'] = { path: 'Name', size: ['Size'], checksums: ['Crc', 'Hash', 'XX'] };
const JSON_RULE: ListRule = {
  name: 'list',
  matches: (path) => path.endsWith('/list.json'),
  format: 'json',
  fields: FIELDS,
};

describe('the plug-in of lists by rule', () => {
  function changeOf(path: string): FileChange {
    return {
      path,
      before: figuresOf([Buffer.from('official')]),
      after: figuresOf([Buffer.from('patched file')]),
    };
  }
  const { before: OLD, after: NEW } = changeOf('');
  const decimal = (digits: string): string => String(BigInt(`0x${digits}`));

  const jsonList = ({ size, checksums }: FileFigures): string =>
    `\uFEFF{ "Files" : [\r\n {"Crc":${decimal(checksums.crc32)}, "Name":"Android\\\\あ.bundle","Size":${size},` +
    `"Hash":"${checksums.md5.toUpperCase()}","XX": ${decimal(checksums.xxh64)}, "Rest":[1.50]},\n` +
    ` {"Name":"other","Size":${OLD.size},"Crc":0,"Hash":""} ]}`;
  const table = ({ size, checksums }: FileFigures, delimiter: string): string =>
    [
      ['Name', 'Size', 'Crc', 'Hash'],
      ['x', '8', '9', ''],
      ['a.zip', `"${size}"`, decimal(checksums.crc32), `"${checksums.sha256}"`],
    ]
      .map((row) => row.join(delimiter))
      .join('\r\n');

  it('writes size and checksums of a patched file into JSON, and no other byte', async () => {
    const plugin = listPlugin(JSON_RULE);
    expect([plugin.recognizes('root/list.json'), plugin.recognizes('root/other.json')]).toEqual([
      true,
      false,
    ]);
    const changes = [changeOf('root/Android/あ.bundle'), changeOf('root/missing')];
    const { bytes, rewritten } = await plugin.rewrite('root/list.json', Buffer.from(jsonList(OLD)), changes);
    expect(Buffer.from(bytes).toString()).toBe(jsonList(NEW));
    expect([...rewritten]).toEqual(['root/Android/あ.bundle']);
  });

  it.for([
    ['csv', ','],
    ['tsv', '\t'],
  ] as const)('writes them into tables: %s', async ([format, delimiter]) => {
    const plugin = listPlugin({ ...JSON_RULE, format, folderOf: () => 'files/' });
    const { bytes } = await plugin.rewrite('list', Buffer.from(table(OLD, delimiter)), [
      changeOf('files/a.zip'),
    ]);
    expect(Buffer.from(bytes).toString()).toBe(table(NEW, delimiter));
  });

  it('refuses a value that no known algorithm gives for the official file', async () => {
    const plugin = listPlugin({ ...JSON_RULE, folderOf: () => '' });
    for (const [name, value] of [
      ['Size', '1'],
      ['Size', '"many"'],
      ['Crc', '17'],
      ['Crc', '-17'],
      ['Hash', '"d41d8cd98f00b204e9800998ecf8427e"'],
    ]) {
      const list = Buffer.from(`[{"Name":"x","${name}":${value}}]`);
      const rewrite = plugin.rewrite('list', list, [changeOf('x')]);
      await expect(rewrite).rejects.toMatchObject({ code: 'catalog_not_rewritten', fieldPath: 'x' });
    }
  });
});

const OFFICIAL = Buffer.from('the official file');
const PATCHED = Buffer.from('the patched file, which is longer');
const { object, list, map, text, utf16, boolean, int32, int64 } = memoryPack;

const number = (digits: string): bigint => BigInt(`0x${digits}`);

interface Facts {
  readonly size: number;
  readonly crc: bigint;
  readonly hash: bigint;
  readonly signature: Buffer;
}

const OTHER: Facts = { size: 5, crc: 6n, hash: 7n, signature: text('8') };

const tablePack = (name: string, { size, crc }: Facts, bundles: Buffer): Buffer =>
  object([text(name), int64(size), int64(crc), boolean(false), bundles]);
const bundle = (name: string, { size, crc, hash, signature }: Facts): Buffer =>
  object([text(name), int64(size), boolean(false), int64(crc), boolean(false), int64(hash), signature]);
const pack = (name: string, { size, crc }: Facts, bundles: Buffer): Buffer =>
  object([text(name), int64(size), int64(crc), boolean(false), boolean(false), bundles]);
const media = (path: string, { size, crc }: Facts): Buffer =>
  object([text(path), text('x'), int64(size), int64(crc), boolean(false), boolean(false), int32(2)]);

const packingInfo = (facts: Facts): Buffer =>
  object([
    text('m'),
    int32(3),
    list([pack('Full.zip', facts, list([bundle('b.bundle', facts), bundle('c.bundle', OTHER)]))]),
    list([pack('Update.zip', OTHER, list([bundle('b.bundle', OTHER)]))]),
  ]);
const mediaCatalog = (facts: Facts): Buffer =>
  object([
    map([
      ['x', media('GameData\\Audio\\JP_X.zip', facts)],
      ['y', media('GameData\\y.zip', OTHER)],
    ]),
  ]);

function pluginFor(path: string): CatalogPlugin {
  const plugin = MEMORY_PACK_PLUGINS.find((each) => each.recognizes(path));
  if (plugin === undefined) throw new Error(`no plug-in for ${path}`);
  return plugin;
}

describe('the plug-ins of MemoryPack catalogs', () => {
  function changeOf(path: string): FileChange {
    return {
      path,
      before: figuresOf([OFFICIAL]),
      after: figuresOf([PATCHED.subarray(0, 3), PATCHED.subarray(3)]),
    };
  }

  const { before: OLD, after: NEW } = changeOf('');

  const factsOf = ({ size, checksums }: typeof OLD): Facts => ({
    size,
    crc: number(checksums.crc32),
    hash: number(checksums.xxh64),
    signature: text(checksums.md5),
  });
  const [BEFORE, AFTER] = [factsOf(OLD), factsOf(NEW)];

  const table = (name: string, { size, crc }: Facts): Buffer =>
    object([
      text(name),
      int64(size),
      int64(crc),
      boolean(false),
      boolean(true),
      boolean(false),
      boolean(false),
      list(null),
    ]);

  const tableCatalog = (facts: Facts): Buffer =>
    object([
      map([
        ['a', table('other.zip', OTHER)],
        ['b', table('Excel.zip', facts)],
      ]),
      map([
        ['p', tablePack('pack.zip', facts, list([table('inside.zip', facts), table('else.zip', OTHER)]))],
      ]),
    ]);

  const CASES = [
    {
      path: 'TableBundles/TableCatalog.bytes',
      catalog: tableCatalog,
      files: ['TableBundles/Excel.zip', 'TableBundles/pack.zip', 'TableBundles/pack.zip!/inside.zip'],
    },
    {
      path: 'MediaResources/Catalog/MediaCatalog.bytes',
      catalog: mediaCatalog,
      files: ['MediaResources/GameData/Audio/JP_X.zip'],
    },
    {
      path: 'Android_PatchPack/BundlePackingInfo.bytes',
      catalog: packingInfo,
      files: ['Android_PatchPack/Full.zip', 'Android_PatchPack/Full.zip!/b.bundle'],
    },
  ];

  it.for(CASES)(
    'write the figures of patched files into $path, and no other byte',
    async ({ path, catalog, files }) => {
      const changes = [...files, 'not/listed.zip'].map(changeOf);
      const { bytes, rewritten } = await pluginFor(path).rewrite(path, catalog(BEFORE), changes);
      expect(Buffer.from(bytes).equals(catalog(AFTER))).toBe(true);
      expect([...rewritten].toSorted()).toEqual(files.toSorted());
      const same = await pluginFor(path).rewrite(path, catalog(BEFORE), []);
      expect([Buffer.from(same.bytes).equals(catalog(BEFORE)), same.rewritten.size]).toEqual([true, 0]);
    },
  );

  it('refuse a value that no known algorithm gives for the official file', async () => {
    const path = 'Android_PatchPack/BundlePackingInfo.bytes';
    for (const wrong of [
      { size: 1 },
      { crc: 1n },
      { hash: 1n },
      { signature: text('unknown') },
      { signature: text('0') },
    ]) {
      const catalog = packingInfo({ ...BEFORE, ...wrong });
      const changes = [changeOf('Android_PatchPack/Full.zip!/b.bundle')];
      const rewrite = pluginFor(path).rewrite(path, catalog, changes);
      await expect(rewrite).rejects.toMatchObject({
        code: 'catalog_not_rewritten',
        fieldPath: changes[0]?.path,
      });
    }
  });

  it('keep values that stand for none, and strings in UTF-16', async () => {
    const path = 'Android_PatchPack/BundlePackingInfo.bytes';
    const changes = [
      changeOf('Android_PatchPack/Full.zip'),
      changeOf('Android_PatchPack/Full.zip!/b.bundle'),
    ];
    const empty = { hash: 0n, signature: text(null) };
    const first = await pluginFor(path).rewrite(path, packingInfo({ ...BEFORE, ...empty }), changes);
    expect(Buffer.from(first.bytes).equals(packingInfo({ ...AFTER, ...empty }))).toBe(true);
    const wide = (figures: typeof OLD): Buffer => utf16(figures.checksums.sha1.toUpperCase());
    const second = await pluginFor(path).rewrite(
      path,
      packingInfo({ ...BEFORE, signature: wide(OLD) }),
      changes,
    );
    expect(Buffer.from(second.bytes).equals(packingInfo({ ...AFTER, signature: wide(NEW) }))).toBe(true);
  });

  it('state decimal numbers as texts too', async () => {
    const change = changeOf('x');
    expect(newText(change, String(BEFORE.crc))).toBe(String(AFTER.crc));
    expect(newText(change, String(BEFORE.hash))).toBe(String(AFTER.hash));
  });

  it('refuse damaged catalogs, or keep their length', async () => {
    const path = 'TableBundles/TableCatalog.bytes';
    const changes = [changeOf('TableBundles/Excel.zip')];
    for (const damaged of mutations(tableCatalog(BEFORE), { seed: 1, count: 500 })) {
      try {
        const { bytes } = await pluginFor(path).rewrite(path, damaged, changes);
        expect(bytes.length).toBe(damaged.length);
      } catch (error) {
        if (!(error instanceof PatchError)) throw error;
      }
    }
  });
});
