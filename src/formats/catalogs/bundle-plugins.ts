import { isAddressablesBinary, patchAddressablesBinary } from './addressables-binary.ts';
import { isAddressablesJson, patchAddressablesJson } from './addressables-json.ts';
import { type BundleChange, type PatchedCatalog, changedFigures } from './bundle-change.ts';
import { type CatalogPlugin, type FileChange, mediaFolderOf } from './catalog-plugin.ts';
import { bufferOf } from '../../platform/buffer-of.ts';
import { listPlugin, type ListRule, type RecordFields } from './list-plugin.ts';

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

const CRC = /^(CRC: *)(\d+)(?= *\r?$)/m;
const ASSET_HASH =
  /^( *AssetFileHash: *\r?\n(?: +serializedVersion:[^\n]*\n)? +Hash: *)([0-9a-f]{32})(?= *\r?$)/m;

/** Whether a text is the `.manifest` that Unity writes beside a bundle. */
export function isUnityManifest(text: string): boolean {
  return /^(?:\u00EF\u00BB\u00BF)?ManifestFileVersion: *\d/.test(text) && CRC.test(text);
}

/**
 * Writes the CRC and the hash of a patched bundle into the `.manifest` beside it.
 *
 * @throws PatchError `catalog_not_rewritten` when the manifest states another CRC than that of the official bundle
 */
export function patchUnityManifest(bytes: Uint8Array, change: BundleChange): PatchedCatalog {
  const text = Buffer.from(bytes).toString('latin1');
  const crc = CRC.exec(text);
  const hash = ASSET_HASH.exec(text);
  if (!isUnityManifest(text) || crc === null) return { bytes, listed: new Set() };
  const old = { crc: Number(crc[2]), hash: hash?.[2] ?? '', size: 0 };
  const figures = changedFigures(old, change);
  const patched = text
    .replace(CRC, (_whole, name: string) => name + String(figures.crc))
    .replace(ASSET_HASH, (_whole, name: string) => name + figures.hash);
  return { bytes: Buffer.from(patched, 'latin1'), listed: new Set([change.fileName]) };
}

const NAMED: RecordFields = { path: 'Name', size: ['Size'], checksums: ['Crc'] };

const RULES: readonly Omit<ListRule, 'format'>[] = [
  { name: 'table-catalog-json', matches: named('TableCatalog'), fields: NAMED },
  {
    name: 'media-catalog-json',
    matches: named('MediaCatalog'),
    folderOf: mediaFolderOf,
    fields: { path: 'Path', size: ['Bytes'], checksums: ['Crc'] },
  },
  {
    name: 'bundle-packing-info-json',
    matches: named('BundlePackingInfo'),
    fields: { path: 'PackName', size: ['PackSize'], checksums: ['Crc'] },
    inner: { ...NAMED, checksums: ['Crc', 'FileHash', 'Signature'] },
  },
  { name: 'bundle-download-info', matches: named('bundleDownloadInfo'), fields: NAMED },
];

/** The plug-ins of the catalogs of games in JSON, which are older than those in MemoryPack or stand beside them. */
export const GAME_LIST_PLUGINS: readonly CatalogPlugin[] = RULES.map((rule) =>
  listPlugin({ ...rule, format: 'json' }),
);

function named(name: string): (path: string) => boolean {
  return (path) => path.slice(path.lastIndexOf('/') + 1) === `${name}.json`;
}
