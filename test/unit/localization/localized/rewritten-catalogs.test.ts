import type { LocalizedChannel } from '../../../../src/localization/localized/channel.ts';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { crc32, deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import { describe, expect, it, test } from 'vitest';
import { writeDemoRelease } from '../../../../demo/demo-release.ts';
import { jsonCatalog } from '../../../../demo/game/catalogs/addressables-json.ts';
import { createRandom } from '../../../../demo/game/seeded-random.ts';
import { demoCatalogs } from '../../../../demo/game/catalogs/demo-catalogs.ts';
import { bytesSource } from '../../../../src/formats/byte-source.ts';
import { writeBundle } from '../../../../demo/game/unity/write-bundle.ts';
import { writeSerializedFile } from '../../../../demo/game/unity/write-serialized-file.ts';
import type { CatalogPlugin } from '../../../../src/formats/catalogs/catalog-plugin.ts';
import { FormatError } from '../../../../src/formats/format-error.ts';
import { PatchError } from '../../../../src/formats/patch/patch-error.ts';
import { openTextAssets } from '../../../../src/formats/unity/bundle-text-assets.ts';
import { READ_LIMITS } from '../../../../src/formats/value-visitor.ts';
import { openZip } from '../../../../src/formats/zip/open-zip.ts';
import {
  CatalogError,
  type CatalogRewriter,
} from '../../../../src/localization/localized/catalogs/catalog-rewriter.ts';
import type { BaseRow } from '../../../../src/localization/localized/publish/base-release.ts';
import { rewriteReleaseCatalogs } from '../../../../src/localization/localized/publish/build-files.ts';
import type { KnownObject } from '../../../../src/releases/records/entry-row.ts';
import { parseConfigurationSchema } from '../../../../src/localization/parse/rules/parse-config.ts';
import type { TaskContext } from '../../../../src/engine/tasks/task.ts';
import { binaryCatalog, bundlesOfJson } from '../../../support/addressables-catalogs.ts';
import { encryptZipEntry } from '../../../support/encrypt-zip-entry.ts';
import { editOf } from '../../../support/frozen-edits.ts';
import { bundlePackingInfo, mediaCatalog, tableCatalog } from '../../../support/game-catalogs.ts';
import { campaignSize } from '../../../support/long.ts';
import { mutations } from '../../../support/mutate.ts';
import { patchBytes, unitsOf } from '../../../support/patch-bytes.ts';
import {
  contentHash,
  NO_RULES,
  rewriteRelease,
  sampleBundle,
  statedBundle,
  type Contents,
} from '../../../support/rewritten-release.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { sampleTextAsset } from '../../../support/unity-samples.ts';
import { writeZip } from '../../../support/write-zip.ts';
import { zipOf } from '../../../support/zip-of.ts';

const PATCHED_AGAIN = sampleBundle('Good morning, and welcome back.');
const NAME = 'texts_5c1b.bundle';
const OTHER = sampleBundle('何もない');

/** A bundle with a catalog of Addressables in a text asset, as for compressed local catalogs. */
const catalogBundle = (catalog: Buffer): Buffer =>
  writeBundle(
    [
      {
        name: 'CAB-catalog',
        bytes: writeSerializedFile({ version: 22, objects: [sampleTextAsset(-7n, 'catalog', catalog)] }),
      },
    ],
    { compression: 'lz4' },
  );

const md5 = (bytes: string | Buffer): string => createHash('md5').update(bytes).digest('hex');
const unzip = (bytes: Buffer, name: string): Buffer => {
  const archive = openZip(bytesSource(bytes), READ_LIMITS);
  return archive.readEntry(archive.entries.find((entry) => entry.name === name)!);
};

describe('rewritten catalogs', () => {
  const HASH = 'ab'.repeat(16);
  const OFFICIAL = sampleBundle('おはようございます。');
  const PATCHED = sampleBundle('Good morning, and welcome.');

  const changedBundle = (bytes: Buffer) => ({
    ...statedBundle(NAME, bytes, HASH),
    hash: contentHash(bytes),
  });

  describe('the catalogs of a release', () => {
    it('state the figures of patched bundles, and their sidecars the new checksum', async () => {
      const catalog = jsonCatalog([
        statedBundle(NAME, OFFICIAL, HASH),
        statedBundle('other.bundle', OTHER, HASH),
      ]);
      const official = {
        [`aa/Android/${NAME}`]: OFFICIAL,
        [`aa/Android/${NAME}.manifest`]: `ManifestFileVersion: 0\nCRC: ${statedBundle(NAME, OFFICIAL, HASH).crc}\nHashes:\n`,
        'aa/Android/other.bundle': OTHER,
        'aa/catalog_1.json': catalog,
        'aa/catalog_1.hash': md5(catalog),
        'aa/readme.txt': `all about ${NAME}`,
      };
      const hashes = new Set([HASH]);
      const sidecars = new Set([md5(catalog)]);
      for (const bytes of [PATCHED, PATCHED_AGAIN]) {
        const patched = { [`aa/Android/${NAME}`]: bytes };
        const changed = await rewriteRelease(official, patched);
        expect([...changed.keys()]).toEqual([
          `aa/Android/${NAME}`,
          `aa/Android/${NAME}.manifest`,
          'aa/catalog_1.json',
          'aa/catalog_1.hash',
        ]);
        const rewritten = changed.get('aa/catalog_1.json')!;
        expect(bundlesOfJson(rewritten.toString())).toEqual([
          changedBundle(bytes),
          statedBundle('other.bundle', OTHER, HASH),
        ]);
        expect(changed.get('aa/catalog_1.hash')!.toString()).toBe(md5(rewritten));
        expect(changed.get(`aa/Android/${NAME}.manifest`)!.toString()).toContain(
          `CRC: ${changedBundle(bytes).crc}\n`,
        );
        hashes.add(bundlesOfJson(rewritten.toString())[0]!.hash);
        sidecars.add(md5(rewritten));
        expect(await rewriteRelease(official, patched)).toEqual(changed);
      }
      // Clients cache by name and hash: official, patched and patched again are three bundles.
      expect(hashes.size).toBe(3);
      expect(sidecars.size).toBe(3);
    });

    it('are found in archives, innermost first, and the archives in outer catalogs', async () => {
      const catalog = binaryCatalog([statedBundle(NAME, OFFICIAL, HASH)]);
      const inner = await zipOf({ 'catalog.bin': catalog, 'catalog.hash': md5(catalog) });
      const outer = await zipOf({ 'readme.md': 'kept', 'catalogs/inner.zip': inner });
      const pack = await zipOf({ [NAME]: OFFICIAL, 'other.bundle': OTHER });
      const patchedPack = await zipOf({ [NAME]: PATCHED, 'other.bundle': OTHER });
      const table = (name: string, bytes: Buffer) => ({ name, size: bytes.length, crc: crc32(bytes) });
      const tables = (files: Readonly<Record<string, Buffer>>): Buffer =>
        tableCatalog(
          Object.entries(files).map(([name, bytes]) => table(name, bytes)),
          null,
        );
      const listed = tables({ 'Pack_000.zip': pack, 'catalog_Android.zip': outer });
      const changed = await rewriteRelease(
        {
          'Android/Pack_000.zip': pack,
          'Android/catalog_Android.zip': outer,
          'Android/catalog_Android.hash': String(crc32(outer)),
          'Android/TableCatalog.bytes': listed,
          'Android/TableCatalog.hash': String(crc32(listed)),
        },
        { 'Android/Pack_000.zip': patchedPack },
      );
      const newOuter = changed.get('Android/catalog_Android.zip')!;
      const newInner = unzip(newOuter, 'catalogs/inner.zip');
      const newCatalog = unzip(newInner, 'catalog.bin');
      expect(newCatalog.includes(Buffer.from(contentHash(PATCHED), 'hex'))).toBe(true);
      expect(unzip(newInner, 'catalog.hash').toString()).toBe(md5(newCatalog));
      expect(unzip(newOuter, 'readme.md').toString()).toBe('kept');
      expect(changed.get('Android/catalog_Android.hash')!.toString()).toBe(String(crc32(newOuter)));
      const newList = changed.get('Android/TableCatalog.bytes')!;
      expect(newList).toEqual(tables({ 'Pack_000.zip': patchedPack, 'catalog_Android.zip': newOuter }));
      expect(changed.get('Android/TableCatalog.hash')!.toString()).toBe(String(crc32(newList)));
      expect(changed.size).toBe(5);
    });

    it('keep the text that was patched in the same archive', async () => {
      const list = (texts: string): string =>
        JSON.stringify([{ Name: 'texts.csv', Size: texts.length, Crc: crc32(texts) }]);
      const [before, after] = ['id,text\n1,jp\n', 'id,text\n1,english\n'];
      const official = await zipOf({ 'texts.csv': before, 'list.json': list(before) });
      const patched = await zipOf({ 'texts.csv': after, 'list.json': list(before) });
      const lists = [
        { files: ['**/list.json'], format: 'json', path: 'Name', size: ['Size'], checksums: ['Crc'] },
      ];
      const changed = await rewriteRelease(
        { 'a.zip': official },
        { 'a.zip': patched },
        { catalogs: { lists } },
      );
      expect(unzip(changed.get('a.zip')!, 'texts.csv').toString()).toBe(after);
      expect(unzip(changed.get('a.zip')!, 'list.json').toString()).toBe(list(after));
    });

    it('in MemoryPack list media below another folder, and files in packs', async () => {
      const [before, after] = [Buffer.from('official media'), Buffer.from('patched media file')];
      const stated = (bytes: Buffer) => ({ name: 'Data/a.zip', size: bytes.length, crc: crc32(bytes) });
      const official = {
        'Media/Data/a.zip': before,
        'Media/Catalog/MediaCatalog.bytes': mediaCatalog([stated(before)]),
      };
      const changed = await rewriteRelease(official, { 'Media/Data/a.zip': after });
      expect(changed.get('Media/Catalog/MediaCatalog.bytes')).toEqual(mediaCatalog([stated(after)]));
      const packs = bundlePackingInfo([{ name: 'p.zip', size: 1, crc: 2, inside: ['x.bundle'] }], null);
      const zips = [await zipOf({ 'x.bundle': OFFICIAL }), await zipOf({ 'x.bundle': PATCHED })] as const;
      const refused = rewriteRelease(
        { 'A/BundlePackingInfo.bytes': packs, 'A/p.zip': zips[0] },
        { 'A/p.zip': zips[1] },
      );
      await expect(refused).rejects.toThrow(
        'A/BundlePackingInfo.bytes: A/p.zip: the catalog states the size 1',
      );
    });

    it('of two platforms mean the bundles beside them', async () => {
      const [windows, twin] = [sampleBundle('Windows の文'), sampleBundle('Windows text')];
      const catalogOf = (bytes: Buffer): string => jsonCatalog([statedBundle(NAME, bytes, HASH)]);
      const official = {
        [`Android/${NAME}`]: OFFICIAL,
        'Android/catalog.json': catalogOf(OFFICIAL),
        [`Windows/${NAME}`]: windows,
        'Windows/catalog.json': catalogOf(windows),
        'all/catalog_Android.json': catalogOf(OFFICIAL),
        'all/catalog_Windows.json': catalogOf(windows),
      };
      const one = await rewriteRelease(official, { [`Android/${NAME}`]: PATCHED });
      expect([...one.keys()]).toEqual([
        `Android/${NAME}`,
        'Android/catalog.json',
        'all/catalog_Android.json',
      ]);
      const both = await rewriteRelease(official, {
        [`Android/${NAME}`]: PATCHED,
        [`Windows/${NAME}`]: twin,
      });
      const hashIn = (path: string): string => bundlesOfJson(both.get(path)!.toString())[0]!.hash;
      expect([...both.keys()]).toEqual(Object.keys(official));
      expect(hashIn('Android/catalog.json')).toBe(contentHash(PATCHED));
      expect(hashIn('Windows/catalog.json')).toBe(contentHash(twin));
      expect(hashIn('all/catalog_Android.json')).toBe(contentHash(PATCHED));
      expect(hashIn('all/catalog_Windows.json')).toBe(contentHash(twin));
    });

    it('of two platforms may have a position that is the size of a bundle of the other one', async () => {
      const names = Array.from({ length: 60 }, (_, index) => `group${index}.bundle`);
      const bundlesOf = (seed: number): ReadonlyMap<string, Buffer> => {
        const random = createRandom(seed);
        const bundleOf = (name: string): Buffer =>
          writeBundle([{ name, bytes: random.bytes(1000 + random.below(9000)) }], { compression: 'none' });
        return new Map(names.map((name) => [name, bundleOf(name)]));
      };
      const platforms = ['Android', 'iOS'].map((folder, index) => {
        const official = bundlesOf(11 * (1 + index));
        const stated = Array.from(official, ([name, bytes]) => statedBundle(name, bytes, HASH));
        return {
          folder,
          official,
          catalog: binaryCatalog(stated),
          patched: bundlesOf(50 + 11 * index),
        };
      });
      const contents = (which: 'official' | 'patched'): Contents =>
        Object.fromEntries(
          platforms.flatMap(({ folder, ...platform }) => [
            ...Array.from(platform[which], ([name, bytes]) => [`${folder}/${name}`, bytes] as const),
            ...(which === 'official' ? [[`${folder}/catalog.bin`, platform.catalog] as const] : []),
          ]),
        );
      const sizesIn = (catalog: Buffer, bundles: ReadonlyMap<string, Buffer>): number =>
        Array.from(bundles.values(), ({ length }) => Buffer.from(Uint32Array.of(length).buffer)).filter(
          (size) => catalog.includes(size),
        ).length;
      const changed = await rewriteRelease(contents('official'), contents('patched'));
      for (const { folder, patched } of platforms) {
        const stated = Array.from(patched, ([name, bytes]) => statedBundle(name, bytes, contentHash(bytes)));
        const figures = changed.get(`${folder}/catalog.bin`)!;
        for (const { hash } of stated) expect(figures.includes(Buffer.from(hash, 'hex'))).toBe(true);
      }
      expect(changed.size).toBe(2 * names.length + 2);
      expect(sizesIn(platforms[0]!.catalog, platforms[1]!.official)).toBeGreaterThan(0);
    });

    it('beside each other mean the bundles whose folders they name', async () => {
      const windows = sampleBundle('こんばんは。皆さん。');
      const twin = sampleBundle('Good evening, everybody.');
      const catalogOf = (folder: string, bytes: Buffer): string =>
        jsonCatalog([
          // No figure tells which bundle is meant.
          { ...statedBundle(NAME, bytes, HASH), internalId: `{Path}\\${folder}\\${NAME}`, crc: 0, size: 0 },
        ]);
      const official = {
        [`Android/${NAME}`]: OFFICIAL,
        [`Windows/${NAME}`]: windows,
        'catalog_a.json': catalogOf('Android', OFFICIAL),
        'catalog_w.json': catalogOf('Windows', windows),
      };
      const both = await rewriteRelease(official, {
        [`Android/${NAME}`]: PATCHED,
        [`Windows/${NAME}`]: twin,
      });
      const hashIn = (path: string): string => bundlesOfJson(both.get(path)!.toString())[0]!.hash;
      expect(hashIn('catalog_a.json')).toBe(contentHash(PATCHED));
      expect(hashIn('catalog_w.json')).toBe(contentHash(twin));
      const one = await rewriteRelease(official, { [`Windows/${NAME}`]: twin });
      expect([...one.keys()]).toEqual([`Windows/${NAME}`, 'catalog_w.json']);
    });

    it.each(['json', 'bin'])(
      'as %s mean the bundle whose figures they state, though one that stays is nearer',
      async (kind) => {
        const [twin, own] = [sampleBundle('Another text.'), sampleBundle('別の文。')];
        const catalogOf = (stated: Buffer, change = {}): string | Buffer => {
          const bundles = [
            { ...statedBundle(NAME, stated, HASH), internalId: `{Url}/Android/${NAME}`, ...change },
          ];
          return kind === 'json' ? jsonCatalog(bundles) : binaryCatalog(bundles);
        };
        const path = `aa/Android/catalog.${kind}`;
        const rewrite = async (catalog: string | Buffer): Promise<Buffer | undefined> => {
          const bundles = { [`aa/Android/${NAME}`]: own, [`remote/Android/${NAME}`]: OFFICIAL };
          const patched = { [`remote/Android/${NAME}`]: PATCHED };
          const official = { ...bundles, [`other/${NAME}`]: twin, [path]: catalog };
          return (await rewriteRelease(official, patched)).get(path);
        };
        expect(await rewrite(catalogOf(OFFICIAL))).toEqual(
          Buffer.from(catalogOf(PATCHED, { hash: contentHash(PATCHED) })),
        );
        for (const nearer of [catalogOf(own), catalogOf(own, { crc: 0, size: 0 }), catalogOf(twin)]) {
          expect(await rewrite(nearer)).toBeUndefined();
        }
        // A CRC that clients check must not stay.
        await expect(rewrite(catalogOf(OFFICIAL, { size: 7 }))).rejects.toThrow(
          'the catalog states the size 7',
        );
      },
    );

    it('are rewritten inside of a bundle, whose catalogs and sidecars follow', async () => {
      const stated = [statedBundle(NAME, OFFICIAL, HASH), statedBundle('other.bundle', OTHER, HASH)];
      const changedStated = [changedBundle(PATCHED), stated[1]!];
      for (const [catalog, expected] of [
        [Buffer.from(jsonCatalog(stated)), Buffer.from(jsonCatalog(changedStated))],
        [binaryCatalog(stated), null],
      ] as const) {
        const bundled = catalogBundle(catalog);
        const outer = jsonCatalog([statedBundle('catalog.bundle', bundled, HASH)]);
        const changed = await rewriteRelease(
          {
            [`aa/Android/${NAME}`]: OFFICIAL,
            'aa/Android/other.bundle': OTHER,
            'aa/catalog.bundle': bundled,
            'aa/catalog.hash': md5(catalog),
            'aa/main.json': outer,
          },
          { [`aa/Android/${NAME}`]: PATCHED },
        );
        const next = changed.get('aa/catalog.bundle')!;
        const { assets } = openTextAssets(bytesSource(next), READ_LIMITS);
        const script = assets[0]!.read();
        expect(script.includes(Buffer.from(contentHash(OFFICIAL), 'hex'))).toBe(false);
        expect(bundlesOfJson(changed.get('aa/main.json')!.toString())).toEqual([
          { ...statedBundle('catalog.bundle', next, HASH), hash: contentHash(next) },
        ]);
        if (expected === null) expect(script.includes(Buffer.from(contentHash(PATCHED), 'hex'))).toBe(true);
        else expect(script).toEqual(expected);
        expect(changed.get('aa/catalog.hash')!.toString()).toBe(md5(script));
      }
    });

    it('are found in an archive with other bytes in front of it', async () => {
      const catalog = jsonCatalog([statedBundle(NAME, OFFICIAL, HASH)]);
      const zip = Buffer.concat([
        Buffer.from('MZ\u0090\0', 'latin1'),
        await zipOf({ 'aa/catalog.json': catalog }),
      ]);
      const changed = await rewriteRelease({ [NAME]: OFFICIAL, 'setup.exe': zip }, { [NAME]: PATCHED });
      const rewritten = unzip(changed.get('setup.exe')!, 'aa/catalog.json').toString();
      expect(bundlesOfJson(rewritten)).toEqual([changedBundle(PATCHED)]);
    });

    it.each([
      ['catalog.json.gz', gzipSync, gunzipSync],
      ['catalog.json.zlib', deflateSync, inflateSync],
    ])('are found in the compressed file %s', async (name, compress, decompress) => {
      const compressed = compress(jsonCatalog([statedBundle(NAME, OFFICIAL, HASH)]));
      const changed = await rewriteRelease(
        { [NAME]: OFFICIAL, [name]: compressed, 'catalog.json.hash': md5(compressed) },
        { [NAME]: PATCHED },
      );
      expect(bundlesOfJson(decompress(changed.get(name)!).toString())).toEqual([changedBundle(PATCHED)]);
    });

    it('of an unknown kind are refused in a compressed file too', async () => {
      const list = deflateSync(JSON.stringify([{ file: NAME, size: OFFICIAL.length, crc: crc32(OFFICIAL) }]));
      await expect(
        rewriteRelease({ [NAME]: OFFICIAL, 'list.bytes': list }, { [NAME]: PATCHED }),
      ).rejects.toMatchObject({ code: 'catalog_not_rewritten', fieldPath: 'list.bytes!/content' });
    });

    it('in a bundle with an asset that cannot be read are refused by their name', async () => {
      const objects = [sampleTextAsset(1n, 'a', 'b'), sampleTextAsset(2n, 'c', 'd'.repeat(99))];
      const file = writeSerializedFile({ version: 22, objects });
      file.writeUInt32LE(0x7fff_ffff, file.indexOf('ddd') - 4);
      const bundle = writeBundle([{ name: 'CAB-catalog', bytes: file }], { compression: 'lz4' });
      const official = { 'aa/catalog.bundle': bundle, [NAME]: OFFICIAL };
      await expect(rewriteRelease(official, { [NAME]: PATCHED })).rejects.toMatchObject({
        code: 'catalog_not_rewritten',
        fieldPath: 'aa/catalog.bundle',
      });
    });

    it('that nobody can look into are refused by their name, unless no bundle changes', async () => {
      const official = {
        'aa/catalog.bundle': Buffer.from('UnityFS\0encrypted'),
        [NAME]: OFFICIAL,
        'a.csv': 'a',
      };
      await expect(rewriteRelease(official, { [NAME]: PATCHED })).rejects.toMatchObject({
        code: 'catalog_not_rewritten',
        fieldPath: 'aa/catalog.bundle',
      });
      expect((await rewriteRelease(official, { 'a.csv': 'b' })).size).toBe(1);
      const ignore = { catalogs: { ignore: ['aa/*'] } };
      expect((await rewriteRelease(official, { [NAME]: PATCHED }, ignore)).size).toBe(1);
    });

    it('are refused where they are ignored and name a changed bundle', async () => {
      const catalog = jsonCatalog([statedBundle(NAME, OFFICIAL, HASH)]);
      const { crc } = statedBundle(NAME, OFFICIAL, HASH);
      for (const [path, content] of [
        ['aa/catalog.json', catalog],
        ['aa/catalog.bin', binaryCatalog([statedBundle(NAME, OFFICIAL, HASH)])],
        // Its figures are not known, so nothing can rewrite it either.
        ['aa/catalog.json', jsonCatalog([{ ...statedBundle(NAME, OFFICIAL, HASH), size: 7 }])],
        ['aa/catalog.bundle', catalogBundle(Buffer.from(catalog))],
        ['aa/catalog.zip', await zipOf({ 'a/catalog.json': catalog })],
        ['aa/own.lua', `bundles = { ["${NAME}"] = ${crc} }`],
      ] as const) {
        const official = { [`aa/${NAME}`]: OFFICIAL, 'aa/other.bundle': OTHER, [path]: content };
        for (const ignore of [['aa/[!t]*'], [path]]) {
          const refused = rewriteRelease(official, { [`aa/${NAME}`]: PATCHED }, { catalogs: { ignore } });
          await expect(refused).rejects.toThrow(
            /names aa\/texts_5c1b\.bundle, .*localized\.catalogs\.ignore/s,
          );
        }
        const ignore = { catalogs: { ignore: [path] } };
        // It does not name this one, so it may stay.
        expect([...(await rewriteRelease(official, { 'aa/other.bundle': PATCHED }, ignore)).keys()]).toEqual([
          'aa/other.bundle',
        ]);
      }
    });
  });

  describe('a catalog that nothing rewrites', () => {
    const [before, after] = ['id,text\n1,official\n'.repeat(10), 'id,text\n1,new text\n'.repeat(11)];
    const rewrite = async (name: string, content: string | Buffer, catalogs: unknown = {}) =>
      await rewriteRelease(
        { 'data/texts.csv': before, [name]: content },
        { 'data/texts.csv': after },
        { catalogs },
      );
    const decimal = String(crc32(before));

    it.for([
      ['a checksum in XML', 'files.xml', `<file name="texts.csv" md5="${md5(before).toUpperCase()}"/>`],
      ['a size in text', 'files.lst', `data/texts.csv ${before.length}\n`],
      ['a CRC in JSON', 'x.json', JSON.stringify({ 'texts.csv': Number(decimal) })],
      ['UTF-16', 'x.txt', Buffer.from(`\uFEFFtexts.csv;${decimal}`, 'utf16le')],
      ['UTF-16 of the other order', 'x.txt', Buffer.from(`\uFEFFtexts.csv;${decimal}`, 'utf16le').swap16()],
      [
        'binary numbers',
        'x.dat',
        Buffer.concat([Buffer.from('\0\u0001texts.csv\0'), Buffer.of(before.length, 0, 0, 0)]),
      ],
      [
        'a binary checksum',
        'x.dat',
        Buffer.concat([Buffer.from('\0\u0001texts.csv'), createHash('sha1').update(before).digest()]),
      ],
    ] as const)('is refused: %s', async ([, name, content]) => {
      await expect(rewrite(name, content)).rejects.toMatchObject({
        code: 'catalog_not_rewritten',
        fieldPath: name,
      });
      // The operator knows better.
      expect([...(await rewrite(name, content, { ignore: [name] })).keys()]).toEqual(['data/texts.csv']);
    });

    it('is refused in an archive too', async () => {
      const archive = await zipOf({ 'sub/files.xml': `<file name="texts.csv" md5="${md5(before)}"/>` });
      await expect(rewrite('a.zip', archive)).rejects.toMatchObject({ fieldPath: 'a.zip!/sub/files.xml' });
      for (const ignore of ['a.zip', '**/files.xml']) {
        expect((await rewrite('a.zip', archive, { ignore: [ignore] })).size).toBe(1);
      }
    });

    it('is not refused without the name, or without an official figure', async () => {
      for (const content of [
        `texts.csv is read at start; see page ${before.length + 1}`,
        `other.csv ${before.length} ${md5(before)}`,
        `texts.csv ${md5(after)} ${after.length}`,
        `texts.csv 1${before.length} ${before.length}.5`,
      ]) {
        expect((await rewrite('files.txt', content)).size).toBe(1);
      }
    });

    it('is refused with the name as JSON and addresses write it', async () => {
      const name = '物語 one.csv';
      for (const stated of [
        encodeURIComponent(name),
        '\\u7269\\u8a9e one.csv',
        '\\u7269\\u8A9E one.csv',
        name,
      ]) {
        const list = `["${stated}", "${md5(before)}"]`;
        const refused = rewriteRelease({ [name]: before, 'x.json': list }, { [name]: after });
        await expect(refused).rejects.toMatchObject({ code: 'catalog_not_rewritten' });
      }
    });

    it.for([
      ['json', [{ Name: 'texts.csv', Size: before.length, Hash: 'f'.repeat(32) }], 'fff'],
      ['json', [{ Name: 'texts.csv', Size: before.length + 1 }], 'the size'],
    ] as const)(
      'is refused when a rule knows it and its values are unknown: %s %j',
      async ([format, list, message]) => {
        const lists = [
          {
            files: ['list.json'],
            format,
            folder: 'data/',
            path: 'Name',
            size: ['Size'],
            checksums: ['Hash'],
          },
        ];
        await expect(rewrite('list.json', JSON.stringify(list), { lists })).rejects.toThrow(message);
        await expect(rewrite('list.json', '["texts.csv', { lists })).rejects.toMatchObject({
          code: 'catalog_not_rewritten',
        });
      },
    );

    it('is refused when it is a sidecar with an unknown checksum, but not when it is about another file', async () => {
      await expect(rewrite('data/texts.hash', 'f'.repeat(32))).rejects.toThrow('beside which it stands');
      const changed = await rewriteRelease(
        { 'data/texts.csv': before, 'data/texts.png': 'picture', 'data/texts.hash': md5('picture') },
        { 'data/texts.csv': after },
      );
      expect([...changed.keys()]).toEqual(['data/texts.csv']);
      const about = await rewrite('data/texts.csv.md5', ` ${md5(before).toUpperCase()}\n`);
      expect(about.get('data/texts.csv.md5')!.toString()).toBe(` ${md5(after).toUpperCase()}\n`);
    });
  });

  describe('the catalogs of files that people have patched', () => {
    const [before, after] = ['id,text\n1,official\n'.repeat(10), 'id,text\n1,new text\n'.repeat(11)];
    const list = (text: string, more = {}): string =>
      JSON.stringify([{ Name: 'texts.csv', Size: text.length, Md5: md5(text), ...more }]);
    const lists = [
      { files: ['**/list.json'], format: 'json', path: 'Name', size: ['Size'], checksums: ['Md5'] },
    ];
    const options = { catalogs: { lists }, keepsChanged: true };
    const official = { 'texts.csv': before, 'list.json': list(before), 'list.hash': md5(list(before)) };

    it('are rewritten where they are not among the files', async () => {
      const changed = await rewriteRelease(official, { 'texts.csv': after }, options);
      expect(changed.get('list.json')!.toString()).toBe(list(after));
      expect(changed.get('list.hash')!.toString()).toBe(md5(list(after)));
    });

    it('stay as they are where they are among the files, and their sidecars follow them', async () => {
      const own = list(after, { Priority: 1 });
      const changed = await rewriteRelease(official, { 'texts.csv': after, 'list.json': own }, options);
      expect(changed.get('list.json')!.toString()).toBe(own);
      expect(changed.get('list.hash')!.toString()).toBe(md5(own));
      const given = { 'texts.csv': after, 'list.json': own, 'list.hash': 'f'.repeat(32) };
      expect((await rewriteRelease(official, given, options)).get('list.hash')!.toString()).toBe(
        'f'.repeat(32),
      );
    });

    it('are refused where they still state a figure of an official file', async () => {
      const stale = list(before, { Priority: 1 });
      for (const [path, patched] of [
        ['list.json', { 'list.json': stale }],
        ['list.json', { 'list.json': list(after, { Size: before.length }) }],
        ['list.hash', { 'list.json': list(after), 'list.hash': ` ${md5(list(before))}` }],
      ] as const) {
        const refused = rewriteRelease(official, { 'texts.csv': after, ...patched }, options);
        await expect(refused).rejects.toMatchObject({ code: 'catalog_not_rewritten', fieldPath: path });
      }
      // The sidecar of the ignored list follows it.
      const ignored = { ...options, catalogs: { lists, ignore: ['list.json'] } };
      const kept = await rewriteRelease(official, { 'texts.csv': after, 'list.json': stale }, ignored);
      expect(kept.get('list.json')!.toString()).toBe(stale);
      expect(kept.get('list.hash')!.toString()).toBe(md5(stale));
    });

    it('in archives stay only where the patch has changed them', async () => {
      const zip = async (text: string, listed: string): Promise<Buffer> =>
        await zipOf({ 'texts.csv': text, 'list.json': listed });
      const from = { 'a.zip': await zip(before, list(before)) };
      const rewrite = async (patched: Buffer): Promise<Buffer> =>
        (await rewriteRelease(from, { 'a.zip': patched }, options)).get('a.zip')!;
      expect(unzip(await rewrite(await zip(after, list(before))), 'list.json').toString()).toBe(list(after));
      const own = await zip(after, list(after, { Priority: 1 }));
      expect(await rewrite(own)).toEqual(own);
      await expect(rewrite(await zipOf({ 'texts.csv': after }))).rejects.toMatchObject({
        code: 'catalog_not_rewritten',
        fieldPath: 'a.zip!/list.json',
      });
      // A file that is not an archive any longer has no catalogs inside.
      expect((await rewrite(Buffer.from('no archive'))).toString()).toBe('no archive');
    });
  });

  describe('catalogs in a circle', () => {
    const [before, after] = ['x'.repeat(998), 'x'.repeat(1001)];

    it('settle where they state sizes of each other', async () => {
      const write = (files: Readonly<Record<string, number>>): string =>
        JSON.stringify(Object.entries(files).map(([Name, Size]) => ({ Name, Size })));
      const sizesOf = (size: number): Record<'one.json' | 'two.json', string> => {
        const two = write({ 'one.json': 0 });
        let sizes = [0, 0];
        for (let round = 0; round < 5; round += 1) {
          const one = write({ 'texts.csv': size, 'two.json': sizes[1]! });
          sizes = [one.length, write({ 'one.json': one.length }).length];
        }
        expect(two.length).toBeLessThan(sizes[1]!);
        return {
          'one.json': write({ 'texts.csv': size, 'two.json': sizes[1]! }),
          'two.json': write({ 'one.json': sizes[0]! }),
        };
      };
      const lists = [{ files: ['*.json'], format: 'json', path: 'Name', size: ['Size'] }];
      const changed = await rewriteRelease(
        { 'texts.csv': before, ...sizesOf(before.length) },
        { 'texts.csv': after },
        { catalogs: { lists } },
      );
      const { 'one.json': one, 'two.json': two } = sizesOf(after.length);
      expect(changed.get('one.json')!.toString()).toBe(one);
      expect(changed.get('two.json')!.toString()).toBe(two);
    });

    it('are refused where they state checksums of each other', async () => {
      const plugin: CatalogPlugin = {
        name: 'checksums',
        recognizes: (path) => path.endsWith('.list'),
        rewrite: async (path, bytes, changes) => {
          const others = changes.filter((change) => change.path !== path);
          const sums = others.map((change) => `${change.path} ${change.after.checksums.md5}`);
          return await Promise.resolve({
            bytes: Buffer.concat([bytes, Buffer.from(sums.join('\n'))]),
            rewritten: new Set(others.map((change) => change.path)),
          });
        },
      };
      const refused = rewriteRelease(
        { 'texts.csv': before, 'one.list': 'texts.csv two.list\n', 'two.list': 'one.list\n' },
        { 'texts.csv': after },
        { plugins: [plugin] },
      );
      await expect(refused).rejects.toThrow('in a circle, so no values fit: one.list, two.list');
    });
  });
});

const RELEASE = '1.67.412528-r89_demo';

async function readTree(directory: string): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files.set(path.slice(directory.length + 1), await readFile(path));
  }
  return files;
}

/** Patches a file of the demo: its first texts get another wording. */
async function patched(destination: string, content: Buffer): Promise<Buffer> {
  const units = await unitsOf(destination, content);
  const edits = units.slice(0, 3).map((unit) => editOf(unit, `${unit.sourceText} は`));
  const { bytes } = await patchBytes(destination, content, edits);
  if (bytes === null) throw new Error(`${destination} is not patched`);
  return bytes;
}

describe('the catalogs of the demo release', () => {
  it('state what the generator would state for the patched files', async () => {
    const directory = await temporaryDirectory();
    await writeDemoRelease(join(directory, 'demo'), RELEASE);
    const official = await readTree(join(directory, 'demo'));
    const bundle = [...official.keys()].find((path) => path.includes('scenario-chapter0'))!;
    const changes = new Map<string, Buffer>();
    for (const path of [
      bundle,
      'TableBundles/Excel00.zip',
      'TableBundles/Localize000.csv',
      'TableBundles/ExcelDB.db',
    ]) {
      changes.set(path, await patched(path, official.get(path)!));
    }
    const result = await rewriteRelease(Object.fromEntries(official), Object.fromEntries(changes));
    const catalogs = [
      'TableBundles/TableCatalog.bytes',
      'TableBundles/TableCatalog.hash',
      'Windows_PatchPack/catalog_Windows.hash',
      'Windows_PatchPack/catalog_Windows.zip',
    ];
    expect([...result.keys()].toSorted()).toEqual([...changes.keys(), ...catalogs].toSorted());
    // The generator lists all files in a folder; it never lists its own catalogs.
    for (const [path, bytes] of official) {
      if (catalogs.includes(path) || !path.startsWith('TableBundles/')) continue;
      const copy = join(directory, 'copy', path);
      await mkdir(dirname(copy), { recursive: true });
      await writeFile(copy, changes.get(path) ?? bytes);
    }
    const wanted = await demoCatalogs(join(directory, 'copy'), RELEASE);
    for (const path of catalogs.slice(0, 2)) expect(result.get(path)).toEqual(wanted.get(path));
    const archive = (bytes: Buffer): Buffer => {
      const zip = openZip(bytesSource(bytes), READ_LIMITS);
      return zip.readEntry(zip.entries[0]!);
    };
    const [before, after] = [official, result].map((files) =>
      archive(files.get('Windows_PatchPack/catalog_Windows.zip')!),
    ) as [Buffer, Buffer];
    expect(result.get(catalogs[2]!)!.toString()).toBe(createHash('md5').update(after).digest('hex'));
    const bytes = changes.get(bundle)!;
    const name = bundle.slice(bundle.indexOf('/') + 1);
    const { crc, size } = statedBundle(name, bytes, '');
    expect(bundlesOfJson(after.toString())).toEqual(
      bundlesOfJson(before.toString()).map((old) =>
        old.internalId.endsWith(name) ? { ...old, hash: contentHash(bytes), crc, size } : old,
      ),
    );
  });
});

const stated = (name: string, bytes: Buffer) => ({ name, size: bytes.length, crc: crc32(bytes) });

const LISTS = [{ files: ['**/list.json'], format: 'json', path: 'Name', size: ['Size'] }];

describe('the catalogs of a hostile release', () => {
  const HASH = 'cd'.repeat(16);
  const [OFFICIAL, PATCHED] = [sampleBundle('おはよう'), sampleBundle('Good morning, all of you')];

  /** A release with every kind of catalog, and one patched bundle. */
  async function sampleRelease(): Promise<Contents> {
    const json = jsonCatalog([statedBundle('x.bundle', OFFICIAL, HASH)]);
    const archive = await zipOf({ 'catalog.json': json, 'notes.txt': 'x.bundle is loaded first' });
    const tables = tableCatalog([stated('x.bundle', OFFICIAL), stated('catalogs.zip', archive)], null);
    return {
      'A/x.bundle': OFFICIAL,
      'A/x.bundle.manifest': `ManifestFileVersion: 0\nCRC: ${statedBundle('x.bundle', OFFICIAL, HASH).crc}\n`,
      'A/catalogs.zip': archive,
      'A/catalog.bin': binaryCatalog([statedBundle('x.bundle', OFFICIAL, HASH)]),
      'A/catalog.bundle': catalogBundle(Buffer.from(json)),
      'A/TableCatalog.bytes': tables,
      'A/TableCatalog.hash': String(crc32(tables)),
      'A/Catalog/MediaCatalog.bytes': mediaCatalog([stated('x.bundle', OFFICIAL)]),
      'A/list.json': JSON.stringify([{ Name: 'x.bundle', Size: OFFICIAL.length }]),
    };
  }

  const PATCH = { 'A/x.bundle': PATCHED };

  it('are rewritten or refused, without another error or a hang', async () => {
    const release = await sampleRelease();
    const catalogs = Object.keys(release).filter((path) => path !== 'A/x.bundle');
    const counts = { refused: 0, rewritten: 0 };
    const count = campaignSize(8, 400);
    for (const [index, path] of catalogs.entries()) {
      for (const damaged of mutations(Buffer.from(release[path]!), { seed: 160 + index, count })) {
        try {
          await rewriteRelease({ ...release, [path]: damaged }, PATCH, { catalogs: { lists: LISTS } });
          counts.rewritten += 1;
        } catch (error) {
          if (!(error instanceof PatchError || error instanceof FormatError)) throw error;
          counts.refused += 1;
        }
      }
    }
    expect(counts.refused).toBeGreaterThan(catalogs.length);
    expect(counts.rewritten).toBeGreaterThan(catalogs.length);
  });

  it('in a damaged bundle are read and written or refused, without another error or a hang', () => {
    const bundled = catalogBundle(Buffer.from(jsonCatalog([statedBundle('x.bundle', OFFICIAL, HASH)])));
    const counts = { refused: 0, written: 0 };
    for (const damaged of mutations(bundled, { seed: 34, count: campaignSize(2000, 40_000) })) {
      try {
        const { assets, write } = openTextAssets(bytesSource(damaged), READ_LIMITS);
        const contents = assets.map(
          ({ name, read }) => [name, Buffer.concat([read(), Buffer.from('{}')])] as const,
        );
        for (const { length } of write(new Map(contents))) counts.written += Math.min(length, 1);
      } catch (error) {
        if (!(error instanceof PatchError || error instanceof FormatError)) throw error;
        counts.refused += 1;
      }
    }
    expect(counts.refused).toBeGreaterThan(100);
    expect(counts.written).toBeGreaterThan(100);
  });

  it('stay as they are when they state the new figures already', async () => {
    const release = await sampleRelease();
    const options = { catalogs: { lists: LISTS } };
    const changed = await rewriteRelease(release, PATCH, options);
    expect([...changed.keys()].toSorted()).toEqual(Object.keys(release).toSorted());
    expect(await rewriteRelease(release, Object.fromEntries(changed), options)).toEqual(changed);
  });

  it('are searched only so deep, and left alone where an archive cannot be read', async () => {
    const list = `x.bundle ${crc32(OFFICIAL)}`;
    let archive = await zipOf({ 'list.txt': list });
    const release = { 'x.bundle': OFFICIAL, 'cut.zip': archive.subarray(0, -4) };
    expect((await rewriteRelease(release, { 'x.bundle': PATCHED })).size).toBe(1);
    for (let depth = 1; depth < 4; depth += 1) {
      const refused = rewriteRelease({ ...release, 'a.zip': archive }, { 'x.bundle': PATCHED });
      await expect(refused).rejects.toMatchObject({
        fieldPath: `a.zip!/${'b.zip!/'.repeat(depth - 1)}list.txt`,
      });
      archive = await zipOf({ 'b.zip': archive });
    }
    for (let depth = 4; depth < 6; depth += 1) archive = await zipOf({ 'b.zip': archive });
    expect((await rewriteRelease({ ...release, 'a.zip': archive }, { 'x.bundle': PATCHED })).size).toBe(1);
  });

  it('are read with the passwords of the parser, and stay encrypted', async () => {
    const password = Buffer.from('secret');
    const entry = encryptZipEntry(
      'catalog.json',
      Buffer.from(jsonCatalog([statedBundle('x.bundle', OFFICIAL, HASH)])),
      password,
    );
    const release = { 'x.bundle': OFFICIAL, 'a.zip': writeZip([entry]) };
    const rules = {
      ...NO_RULES,
      configuration: {
        ...NO_RULES.configuration,
        rules: parseConfigurationSchema.parse({
          secrets: { key: '/nowhere' },
          rules: [{ destination: ['a.zip'], password: 'key' }],
        }).rules,
      },
      secrets: new Map([['key', password]]),
    };
    const changed = await rewriteRelease(release, { 'x.bundle': PATCHED }, { rules });
    const archive = openZip(bytesSource(changed.get('a.zip')!), READ_LIMITS);
    expect(() => archive.readEntry(archive.entries[0]!)).toThrow(FormatError);
    const catalog = archive.readEntry(archive.entries[0]!, password).toString();
    expect(bundlesOfJson(catalog)[0]!.hash).toBe(contentHash(PATCHED));
    // Without the password nobody can tell that it is a catalog.
    expect((await rewriteRelease(release, { 'x.bundle': PATCHED })).size).toBe(1);
  });
});

describe('catalogs that fail', () => {
  test.each([
    ['process_failed', true],
    ['deadline_exceeded', false],
    ['catalog_not_rewritten', false],
  ] as const)('catalogs that fail with %s are retried: %s', async (code, retryable) => {
    const rewriter = {
      prepare: () => undefined,
      close: () => undefined,
      rewrite: () => Promise.reject(new CatalogError(code, 'list.json', 'it failed')),
    };
    const channel = { root: '/store' } as LocalizedChannel;
    const context = { signal: new AbortController().signal } as TaskContext;
    const patched = { objects: new Map(), areGiven: false };
    await expect(
      rewriteReleaseCatalogs({ channel, rewriter, base: {} as BaseRow, staging: '/tmp' }, patched, context),
    ).rejects.toMatchObject({
      code,
      retryable,
      message: 'list.json: it failed; nothing was published',
    });
  });

  test.each([
    [
      'no entry',
      null,
      'the official release r1 has no file "a.csv"; a localized release only replaces files',
    ],
    ['no object', { blake3: null }, 'the official object of a.csv is not known'],
  ])('a patched file with %s in the base is not its own official form', async (_, entry, message) => {
    const channel = { root: '/store', catalogs: { entry: () => entry } } as unknown as LocalizedChannel;
    const context = { signal: new AbortController().signal } as TaskContext;
    const objects = new Map([['a.csv', { blake3: 'b'.repeat(64) } as KnownObject]]);
    const to = {
      channel,
      rewriter: {} as CatalogRewriter,
      base: { release_id: 'r1' } as BaseRow,
      staging: '/tmp',
    };
    const patched = { objects, areGiven: false };
    await expect(rewriteReleaseCatalogs(to, patched, context)).rejects.toThrow(message);
  });
});
