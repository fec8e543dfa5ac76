import { EntryCursor, type ReadEntries } from './entry-cursor.ts';
import type { ChangedFolder, ChangedFolders } from './changed-folders.ts';
import { destinationOf, isSame, mergeEntries, type EntryPair, type Place } from './merge-entries.ts';

/** Changed entries of a folder, in order. */
export interface FolderPart {
  readonly pairs: readonly EntryPair[];
  /** Where the next part begins; `null` after the last one. */
  readonly next: Place | null;
}

/**
 * Reads changed entries of a folder again: the folders keep only counts, so that their memory is bounded.
 *
 * @param from where to begin
 * @param most entries
 * @throws ApiFailure, ReleaseMoved
 */
export async function readFolder(
  read: { readonly left: ReadEntries; readonly right: ReadEntries },
  folders: ChangedFolders,
  folder: ChangedFolder,
  { from, most, signal }: { readonly from: Place; readonly most: number; readonly signal: AbortSignal },
): Promise<FolderPart> {
  const pairs: EntryPair[] = [];
  let next: Place | null = null;
  const left = new EntryCursor(read.left, signal, { from: from.left, to: folder.end.left });
  const right = new EntryCursor(read.right, signal, { from: from.right, to: folder.end.right });
  await mergeEntries(left, right, (pair, place) => {
    const inner = folderBelow(folders, folder.path, destinationOf(pair));
    if (inner !== undefined) return { skipTo: inner.end };
    if (isSame(pair)) return 'next';
    if (pairs.length === most) {
      next = place;
      return 'stop';
    }
    pairs.push(pair);
    return 'next';
  });
  return { pairs, next };
}

/** The kept folder directly below a folder that contains a destination. */
function folderBelow(folders: ChangedFolders, path: string, destination: string): ChangedFolder | undefined {
  const slash = destination.indexOf('/', path.length);
  return slash === -1 ? undefined : folders.folder(destination.slice(0, slash + 1));
}
