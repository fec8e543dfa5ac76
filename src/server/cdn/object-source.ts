import { read } from 'node:fs';
import { promisify } from 'node:util';
import type { ManifestEntry } from '../../domain/manifest.ts';
import { readBlockList } from '../../snapshot/block-list.ts';
import {
  fileIdentity,
  openObject,
  type FileIdentity,
  type OpenObject,
} from '../../snapshot/object-reader.ts';

/** What the byte path wants of the snapshot volume. */
export interface ObjectSource {
  /** Opens the object of an entry; see `openObject` for the faults. */
  open(entry: ManifestEntry): Promise<OpenObject>;
  /** The block list of an entry that has one, verified. */
  blockList(entry: ManifestEntry): Promise<Uint8Array>;
  /** What identifies the state of the file behind a descriptor now. */
  identity(fd: number): Promise<FileIdentity>;
  /** The bytes `[start, end)` of a descriptor; fewer when the file ends before. */
  read(fd: number, start: number, end: number): Promise<Buffer>;
}

const readAt = promisify(read);

/** Reads objects from the volume at `root`. */
export function createObjectSource(root: string): ObjectSource {
  return {
    open: async ({ blake3, size }) => openObject({ root, blake3, size }),
    blockList: async (entry) => readBlockList({ root, entry }),
    identity: async (fd) => fileIdentity(fd),
    read: async (fd, start, end) => {
      // A buffer of its own: a slice of the shared pool would keep that pool alive as long as the slowest client.
      const bytes = Buffer.allocUnsafeSlow(end - start);
      let length = 0;
      while (length < bytes.length) {
        const { bytesRead } = await readAt(fd, bytes, length, bytes.length - length, start + length);
        if (bytesRead === 0) break;
        length += bytesRead;
      }
      return length === bytes.length ? bytes : bytes.subarray(0, length);
    },
  };
}
