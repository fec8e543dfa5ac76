import { statfs } from 'node:fs/promises';

/** Magic numbers of Linux (statfs(2)) of file systems that keep the inodes of open files in memory. */
const LOCAL_TYPES: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x5846_5342, // XFS
  0x9123_683e, // Btrfs
  0xf2f5_2010, // F2FS
  0x2fc1_2fc1, // ZFS
  0x0102_1994, // tmpfs
]);

/**
 * Whether `fstat` of an open file never waits for a disk or a network there. Every type that is not known to be local
 * counts as remote, and so does a file system that cannot be asked.
 */
export async function isOnLocalFileSystem(path: string): Promise<boolean> {
  try {
    return LOCAL_TYPES.has((await statfs(path)).type);
  } catch {
    return false;
  }
}
