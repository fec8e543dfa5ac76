import type { Schedules } from '../engine/schedules/schedules.ts';
import type { TaskEngine } from '../engine/tasks/task-engine.ts';
import type { Localization } from '../localization/localization.ts';
import type { Logger } from '../platform/logging/logging.ts';
import type { Clock } from '../platform/process/clock.ts';
import { SYNC_JOB } from '../releases/jobs/release-jobs.ts';
import type { Releases } from '../releases/releases.ts';
import type { Backup } from './backup/backup.ts';
import { BACKUP_JOB } from './backup/backup-job.ts';
import type { Closers } from './closers.ts';
import type { Doctor } from './reports/doctor-report.ts';
import type { DaemonConfiguration } from './settings/config.ts';
import type { Supervision } from './supervisor/supervision.ts';

/**
 * Serves the metrics of the daemon, where a port is configured for them.
 *
 * @returns their address; `null` without a port
 * @throws ListenError
 */
export async function serveMetrics({
  listen,
  engine,
  schedules,
  releases,
  localization,
  backup,
  doctor,
  closers,
  clock,
  logger,
  supervision,
  version,
}: {
  readonly listen: DaemonConfiguration['metrics'];
  readonly engine: TaskEngine;
  readonly schedules: Schedules;
  readonly releases: Releases;
  readonly localization: Localization;
  readonly backup: Backup;
  readonly doctor: Doctor;
  readonly closers: Closers;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly supervision: Supervision | null;
  readonly version: string;
}): Promise<string | null> {
  if (listen === undefined) return null;
  // A daemon without a port for metrics starts without their library.
  const { createMetricsServer } = await import('../platform/metrics/metrics.ts');
  const { createDaemonMetrics } = await import('./metrics.ts');
  const registry = createDaemonMetrics({
    version,
    supervision,
    syncHistory: () => engine.historyOf(SYNC_JOB.kind),
    nextSyncAt: () => releases.syncState().report.next_at,
    doctor,
    ...localization,
    backup,
    backupHistory: () => engine.historyOf(BACKUP_JOB.kind),
    work: { ...releases, releases: releases.repository, engine, schedules, clock },
  });
  const listening = await createMetricsServer({ ...listen, registry, logger });
  closers.add('metrics', async (signal) => await listening.close(signal));
  return listening.url;
}
