import { notRewritten, type PatchError } from '../patch/patch-error.ts';
import {
  addressPath,
  type BundleChange,
  type CatalogFigures,
  changedFigures,
  type ChangesOf,
  chooseChange,
  fileNameOf,
  type PatchedCatalog,
} from './bundle-change.ts';

const OPTIONS_CLASS = 'AssetBundleRequestOptions';
const MOST_UINT32 = 0xffff_ffff;
const CATALOG_HASH_BYTES = 16;
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
export function patchAddressablesBinary(bytes: Uint8Array, changesOf: ChangesOf): PatchedCatalog {
  const catalog = new BinaryCatalog(Buffer.from(bytes));
  const options = new Map<number, BundleChange | undefined>();
  const unread = new Set<string>();
  for (const location of locationsOf(catalog)) {
    const stated = catalog.uint32(location + LOCATION.object);
    const object = catalog.objectOf(stated, OPTIONS_CLASS);
    if (object === null && stated === NOTHING) continue;
    const address = catalog.text(catalog.uint32(location + LOCATION.internalId), '/');
    const candidates = changesOf(address);
    if (object === null) {
      if (candidates !== null) unread.add(fileNameOf(addressPath(address)));
    } else if (candidates !== null) {
      options.set(object, chooseChange(figuresAt(catalog, object), candidates));
    } else if (!options.has(object)) {
      options.set(object, undefined);
    }
  }
  const listed = new Set<string>();
  const hashes = new Map<number, Set<string>>();
  for (const [at, change] of options) {
    const hash = writeFigures(catalog, at, change);
    const place = catalog.uint32(at + OPTIONS.hash);
    hashes.set(place, (hashes.get(place) ?? new Set()).add(hash));
    if (change !== undefined && change.after !== null) listed.add(change.path);
  }
  const appended = writeHashes(catalog, options, hashes);
  return { bytes: Buffer.concat([catalog.bytes, ...appended]), listed, unread };
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
    throw notRewritten(`the catalog has 32 bits for the size of ${change.path}`);
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
    catalog.writeUint32(at + OPTIONS.hash, start + (appended.length - 1) * CATALOG_HASH_BYTES);
    appended.push(hash);
  }
  return appended;
}

export function isAddressablesBinary(head: Buffer): boolean {
  return BinaryCatalog.isCatalog(head);
}

/** A reference to nothing. */
const NOTHING = 0xffff_ffff;

const MAGIC = 0x0de3_8942;
const VERSIONS = { first: 1, last: 3 };
/** From this version on the parts of a joined text are chained from the last to the first. */
const REVERSED_SINCE = 2;
const UTF16_FLAG = 0x8000_0000;
const JOINED_FLAG = 0x4000_0000;
const POSITION_MASK = 0x3fff_ffff;
const KEYS_FIELD = 8;
const KEY_BYTES = 8;
const LENGTH_BYTES = 4;
const HASH_BYTES = 16;
const MOST_PARTS = 1024;
const MOST_TEXT_BYTES = 64 * 1024;

/**
 * The values of a `catalog.bin` of Addressables, which refer to each other by their positions. Everything is little-endian;
 * a text or an array has its length in front of its position.
 */
class BinaryCatalog {
  readonly bytes: Buffer;
  readonly #version: number;

  /**
   * @param bytes are changed by writes
   * @throws PatchError `catalog_not_rewritten` when it is not a catalog of a known version
   */
  constructor(bytes: Buffer) {
    this.bytes = bytes;
    if (!BinaryCatalog.isCatalog(bytes)) throw this.#invalid('the mark of its format is missing', 0);
    this.#version = this.uint32(4);
    if (this.#version < VERSIONS.first || this.#version > VERSIONS.last) {
      throw this.#invalid(`version ${this.#version} is not known`, 4);
    }
  }

  static isCatalog(head: Buffer): boolean {
    return head.length >= KEYS_FIELD + LENGTH_BYTES && head.readUInt32LE(0) === MAGIC;
  }

  uint32(at: number): number {
    if (at < 0 || at > this.bytes.length - 4) throw this.#invalid('a position is outside of it', at);
    return this.bytes.readUInt32LE(at);
  }

  writeUint32(at: number, value: number): void {
    this.bytes.writeUInt32LE(value, at);
  }

  hash(at: number): string {
    this.#check(at, HASH_BYTES);
    return this.bytes.toString('hex', at, at + HASH_BYTES);
  }

  writeHash(at: number, hash: Uint8Array): void {
    this.#check(at, HASH_BYTES);
    this.bytes.set(hash, at);
  }

  /** The positions of the lists of locations, one for each key. */
  *locationSets(): Generator<number> {
    const keys = this.uint32(KEYS_FIELD);
    const length = this.#length(keys);
    for (let at = keys; at + KEY_BYTES <= keys + length; at += KEY_BYTES) yield this.uint32(at + 4);
  }

  uint32Array(at: number): number[] {
    return Array.from({ length: Math.floor(this.#length(at) / 4) }, (_, index) =>
      this.uint32(at + 4 * index),
    );
  }

  /**
   * The position of a value of any class.
   *
   * @param className the last part of its name
   * @returns `null` when there is none, or one of another class
   */
  objectOf(at: number, className: string): number | null {
    if (at === NOTHING) return null;
    const [type, object] = [this.uint32(at), this.uint32(at + 4)];
    if (object === NOTHING || type === NOTHING) return null;
    const name = this.text(this.uint32(type + 4), '.');
    return name.split('.').includes(className) ? object : null;
  }

  /** A text, which can be joined from parts that other texts share. @param separator between the parts */
  text(reference: number, separator: string): string {
    if (reference === NOTHING) return '';
    if ((reference & JOINED_FLAG) === 0) return this.#plainText(reference);
    const parts: string[] = [];
    for (let next = reference; next !== NOTHING; next = this.uint32((next & POSITION_MASK) + 4)) {
      if (parts.length === MOST_PARTS) throw this.#invalid('a text refers to itself', next & POSITION_MASK);
      parts.push(this.#plainText(this.uint32(next & POSITION_MASK)));
    }
    return (this.#version >= REVERSED_SINCE ? parts.toReversed() : parts).join(separator);
  }

  #plainText(reference: number): string {
    const at = reference & POSITION_MASK;
    const encoding = (reference & UTF16_FLAG) === 0 ? 'latin1' : 'utf16le';
    const length = this.#length(at);
    if (length > MOST_TEXT_BYTES) throw this.#invalid(`a text has ${length} bytes`, at);
    return this.bytes.toString(encoding, at, at + length);
  }

  #length(at: number): number {
    const length = this.uint32(at - LENGTH_BYTES);
    this.#check(at, length);
    return length;
  }

  #check(at: number, length: number): void {
    if (at > this.bytes.length - length) throw this.#invalid('a value is cut', at);
  }

  #invalid(why: string, at: number): PatchError {
    const place = `the binary catalog of Addressables cannot be read at byte ${at}`;
    return notRewritten(`${place}: ${why}`);
  }
}
