import { isAddressablesBinary, patchAddressablesBinary } from './addressables-binary.ts';
import { isAddressablesJson, patchAddressablesJson } from './addressables-json.ts';
import type { BundleChange, PatchedCatalog } from './bundle-change.ts';
import type { CatalogPlugin, FileChange } from './catalog-plugin.ts';
import { patchUnityManifest } from './unity-manifest.ts';
import { bufferOf } from '../../platform/buffer-of.ts';

type Rewrite = (bytes: Uint8Array, changes: readonly BundleChange[]) => PatchedCatalog;

/**
 * The catalogs that list bundles of Unity: `catalog.json` and `catalog.bin` of Addressables, and the `.manifest` beside a
 * bundle. A catalog has any name (`catalog_1.2.json`), so a file with the name of one is looked at, and left alone when it is
 * none.
 */
export const BUNDLE_PLUGINS: readonly CatalogPlugin[] = [
  plugin('addressables-json', /\.json$/i, (bytes, changes) => {
    const isCatalog = isAddressablesJson(bufferOf(bytes));
    return isCatalog ? patchAddressablesJson(bytes, changes) : { bytes, listed: new Set() };
  }),
  plugin('addressables-binary', /\.bin$/i, (bytes, changes) => {
    const isCatalog = isAddressablesBinary(Buffer.from(bytes.subarray(0, 16)));
    return isCatalog ? patchAddressablesBinary(bytes, changes) : { bytes, listed: new Set() };
  }),
  {
    name: 'unity-manifest',
    recognizes: (path) => path.endsWith('.manifest'),
    rewrite: async (path, bytes, changes) => {
      const own = changes.filter((change) => `${change.path}.manifest` === path);
      const [change] = bundleChanges(own);
      if (change === undefined) return await Promise.resolve({ bytes, rewritten: new Set() });
      const { bytes: patched, listed } = patchUnityManifest(bytes, change);
      return { bytes: patched, rewritten: pathsOf(own, listed) };
    },
  },
];

function plugin(name: string, file: RegExp, rewrite: Rewrite): CatalogPlugin {
  return {
    name,
    namesOnly: true,
    recognizes: (path) => file.test(path),
    rewrite: async (_path, bytes, changes) => {
      const { bytes: patched, listed } = rewrite(bytes, bundleChanges(changes));
      return await Promise.resolve({ bytes: patched, rewritten: pathsOf(changes, listed) });
    },
  };
}

function bundleChanges(changes: readonly FileChange[]): BundleChange[] {
  return changes.flatMap(({ path, before, after, bundle }) => {
    if (bundle === undefined) return [];
    return [
      {
        fileName: fileNameOf(path),
        before: { size: before.size, crc32: bundle.before.crc32 },
        after: after === before ? null : { size: after.size, ...bundle.after },
      },
    ];
  });
}

function pathsOf(changes: readonly FileChange[], listed: ReadonlySet<string>): ReadonlySet<string> {
  const bundles = changes.filter(({ bundle }) => bundle !== undefined);
  return new Set(bundles.map(({ path }) => path).filter((path) => listed.has(fileNameOf(path))));
}

function fileNameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
