import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { demoBundles } from '../demo-bundles.ts';
import { demoStory, type DemoReleaseId } from '../demo-story.ts';
import { writeZip } from '../demo-zip.ts';
import { jsonCatalog } from './addressables-json.ts';
import { memoryPack } from './memory-pack-writer.ts';

const TABLES = 'TableBundles';
const BUNDLES = 'Windows_PatchPack';

/**
 * The catalogs of a release, as a game has them: a catalog of Addressables in an archive, with the hash of the catalog beside it, and a
 * catalog of tables in MemoryPack with its checksum.
 *
 * @param directory the tree of the release with all other files
 * @returns their bytes by destination
 */
export async function demoCatalogs(
  directory: string,
  releaseId: DemoReleaseId,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const bundles = bundleCatalog(releaseId);
  const tables = await tableCatalog(join(directory, TABLES));
  return new Map([
    [
      `${BUNDLES}/catalog_Windows.zip`,
      await writeZip([{ name: 'catalog_Windows.json', bytes: Buffer.from(bundles) }]),
    ],
    [`${BUNDLES}/catalog_Windows.hash`, Buffer.from(createHash('md5').update(bundles).digest('hex'))],
    [`${TABLES}/TableCatalog.bytes`, tables],
    [`${TABLES}/TableCatalog.hash`, Buffer.from(String(crc32(tables)))],
  ]);
}

function bundleCatalog(releaseId: DemoReleaseId): string {
  return jsonCatalog(
    demoBundles(demoStory(releaseId)).map(({ name, bytes, contentCrc }) => ({
      internalId: `0#/${name}`,
      bundleName: name.replace(/_[0-9a-f]{32}\.bundle$/, ''),
      hash: /[0-9a-f]{32}/.exec(name)?.[0] ?? '',
      crc: contentCrc,
      size: bytes.length,
    })),
    ['{UnityEngine.AddressableAssets.Addressables.RuntimePath}/Windows'],
  );
}

async function tableCatalog(folder: string): Promise<Buffer> {
  const { boolean, int64, list, map, object, text } = memoryPack;
  const records: [string, Buffer][] = [];
  for (const name of (await readdir(folder)).toSorted()) {
    const bytes = await readFile(join(folder, name));
    const flags = [boolean(false), boolean(false), boolean(false), boolean(false)];
    records.push([
      name,
      object([text(name), int64(bytes.length), int64(crc32(bytes)), ...flags, list(null)]),
    ]);
  }
  return object([map(records), map([])]);
}
