import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { compareDestinations, parseDestination } from '../../../domain/release/destination.ts';
import { MANIFEST_MAX_ENTRIES } from '../../../domain/release/manifest.ts';
import { failure, success, type Result } from '../../../domain/result.ts';
import { messageOf } from '../../../platform/errors.ts';

export interface ReleaseFile {
  readonly path: string;
  readonly destination: string;
}

/**
 * Lists the files to parse, in the order of a manifest: a single file, or every file below a folder. Links below the folder
 * are not followed; the parser reports them as unreadable.
 *
 * @param destination the destination of a single file; `null`: its name
 * @returns the files, or one sentence that says what is wrong
 * @throws the reason of the signal
 */
export async function listReleaseFiles(
  path: string,
  destination: string | null,
  signal: AbortSignal,
): Promise<Result<readonly ReleaseFile[], string>> {
  try {
    const real = await realpath(path);
    const found = await stat(real);
    if (!found.isFile() && !found.isDirectory()) {
      return failure(`${path} is neither a file nor a folder; give one of them`);
    }
    if (found.isDirectory()) {
      if (destination !== null) return failure('--as: is only for a file, but a folder is given');
      return await listFolder(real, signal);
    }
    const named = parseDestination((destination ?? basename(path)).normalize('NFC'));
    if (!named.ok) return failure(`${named.error}; give one with --as`);
    return success([{ path: real, destination: named.value }]);
  } catch (error) {
    signal.throwIfAborted();
    return failure(`${path} cannot be read: ${messageOf(error)}`);
  }
}

async function listFolder(
  root: string,
  signal: AbortSignal,
): Promise<Result<readonly ReleaseFile[], string>> {
  const files: ReleaseFile[] = [];
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const { name, isFolder } of await entriesOf(root, folder)) {
      if (isFolder) folders.push(name);
      else files.push({ path: join(root, name), destination: name.normalize('NFC') });
    }
    signal.throwIfAborted();
    if (files.length > MANIFEST_MAX_ENTRIES) {
      return failure(`${root} has more than ${MANIFEST_MAX_ENTRIES} files, the most of a release`);
    }
  }
  return success(files.toSorted((left, right) => compareDestinations(left.destination, right.destination)));
}

/** The entries of a folder below the root. A folder that cannot be read is a file, for which the parser reports the reason. */
async function entriesOf(
  root: string,
  folder: string,
): Promise<readonly { readonly name: string; readonly isFolder: boolean }[]> {
  try {
    const entries = await readdir(join(root, folder), { withFileTypes: true });
    return entries.map((entry) => ({
      name: folder === '' ? entry.name : `${folder}/${entry.name}`,
      isFolder: entry.isDirectory(),
    }));
  } catch (error) {
    if (folder === '') throw error;
    return [{ name: folder, isFolder: false }];
  }
}
