import { createHash } from 'node:crypto';
import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The digest of every name, mode, time and byte below a folder. */
export async function treeDigest(root: string): Promise<string> {
  const hash = createHash('sha256');
  for (const name of (await readdir(root, { recursive: true })).sort()) {
    const stats = await lstat(join(root, name), { bigint: true });
    hash.update(`${name} ${stats.mode} ${stats.ino} ${stats.mtimeNs} ${stats.ctimeNs}\n`);
    if (stats.isFile()) hash.update(await readFile(join(root, name)));
  }
  return hash.digest('hex');
}
