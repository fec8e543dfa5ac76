import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createRandom } from '../../demo/game/seeded-random.ts';

/** The files of one release, by destination. */
export type ReleaseFiles = ReadonlyMap<string, Buffer>;

const MIB = 1024 * 1024;

/**
 * A small release with the sizes and names that matter: empty, text, one byte around a block, several blocks, odd
 * names.
 */
export function sampleFiles(seed = 7): Map<string, Buffer> {
  const random = createRandom(seed);
  return new Map<string, Buffer>([
    ['TableBundles/Excel.zip', random.bytes(70_000)],
    ['TableBundles/ExcelDB.db', random.bytes(MIB - 1)],
    ['MediaResources/exact.ogg', random.bytes(MIB)],
    ['MediaResources/more.ogg', random.bytes(MIB + 1)],
    ['MediaResources/Movie/Opening.mp4', random.bytes(5 * MIB + 4321)],
    ['Windows_PatchPack/unity default resources', random.bytes(3000)],
    ['Windows_PatchPack/日本語.json', Buffer.from('{"TextJp":"先生"}')],
    ['Windows_PatchPack/100%+&?#.txt', Buffer.from('odd name')],
    ['empty.bytes', Buffer.alloc(0)],
  ]);
}

/** Writes a `directory` upstream: the files, its `release.json`, and a server-info document when given. */
export async function writeReleaseTree(
  directory: string,
  release: { readonly id: string; readonly files: ReleaseFiles; readonly serverInfo?: object },
): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  for (const [destination, bytes] of release.files) {
    const path = join(directory, destination);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, bytes);
  }
  if (release.serverInfo !== undefined) {
    await writeFile(join(directory, 'server-info.json'), JSON.stringify(release.serverInfo));
  }
  await writeFile(
    join(directory, 'release.json'),
    JSON.stringify({ release_id: release.id, app_version: '1.67.0' }),
  );
}
