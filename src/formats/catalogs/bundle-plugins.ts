import { isAddressablesBinary, patchAddressablesBinary } from './addressables-binary.ts';
import { isAddressablesJson, patchAddressablesJson } from './addressables-json.ts';
import {
  type BundleChange,
  changedFigures,
  changesByName,
  type ChangesOf,
  type Meant,
  type PatchedCatalog,
} from './bundle-change.ts';
import { type CatalogPlugin, type FileChange, mediaFolderOf } from './catalog-plugin.ts';
import { bufferOf } from '../../platform/buffer-of.ts';
import { bytesSource } from '../byte-source.ts';
import { FormatError } from '../format-error.ts';
import { notRewritten } from '../patch/patch-error.ts';
import { openTextAssets } from '../unity/bundle-text-assets.ts';
import { READ_LIMITS } from '../value-visitor.ts';
import { listPlugin, type ListRule, type RecordFields } from './list-plugin.ts';

/** Whether a bundle holds a catalog by its name: Addressables writes `catalog.bundle` where local catalogs are compressed. */
export function isBundledCatalog(path: string): boolean {
  return /(?:^|\/)catalog[^/]*\.bundle$/i.test(path);
}

/** @throws PatchError `catalog_not_rewritten` for a bundle of which a part cannot be read, so that nobody knows what it states */
function checkOpens(bytes: Uint8Array): void {
  try {
    for (const { read } of openTextAssets(bytesSource(bytes), READ_LIMITS).assets) read();
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    throw notRewritten(`it is a bundle with the name of a catalog, and it cannot be read: ${error.message}`);
  }
}

type Rewrite = (bytes: Uint8Array, changesOf: ChangesOf) => PatchedCatalog;

/**
 * The catalogs that list bundles of Unity: `catalog.json` and `catalog.bin` of Addressables, and the `.manifest` beside a
 * bundle. A catalog has any name (`catalog_1.2.json`), so a file with the name of one is looked at, and left alone when it is
 * none.
 */
export const BUNDLE_PLUGINS: readonly CatalogPlugin[] = [
  plugin('addressables-json', /\.(?:json|textasset)$/i, isAddressablesJson, patchAddressablesJson),
  plugin('addressables-binary', /\.(?:bin|textasset)$/i, isAddressablesBinary, patchAddressablesBinary),
  {
    name: 'bundled-catalog',
    recognizes: isBundledCatalog,
    rewrite: async (_path, bytes, changes) => {
      const isConcerned = changes.some(({ bundle }) => bundle !== undefined);
      if (isConcerned) checkOpens(bytes);
      return await Promise.resolve({ bytes, rewritten: new Set() });
    },
  },
  {
    name: 'unity-manifest',
    recognizes: (path) => path.endsWith('.manifest'),
    rewrite: async (path, bytes, changes) => {
      const own = changes.filter((change) => `${change.path}.manifest` === path);
      const [change] = bundleChanges(own);
      if (change === undefined) return await Promise.resolve({ bytes, rewritten: new Set() });
      const patched = patchUnityManifest(bytes, change);
      return { bytes: patched ?? bytes, rewritten: new Set(patched === null ? [] : [change.path]) };
    },
  },
];

function plugin(
  name: string,
  file: RegExp,
  isCatalog: (bytes: Buffer) => boolean,
  rewrite: Rewrite,
): CatalogPlugin {
  return {
    name,
    isOfBundles: true,
    recognizes: (path) => file.test(path),
    rewrite: async (_path, bytes, changes, meantBy) => {
      if (!isCatalog(bufferOf(bytes))) return await Promise.resolve({ bytes, rewritten: new Set() });
      const changesOf: ChangesOf =
        meantBy === undefined
          ? changesByName(bundleChanges(changes))
          : (address) => bundlesMeant(meantBy(address));
      const { bytes: patched, listed, unread } = rewrite(bytes, changesOf);
      return await Promise.resolve({ bytes: patched, rewritten: listed, unread });
    },
  };
}

function bundlesMeant(meant: Meant<FileChange> | null): Meant<BundleChange> | null {
  return meant && { nearest: bundleChanges(meant.nearest), others: bundleChanges(meant.others) };
}

function bundleChanges(changes: readonly FileChange[]): BundleChange[] {
  return changes.flatMap(({ path, before, after, bundle }) => {
    if (bundle === undefined) return [];
    return [
      {
        path,
        before: { size: before.size, crc32: bundle.before.crc32 },
        after: after === before ? null : { size: after.size, ...bundle.after },
      },
    ];
  });
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
 * @returns `null` for a file that only has the name of one
 * @throws PatchError `catalog_not_rewritten` when the manifest states another CRC than that of the official bundle
 */
export function patchUnityManifest(bytes: Uint8Array, change: BundleChange): Buffer | null {
  const text = Buffer.from(bytes).toString('latin1');
  const crc = CRC.exec(text);
  const hash = ASSET_HASH.exec(text);
  if (!isUnityManifest(text) || crc === null) return null;
  const old = { crc: Number(crc[2]), hash: hash?.[2] ?? '', size: 0 };
  const figures = changedFigures(old, change);
  const patched = text
    .replace(CRC, (_whole, name: string) => name + String(figures.crc))
    .replace(ASSET_HASH, (_whole, name: string) => name + figures.hash);
  return Buffer.from(patched, 'latin1');
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
