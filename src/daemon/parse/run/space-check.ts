import { statfsSync } from 'node:fs';
import { DATA_FULL } from '../../database/storage-failure.ts';

/** Bytes that the index leaves for the daemon's own database, which has to record how the run ended. */
const RESERVED_BYTES = 8 * 1024 * 1024;

/**
 * Creates a check that throws before the index fills the file system.
 *
 * @param directory on the file system of the index
 * @param look reads the file system; default statfs(2)
 * @returns throws an Error with the code `data_full`
 */
export function createSpaceCheck(
  directory: string,
  look: (path: string) => { readonly bavail: number; readonly bsize: number } = statfsSync,
): () => void {
  return () => {
    const { bavail, bsize } = look(directory);
    const free = bavail * bsize;
    if (free >= RESERVED_BYTES) return;
    const message = `${directory} has ${free} free bytes, and the index leaves ${RESERVED_BYTES} to the daemon`;
    throw Object.assign(new Error(`${message}; ${DATA_FULL.advice}`), { code: DATA_FULL.code });
  };
}
