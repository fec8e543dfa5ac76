import { SYNC_JOB } from '../releases/jobs/release-jobs.ts';
import { BACKUP_JOB } from './backup/backup-job.ts';
import type { DaemonParts, Modules } from './daemon-parts.ts';
import type { Doctor } from './reports/doctor-report.ts';

/**
 * Serves the metrics of the daemon, where a port is configured for them.
 *
 * @returns their address; `null` without a port
 * @throws ListenError
 */
export async function serveMetrics(
  { configuration, options, closers }: DaemonParts,
  { engine, schedules, releases, localization, backup }: Modules,
  doctor: Doctor,
): Promise<string | null> {
  const { metrics: address } = configuration;
  if (address === undefined) return null;
  // A daemon without a port for metrics starts without their library.
  const { createMetricsServer } = await import('../platform/metrics/metrics.ts');
  const { createDaemonMetrics } = await import('./metrics.ts');
  const registry = createDaemonMetrics({
    version: options.version,
    clock: options.clock,
    restarts: options.supervision?.restarts ?? 0,
    checks: () => doctor.latest(),
    syncHistory: () => engine.historyOf(SYNC_JOB.kind),
    nextSyncAt: () => releases.syncState().report.next_at,
    newestBackup: () => backup.latest(),
    backupHistory: () => engine.historyOf(BACKUP_JOB.kind),
    indexStatus: () => localization.parse.latestStatus(),
    translationStatus: () => localization.translation.latestStatus(),
    memoryCounts: () => localization.memory.latestCounts(),
    glossarySummary: () => localization.glossary.latestSummary(),
    taskKinds: () => engine.jobs.kinds(),
    onTaskFinished: (listener) => {
      engine.onFinished(listener);
    },
    queues: () => engine.queues(),
    nextDueAt: () => schedules.nextDueAt(),
    storedBytes: () => releases.objects.totalBytes(),
    releaseBytes: (channel) => releases.repository.current(channel)?.total_bytes ?? 0,
    damage: () => releases.damage.found(),
    attested: () => releases.attestor.attested(),
  });
  const listening = await createMetricsServer({ ...address, registry, logger: options.logger });
  closers.add('metrics', async (signal) => await listening.close(signal));
  return listening.url;
}
