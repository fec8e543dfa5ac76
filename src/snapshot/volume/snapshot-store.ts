import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  isStoreFormatDamaged,
  parseStoreFormat,
  renderStoreFormat,
  STORE_FORMAT_MAX_BYTES,
  STORE_FORMAT_VERSION,
  type StoreFormat,
} from '../../contract/formats/store-format.ts';
import { STORE_FORMAT_FILE } from '../../contract/formats/store-format-file.ts';
import { fsyncDirectory, readBoundedFile, writeFileDurably } from '../../platform/files/files.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { formatPath, STORE_DIRECTORIES } from './layout.ts';
import { makeStoreDirectories, setAside } from './store-directories.ts';
import { rm } from '../../platform/files/file-changes.ts';

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
  const text = (await readBoundedFile(formatPath(root), STORE_FORMAT_MAX_BYTES)).toString('utf8');
  const parsed = parseStoreFormat(text);
  if (parsed.ok) return parsed.value;
  const next = isStoreFormatDamaged(text)
    ? 'the daemon that attested the store writes it again; if it does not, restore the file from a backup'
    : 'use the version of Slipway that wrote it';
  throw new StoreFormatError(`${formatPath(root)}: ${parsed.error}; ${next}`);
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
  await makeStoreDirectories(root);
  for (const directory of DURABLE_DIRECTORIES) {
    for (const name of await readdir(join(root, directory))) {
      if (!LEFTOVER.test(name)) continue;
      // A leftover does no harm, and a volume that cannot be written still has sound releases.
      await rm(join(root, directory, name), { recursive: true, force: true }).catch(() => undefined);
    }
  }
  // The names in `attest` become durable with the next attestation.
  for (const directory of ['releases', '.']) await fsyncDirectory(join(root, directory));
  return format;
}

/**
 * Creates the directories of a store that were lost or replaced while it was open. Their files stay lost; a repair fetches
 * them. The caller has compared the store.
 *
 * @throws StoreFormatError, or the file system error, when FORMAT cannot be read
 */
export async function restoreStoreDirectories(root: string): Promise<void> {
  await readStoreFormat(root);
  await makeStoreDirectories(root);
  for (const path of ['releases', '.']) await fsyncDirectory(join(root, path));
}

/**
 * Whether FORMAT of a volume is missing or damaged. FORMAT of a later version is neither.
 *
 * @throws the file system error
 */
export async function isFormatLost(root: string): Promise<boolean> {
  let text: string;
  try {
    text = (await readBoundedFile(formatPath(root), STORE_FORMAT_MAX_BYTES)).toString('utf8');
  } catch (error) {
    const code = errorCode(error);
    // Without a code it is too long or no regular file.
    if (code === 'ENOENT' || code === 'ELOOP' || code === null) return true;
    throw error;
  }
  return isStoreFormatDamaged(text);
}

/**
 * Writes FORMAT of a store again. The caller knows that the volume is this store, and is its only writer.
 *
 * @throws the file system error
 */
export async function restoreFormat(root: string, storeId: string): Promise<void> {
  await makeStoreDirectories(root);
  await setAside(root, formatPath(root));
  await writeFileDurably(formatPath(root), renderStoreFormat(storeId));
}

/** Whether a root holds anything of a store. An unmounted volume does not. @throws the file system error */
export async function holdsStore(root: string): Promise<boolean> {
  const names = new Set(await readdir(root));
  return names.has(STORE_FORMAT_FILE) || storeNamesIn(names).length > 0;
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
  await refuseForeign(root);
  await writeFileDurably(formatPath(root), renderStoreFormat(storeId));
  return { format: 'slipway-snapshot-store', version: STORE_FORMAT_VERSION, store_id: storeId };
}

async function refuseForeign(root: string): Promise<void> {
  const names = new Set(
    await readdir(root).catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') return [];
      throw error;
    }),
  );
  const foreign = storeNamesIn(names);
  if (foreign.length === 0) return;
  throw new StoreFormatError(
    `${root} has ${foreign.join(', ')} but not FORMAT: restore FORMAT, or give the snapshot store an empty directory`,
  );
}

function storeNamesIn(names: ReadonlySet<string>): readonly string[] {
  const own = new Set(STORE_DIRECTORIES.map((directory) => directory.split('/')[0] ?? ''));
  return [...own].filter((name) => names.has(name));
}
