import { setImmediate as nextTurn } from 'node:timers/promises';

import type { SnapshotId } from '../../../domain/release/digest.ts';
import type { ManifestIndex } from '../../../snapshot/manifest/manifest-index.ts';

/** Entries rendered in one turn of the event loop: about a millisecond. */
const ENTRIES_PER_TURN = 500;

/** Bytes of rendered lists that are kept; the newest list is kept whatever its size. */
const MAX_CACHED_BYTES = 256 * 1024 * 1024;

/** The rendered `file` arrays of launcher bootstraps. */
export interface LauncherFileLists {
  /**
   * The members of the `file` array of a snapshot as JSON text without the brackets, in pieces. Concurrent requests
   * for a snapshot share one rendering.
   */
  render(index: ManifestIndex): Promise<readonly Uint8Array[]>;
}

/** Makes a bounded cache of rendered lists. */
export function createLauncherFileLists(): LauncherFileLists {
  const lists = new Map<SnapshotId, Promise<readonly Uint8Array[]>>();
  const sizes = new Map<SnapshotId, number>();

  const evictBeside = (newest: SnapshotId): void => {
    let total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    for (const [snapshotId, size] of sizes) {
      if (total <= MAX_CACHED_BYTES && sizes.size <= 2) return;
      if (snapshotId === newest) continue;
      lists.delete(snapshotId);
      sizes.delete(snapshotId);
      total -= size;
    }
  };

  const start = async (index: ManifestIndex): Promise<readonly Uint8Array[]> => {
    const pieces = await renderFiles(index);
    sizes.set(
      index.snapshotId,
      pieces.reduce((sum, piece) => sum + piece.length, 0),
    );
    evictBeside(index.snapshotId);
    return pieces;
  };

  return {
    render: async (index) => {
      const known = lists.get(index.snapshotId);
      if (known !== undefined) return known;
      const pieces = start(index);
      lists.set(index.snapshotId, pieces);
      return pieces.catch((error: unknown) => {
        lists.delete(index.snapshotId);
        throw error;
      });
    },
  };
}

/** Launchers compare `hash` (CRC-64/XZ) as text and expect both numbers as decimal strings. */
async function renderFiles(index: ManifestIndex): Promise<readonly Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for (let start = 0; start < index.length; start += ENTRIES_PER_TURN) {
    if (start > 0) await nextTurn();
    const end = Math.min(index.length, start + ENTRIES_PER_TURN);
    let text = '';
    for (let position = start; position < end; position += 1) {
      const file = {
        path: `/${index.destination(position)}`,
        hash: index.crc64(position),
        size: String(index.size(position)),
      };
      text += `${position === 0 ? '' : ','}${JSON.stringify(file)}`;
    }
    pieces.push(Buffer.from(text));
  }
  return pieces;
}
