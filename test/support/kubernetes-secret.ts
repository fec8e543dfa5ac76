import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A folder that changes as the kubelet changes the volume of a Secret. */
export interface MountedSecret {
  readonly directory: string;
  /** The path of a key of the Secret; it stays the same. */
  path(key: string): string;
  /**
   * Replaces all keys together. The files are symbolic links into `..data`, itself a link to a folder of the version;
   * the kubelet makes a new folder, swaps `..data` by a rename, and removes the old folder.
   *
   * Source: Kubernetes, pkg/volume/util/atomic_writer.go.
   */
  write(keys: Readonly<Record<string, string>>): Promise<void>;
}

/** Creates the folder with its first keys. */
export async function mountSecret(
  directory: string,
  keys: Readonly<Record<string, string>>,
): Promise<MountedSecret> {
  let version = 0;
  const linked = new Set<string>();
  const write: MountedSecret['write'] = async (next) => {
    const old = `..version_${version}`;
    version += 1;
    const name = `..version_${version}`;
    await mkdir(join(directory, name), { recursive: true });
    for (const [key, text] of Object.entries(next)) await writeFile(join(directory, name, key), text);
    await symlink(name, join(directory, '..data_tmp'));
    await rename(join(directory, '..data_tmp'), join(directory, '..data'));
    for (const key of Object.keys(next)) {
      if (!linked.has(key)) await symlink(join('..data', key), join(directory, key));
      linked.add(key);
    }
    await rm(join(directory, old), { recursive: true, force: true });
  };
  await write(keys);
  return { directory, path: (key) => join(directory, key), write };
}
