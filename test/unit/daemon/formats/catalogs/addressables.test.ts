import { describe, expect, it } from 'vitest';
import {
  isAddressablesBinary,
  patchAddressablesBinary,
} from '../../../../../src/daemon/formats/catalogs/addressables-binary.ts';
import {
  isAddressablesJson,
  patchAddressablesJson,
} from '../../../../../src/daemon/formats/catalogs/addressables-json.ts';
import type { BundleChange } from '../../../../../src/daemon/formats/catalogs/bundle-change.ts';
import { PatchError } from '../../../../../src/daemon/formats/patch/patch-error.ts';
import {
  type CatalogBundle,
  jsonCatalog,
} from '../../../../../src/cli/dev/demo/catalogs/addressables-json.ts';
import { binaryCatalog, bundlesOfJson } from '../../../../support/addressables-catalogs.ts';
import { mutations } from '../../../../support/mutate.ts';
import { campaignSize } from '../../../../support/long.ts';

const HASH = '00112233445566778899aabbccddeeff';
const NEW_HASH = 'f0e1d2c3b4a5968778695a4b3c2d1e0f';

function bundle(name: string, values: Partial<CatalogBundle> = {}): CatalogBundle {
  const internalId = `http://cdn.example/aa/Android/${name}_5c1b.bundle`;
  return { internalId, bundleName: `group_${name}`, hash: HASH, crc: 123, size: 1000, ...values };
}

function change(name: string, values: Partial<BundleChange> = {}): BundleChange {
  return {
    fileName: `${name}_5c1b.bundle`,
    before: { size: 1000, crc32: 123 },
    after: { size: 2_345_678, crc32: 4_000_000_001, contentHash: Buffer.from(NEW_HASH, 'hex') },
    ...values,
  };
}

const CHANGED = { hash: NEW_HASH, crc: 4_000_000_001, size: 2_345_678 };

describe('a catalog.json of Addressables', () => {
  it('gets new figures of patched bundles; the others and all other values stay', () => {
    const bundles = [bundle('one'), bundle('two', { crc: 7 }), bundle('three')];
    const before = jsonCatalog(bundles);
    expect(isAddressablesJson(before)).toBe(true);
    const { bytes, listed } = patchAddressablesJson(Buffer.from(before), [
      change('one'),
      change('three'),
      change('four'),
    ]);
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
    expect(patchAddressablesJson(Buffer.from(before), [change('one'), change('three')]).bytes).toEqual(bytes);
  });

  it('finds ids with a prefix, a query or back slashes', () => {
    const bundles = [
      bundle('one', { internalId: '1#one_5c1b.bundle' }),
      bundle('two', { internalId: 'C:\\aa\\two_5c1b.bundle' }),
      bundle('three', { internalId: 'http://cdn.example/three_5c1b.bundle?v=1/2' }),
    ];
    const before = jsonCatalog(bundles, ['http://old.example/', 'http://cdn.example/aa/']);
    const changes = ['one', 'two', 'three'].map((name) => change(name));
    const { bytes } = patchAddressablesJson(Buffer.from(before), changes);
    expect(bundlesOfJson(Buffer.from(bytes).toString()).map(({ hash }) => hash)).toEqual([
      NEW_HASH,
      NEW_HASH,
      NEW_HASH,
    ]);
  });

  it('is the same where no patched bundle stands in it', () => {
    const bytes = Buffer.from(jsonCatalog([bundle('one')]));
    expect(patchAddressablesJson(bytes, [change('two')])).toEqual({ bytes, listed: new Set() });
  });
});

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

describe('a catalog.bin of Addressables', () => {
  const figures = ({ hash, crc, size }: CatalogBundle): unknown => ({ hash, crc, size });
  const otherHash = `1${HASH.slice(1)}`;

  it.each([1, 2, 3])('of version %i gets new figures in place', (version) => {
    const bundles = [bundle('one'), bundle('two', { hash: otherHash, crc: 9 }), bundle('three')];
    const before = binaryCatalog(bundles, version);
    expect(isAddressablesBinary(before)).toBe(true);
    expect(optionsIn(before, 3).map(figures)).toEqual(bundles.map(figures));
    const changes = [change('one'), change('three')];
    const { bytes, listed } = patchAddressablesBinary(before, changes);
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
    const { bytes } = patchAddressablesBinary(before, [change('one')]);
    expect(optionsIn(bytes, 2).map(figures)).toEqual([CHANGED, figures(bundle('two', { crc: 9 }))]);
    expect(bytes.length).toBeLessThanOrEqual(before.length + 16 + 3);
  });

  it('gets other hashes when two bundles that shared one are patched', () => {
    const before = binaryCatalog([bundle('one'), bundle('two')]);
    const second = change('two', {
      after: { size: 5, crc32: 6, contentHash: Buffer.from(otherHash, 'hex') },
    });
    const { bytes } = patchAddressablesBinary(before, [change('one'), second]);
    expect(optionsIn(bytes, 2).map(figures)).toEqual([CHANGED, { hash: otherHash, crc: 6, size: 5 }]);
  });

  it('is read or refused when it is damaged, never with another error or a hang', () => {
    const before = binaryCatalog([bundle('one'), bundle('two')]);
    let refused = 0;
    for (const damaged of mutations(before, { seed: 16, count: campaignSize(1000, 50_000) })) {
      try {
        patchAddressablesBinary(damaged, [change('one')]);
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
    const { bytes, listed } = patch(write([bundle('one', empty)]), [change('one')]);
    expect(figuresOf(bytes)).toMatchObject(empty);
    expect(listed.size).toBe(1);
  });

  it('follow the official, the patched and the patched-again bundle', () => {
    const official = write([bundle('one')]);
    const again = change('one', {
      after: { size: 77, crc32: 88, contentHash: Buffer.from(NEW_HASH, 'hex').reverse() },
    });
    const hashes = [[], [change('one')], [again]].map(
      (changes) => figuresOf(patch(official, changes).bytes)?.hash,
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
      expect(() => patch(catalog, [change('one', { before })])).toThrow(PatchError);
    }
    const after = { size: 5, crc32: null, contentHash: Buffer.alloc(16) };
    expect(() => patch(catalog, [change('one', { after })])).toThrow(PatchError);
  });

  it('are refused where the catalog is cut', () => {
    const catalog = write([bundle('one')]);
    for (let size = 0; size < catalog.length - 16; size += 24) {
      const cut = catalog.subarray(0, size);
      try {
        patch(cut, [change('one')]);
      } catch (error) {
        if (!(error instanceof PatchError)) throw error;
      }
    }
    expect(() => patch(catalog.subarray(0, 50), [change('one')])).toThrow(PatchError);
  });
});
