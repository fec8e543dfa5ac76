import pLimit from 'p-limit';
import type { Logger } from '../../platform/logging/logging.ts';
import type { SnapshotWriter } from '../../snapshot/snapshot-writer.ts';
import type { StagedFileInfo } from '../../snapshot/volume/staging-directories.ts';
import type { TaskEngine } from '../../engine/tasks/task-engine.ts';
import type { RevisionRow } from '../catalog/catalog-store.ts';
import { SYNC_JOB } from '../jobs/release-jobs.ts';
import { requireStore } from '../checks/require-store.ts';

/** Prefix of the staging directories of syncs: each is of one catalog, and is the same in every attempt. */
export const SYNC_STAGING_PREFIX = 'sync-';

/** Most bytes of unfinished downloads that stay for the next sync after one has failed for good; the largest files go first. */
export const KEPT_PARTS_BYTES = 1024 ** 3;

const ENDED = new Set(['succeeded', 'failed', 'cancelled']);

interface CatalogStaging {
  readonly directory: string;
  readonly files: readonly StagedFileInfo[];
}

/** The staging directories of the volume. The calls run one after another, so that no sync loses files that it has begun to use. */
export interface Staging {
  /** Makes the directory of a catalog, and removes those of other catalogs, which no later sync resumes. */
  open(revision: RevisionRow): Promise<CatalogStaging>;
  /**
   * Removes what no task will use again. The unfinished downloads of the last catalog are kept within these limits.
   *
   * @param keptBytes Default: {@link KEPT_PARTS_BYTES}; nothing is kept while the volume has less free than the reserve
   * @returns the number of removed directories
   */
  sweep(keptBytes?: number): Promise<number>;
}

export function createStaging(deps: {
  readonly writer: SnapshotWriter;
  readonly engine: TaskEngine;
  readonly reserveBytes: () => number;
}): Staging {
  const { writer, engine } = deps;
  const serial = pLimit(1);

  const removeAll = async (names: readonly string[]): Promise<void> => {
    for (const name of names) await writer.removeStaging(name);
  };

  const open = async (revision: RevisionRow): Promise<CatalogStaging> => {
    const own = nameOf(revision);
    await removeAll((await writer.listStaging()).filter((name) => isOfSync(name) && name !== own));
    const directory = await writer.stagingDirectory(own);
    return { directory, files: await writer.listStaged(own) };
  };

  const isDead = (name: string): boolean => {
    const task = engine.get(name);
    return task === null || ENDED.has(task.status);
  };

  const sweep = async (keptBytes: number): Promise<number> => {
    const names = await writer.listStaging();
    const dead = names.filter((name) => !isOfSync(name) && isDead(name));
    const isSyncPending =
      engine.runningSince(SYNC_JOB.kind) !== null || engine.historyOf(SYNC_JOB.kind).nextRunAt !== null;
    if (!isSyncPending) {
      const ofSyncs = names.filter(isOfSync);
      const kept = await newestOf(writer, ofSyncs);
      dead.push(...ofSyncs.filter((name) => name !== kept));
      if (kept !== null && (await trim(kept, keptBytes)) === 0) dead.push(kept);
    }
    await removeAll(dead);
    return dead.length;
  };

  /** Removes the largest files of a directory until it is within the limit; returns the bytes that are left. */
  const trim = async (name: string, keptBytes: number): Promise<number> => {
    const most = (await writer.freeBytes()) < deps.reserveBytes() ? 0 : keptBytes;
    const files = (await writer.listStaged(name)).toSorted((left, right) => right.bytes - left.bytes);
    let bytes = sumOf(files);
    for (const file of files) {
      if (bytes <= most) break;
      await writer.removeStaged(name, file.name);
      bytes -= file.bytes;
    }
    return bytes;
  };

  return {
    open: (revision) => serial(() => open(revision)),
    sweep: (keptBytes = KEPT_PARTS_BYTES) => serial(() => sweep(keptBytes)),
  };
}

function nameOf(revision: RevisionRow): string {
  return `${SYNC_STAGING_PREFIX}${(revision.fingerprint ?? '').slice(0, 32)}`;
}

function isOfSync(name: string): boolean {
  return name.startsWith(SYNC_STAGING_PREFIX);
}

function sumOf(files: ReadonlyArray<{ readonly bytes: number }>): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** The directory whose files changed last; `null` when none has files. */
async function newestOf(writer: SnapshotWriter, names: readonly string[]): Promise<string | null> {
  let newest: { readonly name: string; readonly changedMs: number } | null = null;
  for (const name of names) {
    for (const { changedMs } of await writer.listStaged(name)) {
      if (newest === null || changedMs > newest.changedMs) newest = { name, changedMs };
    }
  }
  return newest?.name ?? null;
}

/**
 * Creates the background work that removes the staged files of each task that has failed for good or was cancelled: they take space that the next task
 * needs. What a crash leaves behind is removed at the next start.
 */
export function createStagingSweep({
  engine,
  staging,
  root,
  writer,
  logger,
}: {
  readonly engine: TaskEngine;
  readonly staging: Staging;
  readonly root: string;
  readonly writer: SnapshotWriter;
  readonly logger: Logger;
}): { readonly start: () => void; readonly stop: () => Promise<void> } {
  let isRunning = false;
  let last: Promise<void> = Promise.resolve();
  const sweep = async (): Promise<void> => {
    try {
      await requireStore(root, writer);
      await staging.sweep();
    } catch (error) {
      logger.error(
        { err: error },
        'staged files of a failed task could not be removed; the next start or release-cleanup removes them',
      );
    }
  };
  return {
    start: () => {
      isRunning = true;
      engine.onFinished(({ lane, status }) => {
        if (isRunning && lane !== 'admin' && status !== 'succeeded') last = last.then(sweep);
      });
    },
    stop: async () => {
      isRunning = false;
      await last;
    },
  };
}
