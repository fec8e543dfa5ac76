import { read } from 'node:fs';
import { promisify } from 'node:util';
import type { ManifestEntry } from '../../domain/release/manifest.ts';
import { readBlockList } from '../../snapshot/objects/block-list.ts';
import {
  fileIdentity,
  openObject,
  type FileIdentity,
  type OpenObject,
} from '../../snapshot/objects/object-reader.ts';

/** What the byte path wants of the snapshot volume. */
export interface ObjectSource {
  /** Opens the object of an entry; see `openObject` for the faults. */
  open(entry: ManifestEntry): Promise<OpenObject>;
  /** The block list of an entry that has one, verified. */
  blockList(entry: ManifestEntry): Promise<Uint8Array>;
  /** What identifies the state of the file behind a descriptor now. */
  identity(fd: number): Promise<FileIdentity>;
  /** Fills `memory` with the bytes from `start` on and returns it; what could be read when the file ends before. */
  read(fd: number, start: number, memory: Buffer): Promise<Buffer>;
}

const readAt = promisify(read);

/** Reads objects from the volume at `root`. */
export function createObjectSource(root: string): ObjectSource {
  return {
    open: async ({ blake3, size }) => openObject({ root, blake3, size }),
    blockList: async (entry) => readBlockList({ root, entry }),
    identity: async (fd) => fileIdentity(fd),
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
