import { describe, expect, it } from 'vitest';
import { BUNDLE_PLUGINS } from '../../../../../src/daemon/formats/catalogs/bundle-plugins.ts';
import type { FileChange } from '../../../../../src/daemon/formats/catalogs/catalog-plugin.ts';
import { figuresOf } from '../../../../../src/daemon/formats/catalogs/file-figures.ts';
import { binaryCatalog, bundlesOfJson, jsonCatalog } from '../../../../support/addressables-catalogs.ts';

const HASH = 'ab'.repeat(16);
const [BEFORE, AFTER] = [Buffer.alloc(10), Buffer.alloc(12)];

async function changeOf(path: string): Promise<FileChange> {
  const digests = (crc32: number) => ({ crc32, contentHash: Buffer.from(HASH, 'hex') });
  const [before, after] = [await figuresOf([BEFORE]), await figuresOf([AFTER])];
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
    const changes = [await changeOf('Android/texts.bundle'), await changeOf('Android/other.bundle')];
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
    const change = await changeOf('Android/texts.bundle');
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

  it('refuse two bundles of one name', async () => {
    const changes = [await changeOf('Android/texts.bundle'), await changeOf('iOS/texts.bundle')];
    const catalog = Buffer.from(jsonCatalog([LISTED]));
    await expect(rewrite('catalog.json', catalog, changes)).rejects.toThrow('one file name');
  });
});
