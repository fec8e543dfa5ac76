import { type BigIntStats, close, fstat, open } from 'node:fs';
import { promisify } from 'node:util';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import { ObjectFault, objectFaultOf } from './object-fault.ts';
import { objectPath } from '../volume/layout.ts';
import { OPEN_REGULAR } from '../../platform/files/open-regular.ts';

export interface OpenObject {
  readonly fd: number;
  readonly identity: FileIdentity;
  readonly size: number;
  close(): Promise<void>;
}

const openAsync = promisify(open);
const closeAsync = promisify(close);
const fstatAsync = promisify(fstat);

/**
 * Opens an object of the store and makes sure that it is a regular file of the right size.
 *
 * @param options.size the size that the manifest states, in bytes
 * @throws ObjectFault when it is missing, no regular file, of another size, or cannot be opened
 */
export async function openObject({
  root,
  blake3,
  size,
}: {
  readonly root: string;
  readonly blake3: Blake3Hex;
  readonly size: number;
}): Promise<OpenObject> {
  return await openStoreFile({ path: objectPath(root, blake3), blake3, size, what: 'object' });
}

/**
 * Whether a usable object with another file, or another state of the same file, is in the place of the open one: then what was read
 * from the open one says nothing of the object.
 */
export async function wasReplaced(
  place: Parameters<typeof openObject>[0],
  { fd, identity }: OpenObject,
): Promise<boolean> {
  try {
    const now = await openObject(place);
    await now.close();
    return !sameIdentity(now.identity, identity) || !sameIdentity(await fileIdentity(fd), identity);
  } catch {
    return false;
  }
}

interface StoreFile {
  readonly path: string;
  readonly blake3: Blake3Hex;
  readonly size: number;
  /** `object` or `block list`, for messages. */
  readonly what: string;
}

export async function openStoreFile({ path, blake3, size, what }: StoreFile): Promise<OpenObject> {
  let fd: number;
  try {
    fd = await openAsync(path, OPEN_REGULAR);
  } catch (error) {
    throw objectFaultOf(error, blake3, what);
  }
  try {
    const stats = await fstatAsync(fd, { bigint: true });
    if (!stats.isFile()) {
      throw new ObjectFault('not_regular', blake3, `${what} ${blake3} is not a regular file: ${path}`);
    }
    if (stats.size !== BigInt(size)) {
      throw new ObjectFault(
        'size_mismatch',
        blake3,
        `${what} ${blake3} has ${stats.size} bytes instead of ${size}: ${path}`,
      );
    }
    let open = true;
    return {
      fd,
      identity: identityOf(stats),
      size,
      close: async () => {
        if (!open) return;
        open = false;
        await closeAsync(fd);
      },
    };
  } catch (error) {
    await closeAsync(fd);
    throw error instanceof ObjectFault ? error : objectFaultOf(error, blake3, what);
  }
}

/** Shows whether a path still names the same bytes: any write, replacement or truncation changes one of these. */
export interface FileIdentity {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

/** The identity of the file behind an open descriptor. Rejects with the file system error. */
export async function fileIdentity(fd: number): Promise<FileIdentity> {
  return identityOf(await fstatAsync(fd, { bigint: true }));
}

function identityOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): FileIdentity {
  return { dev, ino, size, mtimeNs, ctimeNs };
}

export function sameIdentity(left: FileIdentity, right: FileIdentity): boolean {
  return (
    left.ino === right.ino &&
    left.dev === right.dev &&
    left.size === right.size &&
    left.mtimeNs === right.mtimeNs &&
    left.ctimeNs === right.ctimeNs
  );
}
