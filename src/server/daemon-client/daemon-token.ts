import { readBoundedFile } from '../../platform/files/files.ts';

const TOKEN_FILE_MAX_BYTES = 4_096;

/**
 * The token that the daemon asks for, read anew each time, so that it rotates without a restart.
 *
 * @param file `undefined` when the daemon asks for none
 * @returns `null` for none
 */
export async function readDaemonToken(file: string | undefined): Promise<string | null> {
  if (file === undefined) return null;
  return (await readBoundedFile(file, TOKEN_FILE_MAX_BYTES)).toString('utf8').trim();
}
