import { randomUUID } from 'node:crypto';
import { open, readFile, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { errorCode } from '../../platform/files/error-code.ts';
import type { LeaseHolder } from '../../snapshot/volume/lease-files.ts';

/**
 * Identifies a data folder to the other daemons of a snapshot volume. The caller holds the lock of the folder, so no two
 * running daemons have the same id. The inode is a part of it: a copied folder is another one.
 *
 * @throws the file system error
 */
export async function readDataIdentity(directory: string): Promise<LeaseHolder> {
  const path = join(directory, 'daemon.id');
  await createOnce(path);
  const [id, { ino }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
  return { id: `${id.trim().slice(0, 36)}-${ino}`, name: `${process.pid} on ${hostname()}`.slice(0, 200) };
}

async function createOnce(path: string): Promise<void> {
  try {
    const handle = await open(path, 'wx', 0o600);
    try {
      await handle.writeFile(`${randomUUID()}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
}
