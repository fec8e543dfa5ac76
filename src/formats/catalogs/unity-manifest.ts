import { type BundleChange, changedFigures, type PatchedCatalog } from './bundle-change.ts';

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
