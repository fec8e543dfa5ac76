import { describe, expect, it } from 'vitest';
import { BUNDLE_PLUGINS } from '../../../../../src/daemon/formats/catalogs/bundle-plugins.ts';
import type { FileChange } from '../../../../../src/daemon/formats/catalogs/catalog-plugin.ts';
import { figuresOf } from '../../../../../src/daemon/formats/catalogs/file-figures.ts';
import { jsonCatalog } from '../../../../../src/cli/dev/demo/catalogs/addressables-json.ts';
import { binaryCatalog, bundlesOfJson } from '../../../../support/addressables-catalogs.ts';

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

async function rewrite(path: string, bytes: Buffer, changes: readonly FileChange[]) {
  const plugin = BUNDLE_PLUGINS.find((each) => each.recognizes(path));
  if (plugin === undefined) throw new Error('no plug-in');
  return await plugin.rewrite(path, bytes, changes);
}

describe('the plug-ins of catalogs of bundles', () => {
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
