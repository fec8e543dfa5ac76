import { notRewritten } from '../patch/patch-error.ts';
import { BinaryCatalog, NOTHING } from './binary-catalog.ts';
import {
  type BundleChange,
  type CatalogFigures,
  changedFigures,
  changeFinder,
  chooseChange,
  type PatchedCatalog,
} from './bundle-change.ts';

const OPTIONS_CLASS = 'AssetBundleRequestOptions';
const MOST_UINT32 = 0xffff_ffff;
const HASH_BYTES = 16;
/** References from lists to locations: far more than any game has, and few enough for a second or two. */
const MOST_REFERENCES = 20_000_000;

const LOCATION = { internalId: 4, dependencies: 12, object: 20 };
const OPTIONS = { hash: 0, crc: 8, size: 12 };

/**
 * Writes the figures of patched bundles into a `catalog.bin` of Addressables, all of them in place. Equal values are stored
 * once in such a file: where an unchanged bundle has the same hash, the new one is appended, and only the reference changes.
 *
 * Source: `BinaryContentCatalogData` and `BinaryStorageBuffer` of com.unity.addressables; versions 1 to 3.
 *
 * @throws PatchError `catalog_not_rewritten` when the catalog contradicts itself, and as {@link changedFigures}
 */
export function patchAddressablesBinary(bytes: Uint8Array, changes: readonly BundleChange[]): PatchedCatalog {
  const catalog = new BinaryCatalog(Buffer.from(bytes));
  const changesOf = changeFinder(changes);
  const options = new Map<number, BundleChange | undefined>();
  for (const location of locationsOf(catalog)) {
    const object = catalog.objectOf(catalog.uint32(location + LOCATION.object), OPTIONS_CLASS);
    if (object === null) continue;
    const candidates = changesOf(catalog.text(catalog.uint32(location + LOCATION.internalId), '/'));
    options.set(object, chooseChange(figuresAt(catalog, object), candidates));
  }
  const listed = new Set<string>();
  const hashes = new Map<number, Set<string>>();
  for (const [at, change] of options) {
    const hash = writeFigures(catalog, at, change);
    const place = catalog.uint32(at + OPTIONS.hash);
    hashes.set(place, (hashes.get(place) ?? new Set()).add(hash));
    if (change !== undefined) listed.add(change.fileName);
  }
  const appended = writeHashes(catalog, options, hashes);
  return { bytes: Buffer.concat([catalog.bytes, ...appended]), listed };
}

/**
 * The positions of all locations, those that are only dependencies too.
 *
 * @throws PatchError `catalog_not_rewritten` when the lists have more than {@link MOST_REFERENCES}
 */
function locationsOf(catalog: BinaryCatalog): ReadonlySet<number> {
  const found = new Set<number>();
  const sets = new Set(catalog.locationSets());
  let references = 0;
  // A list that is added here is visited too.
  for (const set of sets) {
    const locations = catalog.uint32Array(set);
    references += locations.length;
    if (references > MOST_REFERENCES) {
      throw notRewritten(`the catalog has more than ${MOST_REFERENCES} references`);
    }
    for (const location of locations) {
      found.add(location);
      const dependencies = catalog.uint32(location + LOCATION.dependencies);
      if (dependencies !== NOTHING) sets.add(dependencies);
    }
  }
  return found;
}

function figuresAt(catalog: BinaryCatalog, at: number): CatalogFigures {
  return {
    hash: catalog.hash(catalog.uint32(at + OPTIONS.hash)),
    crc: catalog.uint32(at + OPTIONS.crc),
    size: catalog.uint32(at + OPTIONS.size),
  };
}

/** Writes CRC and size; returns the hash that the options must have. */
function writeFigures(catalog: BinaryCatalog, at: number, change: BundleChange | undefined): string {
  const old = figuresAt(catalog, at);
  if (change === undefined) return old.hash;
  const figures = changedFigures(old, change);
  if (figures.size > MOST_UINT32) {
    throw notRewritten(`the catalog has 32 bits for the size of ${change.fileName}`);
  }
  catalog.writeUint32(at + OPTIONS.crc, figures.crc);
  catalog.writeUint32(at + OPTIONS.size, figures.size);
  return figures.hash;
}

/**
 * Writes the new hashes.
 *
 * @param wanted the hashes that options must have, by the place to which they refer
 * @returns bytes to append
 */
function writeHashes(
  catalog: BinaryCatalog,
  options: ReadonlyMap<number, BundleChange | undefined>,
  wanted: ReadonlyMap<number, ReadonlySet<string>>,
): Buffer[] {
  const appended: Buffer[] = [];
  const start = Math.ceil(catalog.bytes.length / 4) * 4;
  for (const [at, change] of options) {
    const place = catalog.uint32(at + OPTIONS.hash);
    const old = catalog.hash(place);
    if (change === undefined || change.after === null || /^0+$/.test(old)) continue;
    const hash = Buffer.from(change.after.contentHash);
    if (wanted.get(place)?.size === 1) {
      catalog.writeHash(place, hash);
      continue;
    }
    if (appended.length === 0) appended.push(Buffer.alloc(start - catalog.bytes.length));
    catalog.writeUint32(at + OPTIONS.hash, start + (appended.length - 1) * HASH_BYTES);
    appended.push(hash);
  }
  return appended;
}

/** Whether bytes begin as a binary catalog of Addressables. */
export function isAddressablesBinary(head: Buffer): boolean {
  return BinaryCatalog.isCatalog(head);
}
