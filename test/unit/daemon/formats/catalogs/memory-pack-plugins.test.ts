import { describe, expect, it } from 'vitest';
import type { CatalogPlugin, FileChange } from '../../../../../src/daemon/formats/catalogs/catalog-plugin.ts';
import { newText } from '../../../../../src/daemon/formats/catalogs/catalog-plugin.ts';
import { figuresOf } from '../../../../../src/daemon/formats/catalogs/file-figures.ts';
import { MEMORY_PACK_PLUGINS } from '../../../../../src/daemon/formats/catalogs/memory-pack-plugins.ts';
import { PatchError } from '../../../../../src/daemon/formats/patch/patch-error.ts';
import { memoryPack } from '../../../../../src/cli/dev/demo/catalogs/memory-pack-writer.ts';
import { mutations } from '../../../../support/mutate.ts';

const OFFICIAL = Buffer.from('the official file');
const PATCHED = Buffer.from('the patched file, which is longer');
const { object, list, map, text, utf16, boolean, int32, int64 } = memoryPack;

function changeOf(path: string): FileChange {
  return {
    path,
    before: figuresOf([OFFICIAL]),
    after: figuresOf([PATCHED.subarray(0, 3), PATCHED.subarray(3)]),
  };
}

const { before: OLD, after: NEW } = changeOf('');
const number = (digits: string): bigint => BigInt(`0x${digits}`);

interface Facts {
  readonly size: number;
  readonly crc: bigint;
  readonly hash: bigint;
  readonly signature: Buffer;
}
const factsOf = ({ size, checksums }: typeof OLD): Facts => ({
  size,
  crc: number(checksums.crc32),
  hash: number(checksums.xxh64),
  signature: text(checksums.md5),
});
const [BEFORE, AFTER] = [factsOf(OLD), factsOf(NEW)];
const OTHER: Facts = { size: 5, crc: 6n, hash: 7n, signature: text('8') };

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
const tablePack = (name: string, { size, crc }: Facts, bundles: Buffer): Buffer =>
  object([text(name), int64(size), int64(crc), boolean(false), bundles]);
const bundle = (name: string, { size, crc, hash, signature }: Facts): Buffer =>
  object([text(name), int64(size), boolean(false), int64(crc), boolean(false), int64(hash), signature]);
const pack = (name: string, { size, crc }: Facts, bundles: Buffer): Buffer =>
  object([text(name), int64(size), int64(crc), boolean(false), boolean(false), bundles]);
const media = (path: string, { size, crc }: Facts): Buffer =>
  object([text(path), text('x'), int64(size), int64(crc), boolean(false), boolean(false), int32(2)]);

const tableCatalog = (facts: Facts): Buffer =>
  object([
    map([
      ['a', table('other.zip', OTHER)],
      ['b', table('Excel.zip', facts)],
    ]),
    map([['p', tablePack('pack.zip', facts, list([table('inside.zip', facts), table('else.zip', OTHER)]))]]),
  ]);
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

describe('the plug-ins of MemoryPack catalogs', () => {
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
