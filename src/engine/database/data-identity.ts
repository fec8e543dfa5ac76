import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { errorCode } from '../../platform/files/error-code.ts';
import { noFailpoints } from '../../platform/files/failpoints.ts';
import { readBoundedFile, writeFileDurably } from '../../platform/files/files.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { LeaseHolder } from '../../snapshot/volume/lease-files.ts';
import { keepAside } from './keep-aside.ts';
import { unusableDataFolder } from './storage-failure.ts';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** A line with a UUID has 37 bytes. */
const MAX_BYTES = 64;
const OWNER_ONLY = 0o600;

/**
 * Identifies a data folder to the other daemons of a snapshot volume. The caller holds the lock of the folder, so no two
 * running daemons have the same id. The inode is a part of it: a copied folder is another one. A damaged id is kept aside
 * and replaced: to the volume the folder is then a new one.
 *
 * @param now for the name of a damaged file
 * @throws DatabaseError
 */
export async function readDataIdentity(directory: string, logger: Logger, now: Date): Promise<LeaseHolder> {
  const path = join(directory, 'daemon.id');
  try {
    let id = await readId(path);
    if (id === 'damaged') {
      const keptAt = keepAside(path, now);
      logger.error(
        { kept_at: keptAt },
        'the id of the data folder is damaged and is replaced; check the disk of data.dir',
      );
    }
    if (id === 'missing' || id === 'damaged') {
      id = randomUUID();
      await writeFileDurably(path, `${id}\n`, noFailpoints, OWNER_ONLY);
    }
    const { ino } = await stat(path);
    return { id: `${id}-${ino}`, name: printable(`${process.pid} on ${hostname()}`).slice(0, 200) };
  } catch (error) {
    throw unusableDataFolder(directory, error);
  }
}

async function readId(path: string): Promise<string> {
  try {
    const id = (await readBoundedFile(path, MAX_BYTES)).toString('utf8').trim();
    return UUID.test(id) ? id : 'damaged';
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT') return 'missing';
    // Without a code it is a folder or another special file, or too long.
    if (code === null || code === 'ELOOP' || code === 'ENXIO') return 'damaged';
    throw error;
  }
}

/** A lease has a bounded number of bytes. */
function printable(text: string): string {
  return text.replaceAll(/[^ -~]/g, '?');
}
