import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** How many files Slipway makes durable together. */
export const PARALLEL_FSYNC = 16;

/** Makes the files of a directory durable, as many at a time as Slipway does. */
export async function syncFiles(directory: string): Promise<void> {
  // sync(1) of coreutils calls fsync(2) for each file that it is given.
  const command = `ls | xargs -n 8 -P ${PARALLEL_FSYNC} sync`;
  await promisify(execFile)('sh', ['-c', command], { cwd: directory });
}
