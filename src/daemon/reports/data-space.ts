import { statfsSync } from 'node:fs';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import { textBytes } from '../../domain/text-bytes.ts';
import type { DoctorCheck } from '../../engine/check.ts';

/** Bytes of a mebibyte. */
export const MEBIBYTE = 1024 * 1024;

/** Free bytes below which a volume counts as full. */
export const SPACE_GONE_BYTES = 64 * MEBIBYTE;
/** Free bytes from which a volume that was full no longer counts as full: a value at one limit would change the state each second. */
const SPACE_BACK_BYTES = 80 * MEBIBYTE;
/** Free bytes below which the next large task may not fit. The databases grow by less than releases do. */
const SPACE_LOW_BYTES = 256 * MEBIBYTE;

interface VolumeSpace {
  readonly bavail: number;
  readonly bsize: number;
  readonly files: number;
  readonly ffree: number;
}

/** Reads the free space of the volume of the databases. */
export interface DataSpace {
  /** The check `data.space` of the doctor. */
  readonly check: DoctorCheck;
  /** Since when the volume is full, Unix seconds; `null` when it is not, or when that cannot be read. */
  fullSince(): number | null;
}

/**
 * Creates the reader of the free space of a folder. It reads the file system with each call, because a full volume stops every task
 * within seconds. It does not wait: the databases of the folder are read in the same way.
 *
 * @param look reads the file system of a folder; default statfs(2)
 */
export function createDataSpace({
  directory,
  clock,
  look = statfsSync,
}: {
  readonly directory: string;
  readonly clock: Clock;
  readonly look?: (path: string) => VolumeSpace;
}): DataSpace {
  let since: number | null = null;
  const read = (): { readonly free: number; readonly lacksInodes: boolean } => {
    const { bavail, bsize, files, ffree } = look(directory);
    const free = bavail * bsize;
    // A file system without a fixed number of inodes reports 0 of 0.
    const lacksInodes = files > 0 && ffree === 0;
    const limit = since === null ? SPACE_GONE_BYTES : SPACE_BACK_BYTES;
    since = free < limit || lacksInodes ? (since ?? unixSeconds(clock)) : null;
    return { free, lacksInodes };
  };
  return {
    check: {
      id: 'data.space',
      run: () => {
        const { free, lacksInodes } = read();
        const message = `${textBytes(free)}${lacksInodes ? ' and no inodes' : ''} are free for the databases`;
        if (since !== null) {
          const end = `the volume counts as full until ${textBytes(SPACE_BACK_BYTES)}${lacksInodes ? ' and at least one inode' : ''} are free`;
          const advice = 'enlarge the volume of data.dir, or free space on it';
          return { status: 'failing', message: `${message}; ${end}; ${advice}`, since };
        }
        if (free < SPACE_LOW_BYTES)
          return { status: 'degraded', message: `${message}; enlarge the volume of data.dir` };
        return { status: 'ok', message };
      },
    },
    fullSince: () => {
      try {
        read();
      } catch {
        // The check reports why the volume cannot be read.
        return null;
      }
      return since;
    },
  };
}
