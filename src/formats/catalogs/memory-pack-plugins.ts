import { setImmediate as nextTurn } from 'node:timers/promises';
import { BUNDLE_PACKING_INFO, MEDIA_CATALOG, TABLE_CATALOG } from '../memorypack/game-catalogs.ts';
import { findExtraMembers } from '../memorypack/extra-members.ts';
import { MemoryPackError } from '../memorypack/memory-pack-cursor.ts';
import type { MemoryPackObject, ObjectLayout } from '../memorypack/memory-pack-layout.ts';
import { readMemoryPack } from '../memorypack/read-memory-pack.ts';
import {
  mediaFolderOf,
  newNumber,
  newSize,
  newText,
  type CatalogPlugin,
  type FileChange,
  type RewrittenCatalog,
} from './catalog-plugin.ts';
import { notRewritten } from '../patch/patch-error.ts';

/** Members that name a file, and those that state its figures; a record has some of them. */
const NAMES = ['Path', 'PackName', 'Name'];
const SIZES = ['Bytes', 'PackSize', 'Size'];
const NUMBERS = ['Crc', 'FileHash'];
const TEXTS = ['Signature'];
const STRING_HEADER = 8;

interface Kind {
  readonly name: string;
  readonly file: RegExp;
  readonly root: ObjectLayout;
  readonly folderOf: (folder: string) => string;
}

const KINDS: readonly Kind[] = [
  {
    name: 'table-catalog',
    file: /(?:^|\/)TableCatalog\.bytes$/,
    root: TABLE_CATALOG,
    folderOf: (folder) => folder,
  },
  {
    name: 'media-catalog',
    file: /(?:^|\/)MediaCatalog\.bytes$/,
    root: MEDIA_CATALOG,
    folderOf: mediaFolderOf,
  },
  {
    name: 'bundle-packing-info',
    file: /(?:^|\/)BundlePackingInfo\.bytes$/,
    root: BUNDLE_PACKING_INFO,
    folderOf: (folder) => folder,
  },
];

/** The plug-ins of the catalogs in MemoryPack. Figures are written in their place, so a catalog keeps its length. */
export const MEMORY_PACK_PLUGINS: readonly CatalogPlugin[] = KINDS.map(({ name, file, root, folderOf }) => ({
  name,
  recognizes: (path) => file.test(path),
  rewrite: async (path, bytes, changes) =>
    await rewrite(bytes, root, folderOf(path.slice(0, path.lastIndexOf('/') + 1)), changes),
}));

async function rewrite(
  bytes: Uint8Array,
  root: ObjectLayout,
  folder: string,
  changes: readonly FileChange[],
): Promise<RewrittenCatalog> {
  const patched = Buffer.from(bytes);
  const official = Buffer.from(patched);
  const byPath = new Map(changes.map((change) => [change.path, change]));
  const rewritten = new Set<string>();
  const apply = (path: string, record: MemoryPackObject): void => {
    const change = byPath.get(path);
    if (change === undefined) return;
    writeFigures(patched, record, change);
    rewritten.add(path);
  };
  let nested: MemoryPackObject[] = [];
  try {
    const extras = await findExtraMembers(official, root);
    for (const element of readMemoryPack(official, root, extras, (record) => nested.push(record))) {
      if (element === null) {
        await nextTurn();
        continue;
      }
      const path = folder + nameOf(element);
      apply(path, element);
      // A pack lists the files inside of it.
      for (const record of nested) apply(`${path}!/${nameOf(record)}`, record);
      nested = [];
    }
  } catch (error) {
    if (!(error instanceof MemoryPackError)) throw error;
    throw notRewritten(`the catalog cannot be read: ${error.message}`);
  }
  return { bytes: patched, rewritten };
}

function nameOf({ values }: MemoryPackObject): string {
  const name = NAMES.map((member) => values[member]).find((value) => typeof value === 'string');
  return (name ?? '').replaceAll('\\', '/');
}

function writeFigures(bytes: Buffer, { offsets, values }: MemoryPackObject, change: FileChange): void {
  for (const member of SIZES) {
    const at = offsets[member];
    if (at !== undefined) bytes.writeBigInt64LE(newSize(change, bytes.readBigInt64LE(at)), at);
  }
  for (const member of NUMBERS) {
    const at = offsets[member];
    if (at !== undefined) bytes.writeBigUInt64LE(checkedNumber(change, bytes.readBigUInt64LE(at)), at);
  }
  for (const member of TEXTS) {
    const [at, stated] = [offsets[member], values[member]];
    if (at !== undefined && typeof stated === 'string')
      writeText(bytes, at, newText(change, stated), stated, change);
  }
}

function checkedNumber(change: FileChange, stated: bigint): bigint {
  const value = newNumber(change, stated);
  if (value < 2n ** 64n) return value;
  throw notRewritten('the new checksum does not fit into 64 bits', change.path);
}

/** Writes a checksum over one of the same length, so that nothing behind it moves. */
function writeText(bytes: Buffer, at: number, text: string, stated: string, { path }: FileChange): void {
  if (text === stated) return;
  if (text.length !== stated.length) {
    throw notRewritten('the new checksum has another length than the old one', path);
  }
  // A negative header is the complement of the length in UTF-8, with the count of characters behind it.
  if (bytes.readInt32LE(at) < 0) bytes.write(text, at + STRING_HEADER, 'latin1');
  else bytes.write(text, at + STRING_HEADER / 2, 'utf16le');
}
