import {
  openSnapshotWriter,
  type SnapshotWriter,
  type SnapshotWriterOptions,
} from '../../src/snapshot/snapshot-writer.ts';
import { StoreRoot } from '../../src/snapshot/volume/store-root.ts';

/** Opens the volume at a path for writing. Its folder stays open until the process ends. */
export async function openWriterAt(
  options: Omit<SnapshotWriterOptions, 'root'> & { readonly root: string },
): Promise<SnapshotWriter> {
  return await openSnapshotWriter({ ...options, root: await StoreRoot.open(options.root) });
}
