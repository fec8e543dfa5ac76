import { crc32 } from 'node:zlib';
import { seededBytes } from './generate-release.ts';
import { memoryPack } from '../../demo/game/catalogs/memory-pack-writer.ts';

const { boolean, int32, int64, list, map, object, text } = memoryPack;

/** A file as a catalog states it. */
export interface StatedFile {
  readonly name: string;
  readonly size: number;
  readonly crc: number;
}

/** A pack and the names of the files inside it; `null` writes a null collection. */
export interface StatedPack extends StatedFile {
  readonly inside: readonly string[] | null;
}

/** Members that a newer writer appends to the records of a catalog. */
export interface NewerWriter {
  readonly record?: readonly Buffer[];
  readonly inner?: readonly Buffer[];
  readonly root?: readonly Buffer[];
}

/** A record of a table archive. */
export function tableBundle(
  file: StatedFile,
  includes: readonly string[] | null,
  more: readonly Buffer[] = [],
): Buffer {
  const { name, size, crc } = file;
  const flags = [boolean(false), boolean(true), boolean(false), boolean(true)];
  return object([text(name), int64(size), int64(crc), ...flags, list(includes?.map(text) ?? null), ...more]);
}

/** `TableCatalog.bytes`; `null` writes a null collection. */
export function tableCatalog(
  tables: readonly StatedFile[] | null,
  packs: readonly StatedPack[] | null,
  newer: NewerWriter = {},
): Buffer {
  const pack = ({ name, size, crc, inside }: StatedPack): Buffer =>
    object([
      text(name),
      int64(size),
      int64(crc),
      boolean(false),
      list(inside?.map((each) => tableBundle({ name: each, size: 1, crc: 2 }, [each], newer.inner)) ?? null),
      ...(newer.record ?? []),
    ]);
  return object([
    map(tables?.map((file) => [file.name, tableBundle(file, null, newer.inner)] as const) ?? null),
    map(packs?.map((each) => [each.name, pack(each)] as const) ?? null),
    ...(newer.root ?? []),
  ]);
}

/** `MediaCatalog.bytes`; paths are written with backslashes. */
export function mediaCatalog(files: readonly StatedFile[] | null, newer: NewerWriter = {}): Buffer {
  const media = ({ name, size, crc }: StatedFile): Buffer =>
    object([
      text(name.replaceAll('/', '\\')),
      text(name.split('/').at(-1) ?? ''),
      int64(size),
      int64(crc),
      boolean(true),
      boolean(false),
      int32(1),
      ...(newer.record ?? []),
    ]);
  return object([
    map(files?.map((file) => [file.name.toLowerCase(), media(file)] as const) ?? null),
    ...(newer.root ?? []),
  ]);
}

/** `BundlePackingInfo.bytes`. */
export function bundlePackingInfo(
  full: readonly StatedPack[] | null,
  update: readonly StatedPack[] | null,
  newer: NewerWriter = {},
): Buffer {
  const bundle = (name: string): Buffer =>
    object([
      text(name),
      int64(10),
      boolean(false),
      int64(20),
      boolean(true),
      int64(18_446_744_073_709_551_615n),
      text('signature'),
      ...(newer.inner ?? []),
    ]);
  const pack = ({ name, size, crc, inside }: StatedPack): Buffer =>
    object([
      text(name),
      int64(size),
      int64(crc),
      boolean(true),
      boolean(false),
      list(inside?.map(bundle) ?? null),
      ...(newer.record ?? []),
    ]);
  return object([
    text('milestone'),
    int32(7),
    list(full?.map(pack) ?? null),
    list(update?.map(pack) ?? null),
    ...(newer.root ?? []),
  ]);
}

/** A generated catalog root in the layout that game clients read today. */
export interface GameRoot {
  /** Every file of the release by its path below the root, the catalogs among them. */
  readonly files: Map<string, Buffer>;
  /** Paths of the files that the catalogs list. */
  readonly listed: readonly string[];
}

/**
 * Generates a catalog root: MemoryPack catalogs with their `.hash` files, and the files that they list.
 *
 * @param seed decides every byte
 */
export function generateGameRoot(seed: string, platforms: readonly string[]): GameRoot {
  const files = new Map<string, Buffer>();
  const listed: string[] = [];
  const add = (folder: string, name: string, size: number): StatedFile => {
    const bytes = seededBytes(`${seed}:${folder}/${name}`, size);
    files.set(`${folder}/${name}`, bytes);
    listed.push(`${folder}/${name}`);
    return { name, size, crc: crc32(bytes) };
  };
  const addCatalog = (path: string, bytes: Buffer): void => {
    files.set(path, bytes);
    files.set(path.replace(/\.bytes$/, '.hash'), Buffer.from(String(crc32(bytes))));
  };
  const pack = (folder: string, name: string, size: number): StatedPack => ({
    ...add(folder, name, size),
    inside: [`${name}-one`, `${name}-two`],
  });
  const tables = ['Excel.zip', 'ExcelDB.db', 'シナリオ.zip'].map((name, index) =>
    add('TableBundles', name, 1000 + index),
  );
  addCatalog(
    'TableBundles/TableCatalog.bytes',
    tableCatalog(tables, [pack('TableBundles', 'TablePatchPack_000.zip', 4000)]),
  );
  const mediaFolder = (platform: string): string =>
    platform === 'Windows' ? 'MediaResources-Windows' : 'MediaResources';
  for (const folder of new Set(platforms.map(mediaFolder))) {
    const media = ['GameData/Audio/VOC_JP/JP_X.zip', 'GameData/Movie/Opening.mp4'].map((name, index) =>
      add(folder, name, 2_000_000 * index + 700),
    );
    addCatalog(`${folder}/Catalog/MediaCatalog.bytes`, mediaCatalog(media));
  }
  for (const platform of platforms) {
    const folder = `${platform}_PatchPack`;
    const full = [pack(folder, 'FullPatch_000.zip', 90_000), pack(folder, 'FullPatch_001.zip', 0)];
    addCatalog(
      `${folder}/BundlePackingInfo.bytes`,
      bundlePackingInfo(full, [pack(folder, 'UpdatePatch_000.zip', 20)]),
    );
    files.set(`${folder}/catalog_${platform}.zip`, seededBytes(`${seed}:${platform}`, 100_000));
    files.set(`${folder}/catalog_${platform}.hash`, Buffer.from('a0d3861cb71f215d5d3033d3eee04172'));
  }
  return { files, listed };
}
