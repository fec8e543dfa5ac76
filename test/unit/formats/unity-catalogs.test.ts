import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { jsonCatalog, type CatalogBundle } from '../../../demo/game/catalogs/addressables-json.ts';
import {
  isAddressablesBinary,
  patchAddressablesBinary,
} from '../../../src/formats/catalogs/addressables-binary.ts';
import {
  isAddressablesJson,
  patchAddressablesJson,
} from '../../../src/formats/catalogs/addressables-json.ts';
import { changesByName, type BundleChange } from '../../../src/formats/catalogs/bundle-change.ts';
import {
  BUNDLE_PLUGINS,
  isUnityManifest,
  patchUnityManifest,
} from '../../../src/formats/catalogs/bundle-plugins.ts';
import type { FileChange } from '../../../src/formats/catalogs/catalog-plugin.ts';
import { patchSidecar } from '../../../src/formats/catalogs/checksum-sidecar.ts';
import { figuresOf } from '../../../src/formats/catalogs/file-figures.ts';
import { spookyHash } from '../../../src/formats/catalogs/spooky-hash.ts';
import { PatchError } from '../../../src/formats/patch/patch-error.ts';
import { binaryCatalog, bundlesOfJson } from '../../support/addressables-catalogs.ts';
import { campaignSize } from '../../support/long.ts';
import { mutations } from '../../support/mutate.ts';

const NEW_HASH = 'f0e1d2c3b4a5968778695a4b3c2d1e0f';

function change(name: string, values: Partial<BundleChange> = {}): BundleChange {
  return {
    path: `${name}_5c1b.bundle`,
    before: { size: 1000, crc32: 123 },
    after: { size: 2_345_678, crc32: 4_000_000_001, contentHash: Buffer.from(NEW_HASH, 'hex') },
    ...values,
  };
}

const CHANGED = { hash: NEW_HASH, crc: 4_000_000_001, size: 2_345_678 };

/** The figures of the bundles in a binary catalog, each found through the asset that depends on it. */
function optionsIn(bytes: Uint8Array, count: number): CatalogBundle[] {
  const buffer = Buffer.from(bytes);
  const found: CatalogBundle[] = [];
  const uint = (at: number): number => buffer.readUInt32LE(at);
  const keys = uint(8);
  for (let index = 0; index < count; index += 1) {
    const asset = uint(uint(keys + 8 * index + 4));
    const options = uint(uint(uint(uint(asset + 12)) + 20) + 4);
    const hash = uint(options);
    found.push({
      internalId: '',
      bundleName: '',
      hash: buffer.toString('hex', hash, hash + 16),
      crc: uint(options + 8),
      size: uint(options + 12),
    });
  }
  return found;
}

describe('the catalogs of Addressables', () => {
  const HASH = '00112233445566778899aabbccddeeff';

  function bundle(name: string, values: Partial<CatalogBundle> = {}): CatalogBundle {
    const internalId = `http://cdn.example/aa/Android/${name}_5c1b.bundle`;
    return { internalId, bundleName: `group_${name}`, hash: HASH, crc: 123, size: 1000, ...values };
  }

  describe('a catalog.json of Addressables', () => {
    it('gets new figures of patched bundles; the others and all other values stay', () => {
      const bundles = [bundle('one'), bundle('two', { crc: 7 }), bundle('three')];
      const before = jsonCatalog(bundles);
      expect(isAddressablesJson(before)).toBe(true);
      const { bytes, listed } = patchAddressablesJson(
        Buffer.from(before),
        changesByName([change('one'), change('three'), change('four')]),
      );
      expect([...listed]).toEqual(['one_5c1b.bundle', 'three_5c1b.bundle']);
      const after = Buffer.from(bytes).toString();
      expect(bundlesOfJson(after)).toEqual([
        { ...bundles[0], ...CHANGED },
        bundles[1],
        { ...bundles[2], ...CHANGED },
      ]);
      const withoutTables = (text: string): string =>
        text.replaceAll(/("m_(?:Entry|Extra)DataString":)"[^"]*"/g, '$1""');
      expect(withoutTables(after)).toBe(withoutTables(before));
      expect(
        patchAddressablesJson(Buffer.from(before), changesByName([change('one'), change('three')])).bytes,
      ).toEqual(bytes);
    });

    it('finds ids with a prefix, a query or back slashes', () => {
      const bundles = [
        bundle('one', { internalId: '1#one_5c1b.bundle' }),
        bundle('two', { internalId: 'C:\\aa\\two_5c1b.bundle' }),
        bundle('three', { internalId: 'http://cdn.example/three_5c1b.bundle?v=1/2' }),
      ];
      const before = jsonCatalog(bundles, ['http://old.example/', 'http://cdn.example/aa/']);
      const changes = ['one', 'two', 'three'].map((name) => change(name));
      const { bytes } = patchAddressablesJson(Buffer.from(before), changesByName(changes));
      expect(bundlesOfJson(Buffer.from(bytes).toString()).map(({ hash }) => hash)).toEqual([
        NEW_HASH,
        NEW_HASH,
        NEW_HASH,
      ]);
    });

    it('is the same where no patched bundle stands in it', () => {
      const bytes = Buffer.from(jsonCatalog([bundle('one')]));
      expect(patchAddressablesJson(bytes, changesByName([change('two')]))).toEqual({
        bytes,
        listed: new Set(),
        unread: new Set(),
      });
    });
  });

  describe('a catalog.bin of Addressables', () => {
    const figures = ({ hash, crc, size }: CatalogBundle): unknown => ({ hash, crc, size });
    const otherHash = `1${HASH.slice(1)}`;

    it.each([1, 2, 3])('of version %i gets new figures in place', (version) => {
      const bundles = [bundle('one'), bundle('two', { hash: otherHash, crc: 9 }), bundle('three')];
      const before = binaryCatalog(bundles, version);
      expect(isAddressablesBinary(before)).toBe(true);
      expect(optionsIn(before, 3).map(figures)).toEqual(bundles.map(figures));
      const changes = [change('one'), change('three')];
      const { bytes, listed } = patchAddressablesBinary(before, changesByName(changes));
      expect([...listed].toSorted()).toEqual(['one_5c1b.bundle', 'three_5c1b.bundle']);
      expect(optionsIn(bytes, 3).map(figures)).toEqual([
        CHANGED,
        figures(bundle('two', { hash: otherHash, crc: 9 })),
        CHANGED,
      ]);
      // Both had the same hash and get the same one, so nothing is appended.
      expect(bytes.length).toBe(before.length);
      expect(before.equals(binaryCatalog(bundles, version))).toBe(true);
    });

    it('keeps the hash of another bundle that shares its place', () => {
      const bundles = [bundle('one'), bundle('two', { crc: 9 })];
      const before = binaryCatalog(bundles);
      const { bytes } = patchAddressablesBinary(before, changesByName([change('one')]));
      expect(optionsIn(bytes, 2).map(figures)).toEqual([CHANGED, figures(bundle('two', { crc: 9 }))]);
      expect(bytes.length).toBeLessThanOrEqual(before.length + 16 + 3);
    });

    it('gets other hashes when two bundles that shared one are patched', () => {
      const before = binaryCatalog([bundle('one'), bundle('two')]);
      const second = change('two', {
        after: { size: 5, crc32: 6, contentHash: Buffer.from(otherHash, 'hex') },
      });
      const { bytes } = patchAddressablesBinary(before, changesByName([change('one'), second]));
      expect(optionsIn(bytes, 2).map(figures)).toEqual([CHANGED, { hash: otherHash, crc: 6, size: 5 }]);
    });

    it('is read or refused when it is damaged, never with another error or a hang', () => {
      const before = binaryCatalog([bundle('one'), bundle('two')]);
      let refused = 0;
      for (const damaged of mutations(before, { seed: 16, count: campaignSize(1000, 50_000) })) {
        try {
          patchAddressablesBinary(damaged, changesByName([change('one')]));
        } catch (error) {
          if (!(error instanceof PatchError)) throw error;
          refused += 1;
        }
      }
      expect(refused).toBeGreaterThan(100);
    });
  });

  describe.each([
    ['json', (bundles: readonly CatalogBundle[]) => Buffer.from(jsonCatalog(bundles))],
    ['bin', (bundles: readonly CatalogBundle[]) => binaryCatalog(bundles)],
  ] as const)('the figures in a catalog.%s', (kind, write) => {
    const patch = kind === 'json' ? patchAddressablesJson : patchAddressablesBinary;
    const figuresOf = (bytes: Uint8Array): CatalogBundle | undefined =>
      kind === 'json' ? bundlesOfJson(Buffer.from(bytes).toString())[0] : optionsIn(bytes, 1)[0];

    it('stay empty where upstream left them empty', () => {
      const empty = { hash: kind === 'json' ? '' : '0'.repeat(32), crc: 0, size: 0 };
      const { bytes, listed } = patch(write([bundle('one', empty)]), changesByName([change('one')]));
      expect(figuresOf(bytes)).toMatchObject(empty);
      expect(listed.size).toBe(1);
    });

    it('follow the official, the patched and the patched-again bundle', () => {
      const official = write([bundle('one')]);
      const again = change('one', {
        after: { size: 77, crc32: 88, contentHash: Buffer.from(NEW_HASH, 'hex').reverse() },
      });
      const hashes = [[], [change('one')], [again]].map(
        (changes) => figuresOf(patch(official, changesByName(changes)).bytes)?.hash,
      );
      expect(new Set(hashes).size).toBe(3);
    });

    it('are not guessed where the official bundle has others', () => {
      const catalog = write([bundle('one')]);
      for (const before of [
        { size: 999, crc32: 123 },
        { size: 1000, crc32: 124 },
        { size: 1000, crc32: null },
      ]) {
        expect(() => patch(catalog, changesByName([change('one', { before })]))).toThrow(PatchError);
      }
      const after = { size: 5, crc32: null, contentHash: Buffer.alloc(16) };
      expect(() => patch(catalog, changesByName([change('one', { after })]))).toThrow(PatchError);
    });

    it('are refused where the catalog is cut', () => {
      const catalog = write([bundle('one')]);
      for (let size = 0; size < catalog.length - 16; size += 24) {
        const cut = catalog.subarray(0, size);
        try {
          patch(cut, changesByName([change('one')]));
        } catch (error) {
          if (!(error instanceof PatchError)) throw error;
        }
      }
      expect(() => patch(catalog.subarray(0, 50), changesByName([change('one')]))).toThrow(PatchError);
    });
  });
});

async function rewrite(path: string, bytes: Buffer, changes: readonly FileChange[]) {
  const plugin = BUNDLE_PLUGINS.find((each) => each.recognizes(path));
  if (plugin === undefined) throw new Error('no plug-in');
  return await plugin.rewrite(path, bytes, changes);
}

describe('the plug-ins of catalogs of bundles', () => {
  const HASH = 'ab'.repeat(16);
  const [BEFORE, AFTER] = [Buffer.alloc(10), Buffer.alloc(12)];

  function changeOf(path: string): FileChange {
    const digests = (crc32: number) => ({ crc32, contentHash: Buffer.from(HASH, 'hex') });
    const [before, after] = [figuresOf([BEFORE]), figuresOf([AFTER])];
    return { path, before, after, bundle: { before: digests(1), after: digests(2) } };
  }

  const LISTED = {
    internalId: 'http://cdn.example/texts.bundle',
    bundleName: 'texts',
    hash: '1'.repeat(32),
    crc: 1,
    size: BEFORE.length,
  };
  const MANIFEST = 'ManifestFileVersion: 0\nCRC: 1\nHashes:\n';

  it('rewrite the bundles that a catalog lists, and name their paths', async () => {
    const changes = [changeOf('Android/texts.bundle'), changeOf('Android/other.bundle')];
    const json = await rewrite('aa/catalog_1.json', Buffer.from(jsonCatalog([LISTED])), changes);
    expect([...json.rewritten]).toEqual(['Android/texts.bundle']);
    expect(bundlesOfJson(Buffer.from(json.bytes).toString())).toEqual([
      { ...LISTED, hash: HASH, crc: 2, size: AFTER.length },
    ]);
    const binary = await rewrite('aa/catalog.bin', binaryCatalog([LISTED]), changes);
    expect([...binary.rewritten]).toEqual(['Android/texts.bundle']);
    expect(Buffer.from(binary.bytes).toString('hex')).toContain(HASH);
    const manifest = await rewrite('Android/texts.bundle.manifest', Buffer.from(MANIFEST), changes);
    expect([...manifest.rewritten]).toEqual(['Android/texts.bundle']);
    expect(Buffer.from(manifest.bytes).toString()).toBe(MANIFEST.replace('CRC: 1', 'CRC: 2'));
  });

  it('leave all other files as they are', async () => {
    const change = changeOf('Android/texts.bundle');
    const { bundle: _bundle, ...plain } = change;
    for (const [path, text] of [
      ['a.json', '{}'],
      ['a.bin', 'bytes'],
      ['a.manifest', MANIFEST],
    ] as const) {
      const bytes = Buffer.from(text);
      expect(await rewrite(path, bytes, [change])).toEqual({ bytes, rewritten: new Set() });
    }
    const catalog = Buffer.from(jsonCatalog([LISTED]));
    expect((await rewrite('catalog.json', catalog, [plain])).rewritten.size).toBe(0);
  });

  it('choose among bundles of one name by the figures that the catalog states', async () => {
    const meant = changeOf('Android/texts.bundle');
    const other = changeOf('iOS/texts.bundle');
    const digests = { crc32: 77, contentHash: Buffer.alloc(16) };
    const changed = {
      ...other,
      before: { ...other.before, size: 5 },
      bundle: { before: digests, after: { ...digests, crc32: 78 } },
    };
    const unchanged = { ...changed, after: changed.before };
    for (const [name, catalog] of [
      ['catalog.json', Buffer.from(jsonCatalog([LISTED]))],
      ['catalog.bin', binaryCatalog([LISTED])],
    ] as const) {
      const alone = await rewrite(name, catalog, [meant]);
      expect((await rewrite(name, catalog, [changed, meant])).bytes).toEqual(alone.bytes);
      expect((await rewrite(name, catalog, [unchanged, meant])).bytes).toEqual(alone.bytes);
      // Both were the same official bundle, and are the same patched one.
      const twin = { ...meant, path: 'iOS/texts.bundle' };
      expect((await rewrite(name, catalog, [meant, twin])).bytes).toEqual(alone.bytes);
      // The catalog means the one that was not patched.
      const same = { ...meant, after: meant.before };
      expect((await rewrite(name, catalog, [changed, same])).bytes).toEqual(catalog);
    }
  });

  it('refuse bundles of one name that the catalog does not tell apart, and figures of none of them', async () => {
    const change = changeOf('Android/texts.bundle');
    const contentHash = Buffer.alloc(16, 9);
    const other = { ...change, bundle: { ...change.bundle!, after: { crc32: 3, contentHash } } };
    const catalog = Buffer.from(jsonCatalog([LISTED]));
    await expect(rewrite('catalog.json', catalog, [change, other])).rejects.toThrow('does not tell apart');
    const unknown = Buffer.from(jsonCatalog([{ ...LISTED, size: 999 }]));
    await expect(rewrite('catalog.json', unknown, [change, change])).rejects.toThrow('the size 999');
  });
});

const JAPANESE = Buffer.from('{"m_LocatorId":"物語"}');

function spooky(bytes: Buffer): string {
  return spookyHash(bytes).toString('hex');
}

function hash(algorithm: string, bytes: Uint8Array): string {
  return createHash(algorithm).update(bytes).digest('hex');
}

function patched(sidecar: string, before: Buffer, after: Buffer): string | null {
  const result = patchSidecar(Buffer.from(sidecar), before, after);
  return result === null ? null : Buffer.from(result.bytes).toString();
}

describe('the files beside a catalog', () => {
  const BEFORE = Buffer.from('{"m_LocatorId":"before"}');
  const AFTER = Buffer.from('{"m_LocatorId":"after"}');

  describe('a sidecar with the checksum of a catalog', () => {
    it('is computed again by the algorithm that gives the official value', () => {
      for (const algorithm of ['md5', 'sha1', 'sha256', 'sha512']) {
        expect(patched(hash(algorithm, BEFORE), BEFORE, AFTER)).toBe(hash(algorithm, AFTER));
      }
      expect(patched(String(crc32(BEFORE)), BEFORE, AFTER)).toBe(String(crc32(AFTER)));
      // xxHash64 with the seed 0 of no bytes and of "abc", as its specification has them.
      expect(patched('ef46db3751d8e999', Buffer.alloc(0), Buffer.from('abc'))).toBe('44bc2cf5ad770999');
    });

    it('knows the hash that newer versions of Unity use, of text and of UTF-16', () => {
      expect(patched(spooky(BEFORE), BEFORE, AFTER)).toBe(spooky(AFTER));
      const utf16 = Buffer.from(JAPANESE.toString(), 'utf16le');
      expect(patched(spooky(utf16), JAPANESE, AFTER)).toBe(spooky(AFTER));
    });

    it('keeps its case and the white space around it', () => {
      const sidecar = ` ${hash('md5', BEFORE).toUpperCase()}\r\n`;
      expect(patched(sidecar, BEFORE, AFTER)).toBe(` ${hash('md5', AFTER).toUpperCase()}\r\n`);
    });

    it('hashes a text with other characters than ASCII as UTF-16, where the builder did', () => {
      const utf16 = (bytes: Buffer): Buffer => Buffer.from(bytes.toString(), 'utf16le');
      expect(patched(hash('md5', utf16(JAPANESE)), JAPANESE, AFTER)).toBe(hash('md5', AFTER));
      const other = Buffer.from('{"m_LocatorId":"終わり"}');
      expect(patched(hash('md5', utf16(JAPANESE)), JAPANESE, other)).toBe(hash('md5', utf16(other)));
    });

    it('is not guessed when no algorithm gives the official value', () => {
      expect(patched('0'.repeat(32), BEFORE, AFTER)).toBe(null);
      expect(patched('', BEFORE, AFTER)).toBe(null);
      expect(patched(`${hash('md5', BEFORE)} catalog.json`, BEFORE, AFTER)).toBe(null);
    });
  });

  const MANIFEST = `ManifestFileVersion: 0\r
CRC: 2422268106\r
Hashes:\r
  AssetFileHash:\r
    serializedVersion: 2\r
    Hash: 8b6db55a2344f068cf8a9be0a662ba15\r
  TypeTreeHash:\r
    serializedVersion: 2\r
    Hash: 37ad974993dbaa77485dd2a0c38f347a\r
HashAppended: 0\r
ClassTypes:\r
- Class: 114\r
Assets:\r
- Assets/物語.asset\r
`;

  describe('a .manifest of Unity', () => {
    const change: BundleChange = {
      path: 'texts',
      before: { size: 10, crc32: 2_422_268_106 },
      after: { size: 12, crc32: 7, contentHash: Buffer.alloc(16, 0xab) },
    };

    it('gets the CRC and the hash of the patched bundle, and keeps everything else', () => {
      expect(isUnityManifest(MANIFEST)).toBe(true);
      expect(patchUnityManifest(Buffer.from(MANIFEST), change)?.toString()).toBe(
        MANIFEST.replace('2422268106', '7').replace('8b6db55a2344f068cf8a9be0a662ba15', 'ab'.repeat(16)),
      );
    });

    it('is refused when it states another CRC, and left alone when it is none', () => {
      const other = { ...change, before: { size: 10, crc32: 1 } };
      expect(() => patchUnityManifest(Buffer.from(MANIFEST), other)).toThrow('CRC');
      const text = Buffer.from('CRC: 1\n');
      expect(patchUnityManifest(text, change)).toBe(null);
    });
  });
});

/** The first 32 bits by the length of the message, as the author of the algorithm publishes them with its test. */
const PUBLISHED: readonly (readonly [number, number])[] = [
  [0, 0x6bf5_0919],
  [1, 0x70de_1d26],
  [4, 0x8223_b279],
  [15, 0x83ec_01f9],
  [16, 0xf274_736c],
  [17, 0x7e9a_c0df],
  [31, 0x027b_ca7c],
  [32, 0xe5cf_c8b6],
  [63, 0x09c1_afb4],
  [64, 0x069c_8bb7],
  [191, 0xe13d_9e19],
  [192, 0x77e0_12bd],
  [193, 0x2d05_114c],
  [256, 0x38ce_bf03],
  [300, 0x37e2_b1da],
  [511, 0xcc1c_8250],
];

describe('spookyHash', () => {
  const message = Buffer.from(Array.from({ length: 512 }, (_, index) => (index + 128) % 256));

  it.each(PUBLISHED)('of %i bytes is the published one', (length, first) => {
    expect(spookyHash(message.subarray(0, length)).readUInt32LE(0)).toBe(first);
  });

  it('has 128 bits, of which each depends on the message', () => {
    const [one, other] = [spookyHash(message), spookyHash(message.subarray(1))];
    expect(one.length).toBe(16);
    for (const at of [0, 4, 8, 12]) expect(one.readUInt32LE(at)).not.toBe(other.readUInt32LE(at));
  });
});
