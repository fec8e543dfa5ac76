import { read } from 'node:fs';
import { promisify } from 'node:util';
import type { ManifestEntry } from '../../domain/release/manifest.ts';
import { readBlockList, type VerifiedPart } from './block-list.ts';
import { openObject, wasReplaced, type OpenObject } from './object-reader.ts';

export interface ObjectSource {
  open(object: VerifiedPart): Promise<OpenObject>;
  wasReplaced(object: VerifiedPart, open: OpenObject): Promise<boolean>;
  /** The block list of an entry that has one, verified. */
  blockList(entry: ManifestEntry): Promise<Uint8Array>;
  /** Fills `memory` with the bytes from `start`, not verified. Returns how many there were before the end of the file. */
  read(fd: number, start: number, memory: Buffer): Promise<number>;
}

const readAt = promisify(read);

export function createObjectSource(root: string): ObjectSource {
  return {
    open: async ({ blake3, size }) => await openObject({ root, blake3, size }),
    wasReplaced: async ({ blake3, size }, open) => await wasReplaced({ root, blake3, size }, open),
    blockList: async (entry) => await readBlockList(root, entry),
    read: async (fd, start, memory) => {
      let length = 0;
      while (length < memory.length) {
        const { bytesRead } = await readAt(fd, memory, length, memory.length - length, start + length);
        if (bytesRead === 0) break;
        length += bytesRead;
      }
      return length;
    },
  };
}
