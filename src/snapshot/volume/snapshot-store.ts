import { mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  parseStoreFormat,
  renderStoreFormat,
  STORE_FORMAT_MAX_BYTES,
  type StoreFormat,
} from '../../contract/formats/store-format.ts';
import {
  fsyncDirectory,
  makeDirectory,
  readBoundedFile,
  writeFileDurably,
} from '../../platform/files/files.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { formatPath, STORE_DIRECTORIES } from './layout.ts';

/** The volume is not a snapshot store that this program can use. */
export class StoreFormatError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StoreFormatError';
  }
}

/** Directories in which a durable write puts its temporary file beside the target. */
const DURABLE_DIRECTORIES = [
  '.',
  'attest',
  'attest/history',
  'releases/official',
  'releases/localized',
  'tmp',
];

/** The files that a process leaves behind if it dies in `writeFileDurably` or while it removes a staging directory. */
const LEFTOVER = /^\..*\.tmp$/;

/**
 * Reads and checks FORMAT of a snapshot volume.
 *
 * @throws StoreFormatError when it is not a store of a version that this program knows; the file system error (`ENOENT` on an
 *   empty volume)
 */
export async function readStoreFormat(root: string): Promise<StoreFormat> {
  const parsed = parseStoreFormat(
    (await readBoundedFile(formatPath(root), STORE_FORMAT_MAX_BYTES)).toString('utf8'),
  );
  if (!parsed.ok) throw new StoreFormatError(`${formatPath(root)}: ${parsed.error}`);
  return parsed.value;
}

/**
 * Checks that a volume is a store or can become one. It changes nothing, so it needs no lease.
 *
 * @returns `null` when it can become one
 * @throws StoreFormatError; the file system error
 */
export async function checkStore(root: string): Promise<StoreFormat | null> {
  const format = await existingFormat(root);
  if (format === null) await refuseForeign(root);
  return format;
}

/**
 * Opens the store for writing, and makes it first when the volume is empty. The caller is the only writer.
 *
 * @param newStoreId gives the id of a store that is made now (a UUID)
 * @throws StoreFormatError; the file system error
 */
export async function openStore(root: string, newStoreId: () => string): Promise<StoreFormat> {
  const format = (await existingFormat(root)) ?? (await createStore(root, newStoreId()));
  for (const directory of STORE_DIRECTORIES) await mkdir(join(root, directory), { recursive: true });
  for (const directory of DURABLE_DIRECTORIES) {
    for (const name of await readdir(join(root, directory))) {
      if (!LEFTOVER.test(name)) continue;
      // A leftover does no harm, and a volume that cannot be written still has sound releases.
      await rm(join(root, directory, name), { recursive: true, force: true }).catch(() => undefined);
    }
  }
  for (const directory of ['attest', 'releases', '.']) await fsyncDirectory(join(root, directory));
  return format;
}

/**
 * Creates the directories of a store that were lost while it was open. Their files stay lost; a repair fetches them.
 *
 * @throws StoreFormatError when the volume is not this store, for example because it is not mounted; the file system
 *   error
 */
export async function restoreStoreDirectories(root: string, storeId: string): Promise<void> {
  const { store_id: found } = await readStoreFormat(root);
  if (found !== storeId) {
    throw new StoreFormatError(`${root} holds another store (${found}) than at the start (${storeId})`);
  }
  const paths = STORE_DIRECTORIES.flatMap((directory) => {
    const parent = dirname(directory);
    return parent === '.' ? [directory] : [parent, directory];
  });
  for (const path of new Set(paths)) await makeDirectory(join(root, path));
  for (const path of ['attest', 'releases', '.']) await fsyncDirectory(join(root, path));
}

async function existingFormat(root: string): Promise<StoreFormat | null> {
  try {
    return await readStoreFormat(root);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

async function createStore(root: string, storeId: string): Promise<StoreFormat> {
  await mkdir(root, { recursive: true });
  await refuseForeign(root);
  await writeFileDurably(formatPath(root), renderStoreFormat(storeId));
  return { format: 'slipway-snapshot-store', version: 1, store_id: storeId };
}

/** FORMAT is written before anything else: a store without it lost it, or this is another program's directory. */
async function refuseForeign(root: string): Promise<void> {
  const names = new Set(
    await readdir(root).catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') return [];
      throw error;
    }),
  );
  const foreign = STORE_DIRECTORIES.map((directory) => directory.split('/')[0] ?? '').filter((name) =>
    names.has(name),
  );
  if (foreign.length === 0) return;
  throw new StoreFormatError(
    `${root} has ${foreign.join(', ')} but not FORMAT: restore FORMAT, or give the snapshot store an empty directory`,
  );
}
