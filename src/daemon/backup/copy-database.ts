import { basename, join } from 'node:path';
import type { HashPool } from '../../platform/hashing/digests.ts';
import type { CallerOf } from '../../platform/threads/caller.ts';
import { openThread, type Thread } from '../../platform/threads/thread.ts';
import type { BackupCopy } from './backup-manifest.ts';
import type { NamedDatabase } from './backup-sources.ts';
import type { CopyStore } from './copy-worker.ts';
import { open } from '../../platform/files/file-changes.ts';

/** MiB. The pages that SQLite copies are not part of it. */
const HEAP_LIMITS = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 64 };

/** Makes the thread that copies and checks databases. Close it after the work. */
export function openCopyThread(): Thread<CopyStore> {
  return openThread<CopyStore>({
    purpose: 'copies databases for a backup',
    module: new URL('./copy-worker.ts', import.meta.url),
    limits: HEAP_LIMITS,
    givesWay: true,
  });
}

/** The thread and the pool that a copy uses. */
export interface CopyTools {
  readonly thread: CallerOf<CopyStore>;
  readonly pool: HashPool;
  /** Milliseconds between two steps of a copy. */
  readonly pauseMs: number;
}

/** The copy is damaged, because its source is. */
class DamagedCopyError extends Error {}

/**
 * Copies one database into a folder, checks the structure of the copy, and makes its bytes durable.
 *
 * @throws DamagedCopyError; the error of the copy or of the file system; the signal's reason
 */
export async function copyDatabase(
  { name, path }: NamedDatabase,
  folder: string,
  { thread, pool, pauseMs }: CopyTools,
  signal: AbortSignal,
): Promise<BackupCopy> {
  const file = basename(path);
  const target = join(folder, file);
  await thread.copy({ source: path, target, pauseMs }, { signal });
  const finding = await thread.check(target, { signal });
  if (finding !== null) throw new DamagedCopyError(`the database ${path} is damaged (${finding})`);
  signal.throwIfAborted();
  return { name, file, ...(await syncAndDigest(target, pool, signal)) };
}

/** Makes the bytes of a file durable, and reads them back for the digest. */
export async function syncAndDigest(
  path: string,
  pool: HashPool,
  signal: AbortSignal,
): Promise<{ readonly bytes: number; readonly blake3: string }> {
  const handle = await open(path, 'r+');
  try {
    await handle.chmod(0o600);
    await handle.sync();
    const { size, blake3 } = await pool.hashContent(handle.fd, { blocks: false, fromDisk: false }, signal);
    return { bytes: size, blake3 };
  } finally {
    await handle.close();
  }
}
