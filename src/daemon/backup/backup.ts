import { join } from 'node:path';
import type { Failpoints } from '../../platform/files/failpoints.ts';
import type { HashPool } from '../../platform/hashing/digests.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { DoctorCheck } from '../../engine/check.ts';
import { implementJob, type Job } from '../../engine/tasks/job.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../engine/tasks/task.ts';
import type { TaskEngine } from '../../engine/tasks/task-engine.ts';
import { backupFinding } from './backup-check.ts';
import { backupFolderOf, type BackupConfiguration } from './backup-config.ts';
import { backupTaskError } from './backup-error.ts';
import { BACKUP_JOB } from './backup-job.ts';
import { findSources, type NamedDatabase } from './backup-sources.ts';
import { type CompleteBackup, newestComplete } from './backup-list.ts';
import { openCopyThread } from './copy-database.ts';
import { writeBackup, type WrittenBackup } from './write-backup.ts';

/** Milliseconds between two steps of a copy. */
const PAUSE_MS = 2;

interface BackupPartOptions {
  readonly dataDirectory: string;
  readonly databases: readonly NamedDatabase[];
  readonly configuration: () => BackupConfiguration;
  readonly engine: TaskEngine;
  /** When the next backup is planned, Unix seconds, or `null`. */
  readonly plannedAt: () => number | null;
  readonly pool: HashPool;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly failpoints: Failpoints;
}

/** Backups of the databases that hold human work. */
export interface Backup {
  readonly jobs: readonly Job[];
  readonly check: DoctorCheck;
  /** The newest complete backup as it was last seen; `null` before that. */
  latest(): CompleteBackup | null;
}

/** The databases in a data folder that nothing can make again. */
export function humanDatabases(dataDirectory: string): readonly NamedDatabase[] {
  return ['memory', 'glossary', 'translation'].map((name) => ({
    name,
    path: join(dataDirectory, `${name}.db`),
  }));
}

/** Assembles the job and the check of backups. */
export function createBackup(options: BackupPartOptions): Backup {
  const { configuration, databases, engine, clock, logger } = options;
  let latest: CompleteBackup | null = null;
  const folderOf = (): string => backupFolderOf(configuration(), options.dataDirectory);
  const refresh = async (): Promise<CompleteBackup | null> => {
    latest = await newestComplete(folderOf());
    return latest;
  };
  const job = implementJob(BACKUP_JOB, async (context) => {
    const folder = folderOf();
    const written = await backUp(options, folder, context);
    await refresh().catch((error: unknown) => {
      logger.warn({ err: error }, 'the backups could not be listed');
    });
    return resultOf(written, folder);
  });
  return {
    jobs: [job],
    check: {
      id: 'backup',
      run: async () => {
        const { found, failed } = await findSources(databases);
        return backupFinding({
          isNeeded: found.length + failed.length > 0,
          folder: folderOf(),
          newest: await refresh(),
          history: engine.historyOf(BACKUP_JOB.kind),
          intervalSeconds: configuration().intervalSeconds,
          plannedAt: options.plannedAt(),
          now: unixSeconds(clock),
        });
      },
    },
    latest: () => latest,
  };
}

async function backUp(
  options: BackupPartOptions,
  folder: string,
  context: TaskContext,
): Promise<WrittenBackup> {
  const thread = openCopyThread();
  try {
    const { keep } = options.configuration();
    return await writeBackup({ ...options, folder, keep, thread: thread.calls, pauseMs: PAUSE_MS }, context);
  } catch (error) {
    throw backupTaskError(folder, error);
  } finally {
    await thread.close();
  }
}

/** The result of the task. Throws TaskError `backup_incomplete` when a database could not be copied. */
function resultOf({ name, copies, neverUsed, failed, removed }: WrittenBackup, folder: string): TaskResult {
  const result = {
    folder: name === null ? null : join(folder, name),
    bytes: copies.reduce((sum, copy) => sum + copy.bytes, 0),
    databases: copies.map(({ name: database, bytes, blake3 }) => ({ name: database, bytes, blake3 })),
    never_used: neverUsed,
    failed,
    removed,
  };
  if (failed.length === 0) return result;
  const reasons = failed.map((each) => `${each.name}: ${each.reason}`).join('; ');
  throw new TaskError(
    'backup_incomplete',
    `not every database could be copied: ${reasons}; the older copies of it are kept: restore it with "slipway restore --database NAME"`,
    { details: result },
  );
}
