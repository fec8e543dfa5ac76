import { fstatSync, read } from 'node:fs';
import { promisify } from 'node:util';
import type { ManifestEntry } from '../../domain/release/manifest.ts';
import { isOnLocalFileSystem } from '../../platform/files/local-file-system.ts';
import { readBlockList } from '../../snapshot/objects/block-list.ts';
import { identityOf } from '../../snapshot/objects/file-identity.ts';
import {
  fileIdentity,
  openObject,
  type FileIdentity,
  type OpenObject,
} from '../../snapshot/objects/object-reader.ts';

/** Reads the snapshot volume for the byte path. */
export interface ObjectSource {
  /** Opens the object of an entry; see `openObject` for the faults. */
  open(entry: ManifestEntry): Promise<OpenObject>;
  /** The block list of an entry that has one, verified. */
  blockList(entry: ManifestEntry): Promise<Uint8Array>;
  /** The identity of the file behind a descriptor, read after the call. */
  identity(fd: number): Promise<FileIdentity>;
  /**
   * Like {@link identity}, but without a trip to the thread pool; `null` if the file system might block. Throws the
   * error of the file system.
   *
   * @param device of the file system, from the identity of the open object
   */
  identityNow(fd: number, device: bigint): FileIdentity | null;
  /** Fills `memory` with the bytes from `start` and returns it; returns a shorter view if the file ends before. */
  read(fd: number, start: number, memory: Buffer): Promise<Buffer>;
}

const readAt = promisify(read);

/** Reads objects from the volume at `root`. */
export function createObjectSource(root: string): ObjectSource {
  const isLocal = new Map<bigint, boolean>();
  return {
    open: async ({ blake3, size }) => {
      const object = await openObject({ root, blake3, size });
      const { dev } = object.identity;
      if (!isLocal.has(dev)) isLocal.set(dev, await isOnLocalFileSystem(`/proc/self/fd/${object.fd}`));
      return object;
    },
    blockList: async (entry) => readBlockList({ root, entry }),
    identity: async (fd) => fileIdentity(fd),
    identityNow: (fd, device) =>
      isLocal.get(device) === true ? identityOf(fstatSync(fd, { bigint: true })) : null,
    read: async (fd, start, memory) => {
      let length = 0;
      while (length < memory.length) {
        const { bytesRead } = await readAt(fd, memory, length, memory.length - length, start + length);
        if (bytesRead === 0) break;
        length += bytesRead;
      }
      return length === memory.length ? memory : memory.subarray(0, length);
    },
  };
}
