import { setImmediate as nextTurn } from 'node:timers/promises';

import type { SnapshotId } from '../../../domain/release/digest.ts';
import type { ManifestIndex } from '../../../snapshot/manifest/manifest-index.ts';

/** Entries rendered in one turn of the event loop: about a millisecond. */
const ENTRIES_PER_TURN = 500;

/** Bytes of rendered lists that are kept; the newest list is kept whatever its size. */
const MAX_CACHED_BYTES = 256 * 1024 * 1024;

interface LauncherFileList {
  /** The members of the array as JSON text without the brackets. */
  readonly pieces: readonly Uint8Array[];
  readonly totalBytes: number;
}

interface LauncherFileLists {
  /** The list of a snapshot. Concurrent requests for a snapshot share one rendering. */
  render(index: ManifestIndex): Promise<LauncherFileList>;
  /** Sum of the sizes of the files of a snapshot that launchers install, in bytes. */
  totalBytes(index: ManifestIndex): Promise<number>;
}

/**
 * Makes a bounded cache of rendered lists.
 *
 * @param isListed whether launchers install a destination; `null` when they install all
 */
export function createLauncherFileLists(
  isListed: ((destination: string) => boolean) | null,
): LauncherFileLists {
  const lists = new Map<SnapshotId, Promise<LauncherFileList>>();
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

  const start = async (index: ManifestIndex): Promise<LauncherFileList> => {
    const list = await renderFiles(index, isListed);
    sizes.set(
      index.snapshotId,
      list.pieces.reduce((sum, piece) => sum + piece.length, 0),
    );
    evictBeside(index.snapshotId);
    return list;
  };

  const render = async (index: ManifestIndex): Promise<LauncherFileList> => {
    const known = lists.get(index.snapshotId);
    if (known !== undefined) return await known;
    const list = start(index);
    lists.set(index.snapshotId, list);
    return await list.catch((error: unknown) => {
      lists.delete(index.snapshotId);
      throw error;
    });
  };

  return {
    render,
    totalBytes: async (index) =>
      isListed === null ? index.header.total_bytes : (await render(index)).totalBytes,
  };
}

/** Launchers compare `hash` (CRC-64/XZ) as text and expect both numbers as decimal strings. */
async function renderFiles(
  index: ManifestIndex,
  isListed: ((destination: string) => boolean) | null,
): Promise<LauncherFileList> {
  const pieces: Uint8Array[] = [];
  let totalBytes = 0;
  let isFirst = true;
  for (let start = 0; start < index.length; start += ENTRIES_PER_TURN) {
    if (start > 0) await nextTurn();
    const end = Math.min(index.length, start + ENTRIES_PER_TURN);
    let text = '';
    for (let position = start; position < end; position += 1) {
      const destination = index.destination(position);
      if (isListed?.(destination) === false) continue;
      const size = index.size(position);
      const file = { path: `/${destination}`, hash: index.crc64(position), size: String(size) };
      text += `${isFirst ? '' : ','}${JSON.stringify(file)}`;
      isFirst = false;
      totalBytes += size;
    }
    if (text !== '') pieces.push(Buffer.from(text));
  }
  return { pieces, totalBytes };
}
