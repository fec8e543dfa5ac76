import { implementJob, type ArgumentsOf, type Job, type JobDefinition } from '../engine/tasks/job.ts';
import type { TaskContext, TaskResult } from '../engine/tasks/task.ts';
import type { UpstreamSource } from '../upstream/adapters/upstream-source.ts';
import { refreshCatalog } from './catalog/catalog-refresh-task.ts';
import { refreshReleases } from './checks/refresh-task.ts';
import { requireStore } from './checks/require-store.ts';
import { verifyReleases } from './checks/verify-task.ts';
import { cleanUp } from './cleanup/cleanup-task.ts';
import {
  CATALOG_REFRESH_JOB,
  CLEANUP_JOB,
  DAMAGE_REPAIR_JOB,
  EARLY_SWITCH_JOB,
  REFRESH_JOB,
  REPAIR_JOB,
  SYNC_JOB,
  VERIFY_JOB,
} from './jobs/release-jobs.ts';
import { releaseTaskError } from './jobs/task-errors.ts';
import type { MirrorParts } from './mirror/mirror-parts.ts';
import { mirrorOrigin } from './mirror/mirror-task.ts';
import { switchEarly } from './publish/announced-switch.ts';
import type { RecoveryRun } from './recovery/recovery-run.ts';
import type { ReleaseParts, TaskParts } from './release-parts.ts';
import { repairDamage } from './repair/damage-repair-task.ts';
import { repairReleases } from './repair/repair-task.ts';
import { syncRelease } from './sync/sync-task.ts';

/**
 * The jobs of releases. Each run waits for the recovery, because a task of an earlier process may be due before it is done, and has one
 * upstream from its beginning to its end.
 */
export function implementReleaseJobs(
  parts: ReleaseParts,
  upstream: UpstreamSource,
  recovery: RecoveryRun,
): readonly Job[] {
  const job = <J extends JobDefinition>(
    definition: J,
    run: (parts: TaskParts, context: TaskContext<ArgumentsOf<J>>) => Promise<TaskResult>,
  ): Job =>
    implementJob(definition, async (context) => {
      await recovery.done(context.signal);
      await requireStore(parts.root, parts.writer);
      try {
        return await upstream.use(async (connected) => await run({ ...parts, upstream: connected }, context));
      } catch (error) {
        throw releaseTaskError(error);
      }
    });
  return [
    job(SYNC_JOB, async (run, context) =>
      hasOrigin(run) ? await mirrorOrigin(run, context) : await syncRelease(run, context),
    ),
    job(CATALOG_REFRESH_JOB, refreshCatalog),
    job(VERIFY_JOB, verifyReleases),
    job(REPAIR_JOB, repairReleases),
    job(DAMAGE_REPAIR_JOB, repairDamage),
    job(REFRESH_JOB, refreshReleases),
    job(EARLY_SWITCH_JOB, switchEarly),
    job(CLEANUP_JOB, cleanUp),
  ];
}

function hasOrigin(parts: TaskParts): parts is MirrorParts {
  return parts.upstream?.attested !== undefined;
}
