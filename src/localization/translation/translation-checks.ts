import { messageOf } from '../../platform/errors.ts';
import { countText } from '../../domain/count-text.ts';
import type { IndexStatus } from '../parse/index/index-status.ts';
import type { DoctorCheck, DoctorFinding } from '../../engine/check.ts';
import type { KindHistory } from '../../engine/tasks/task-reads.ts';
import type { WorkStatus } from './work/read/work-status.ts';

/** The facts by which the doctor judges the work on translations. */
export interface WorkFacts {
  /** `null` when translation.db cannot be used. */
  readonly status: WorkStatus | null;
  /** The parse index as it was last read; `null` before that. */
  readonly index: { readonly release_id: string | null; readonly generation: number } | null;
  readonly history: {
    readonly last: KindHistory['last'];
    readonly consecutiveFailures: number;
    readonly failingSince: number | null;
  };
  readonly isBuilding: boolean;
  readonly isAutomatic: boolean;
}

/** Judges the work on translations: tasks of another release first, then workers that died, then chunks that failed. */
export function workFinding(facts: WorkFacts): DoctorFinding {
  const { status, index } = facts;
  if (status === null) {
    return { status: 'ok', message: 'unknown while translation.db cannot be used; see database.translation' };
  }
  const missing = missingBuild(status, index);
  if (missing !== null) return missingFinding(missing, facts);
  const problems = [...leaseProblem(status), ...chunkProblem(status)];
  if (problems.length > 0) return { status: 'degraded', message: problems.join('; ') };
  return { status: 'ok', message: describe(status) };
}

/** Tasks that are not built for the index. The job runs automatically after every run of `parse`. */
function missingFinding(missing: string, { history, isBuilding, isAutomatic }: WorkFacts): DoctorFinding {
  if (isBuilding) return { status: 'ok', message: `${missing}; they are being built` };
  if (!isAutomatic) {
    return {
      status: 'ok',
      message: `${missing}; translation.automatic is off, so add a schedule that runs the job task-build`,
    };
  }
  if (history.consecutiveFailures === 0)
    return { status: 'degraded', message: `${missing}; run "slipway ctl parse"` };
  const { failure_code: code, failure_reason: reason } = history.last ?? {};
  return {
    status: 'degraded',
    message: `${missing}: ${code ?? 'failed'}: ${reason ?? ''}; run "slipway ctl parse" when the cause is gone`,
    ...(history.failingSince === null ? {} : { since: history.failingSince }),
  };
}

/** The checks `database.translation`, of the file, and `translation.work`, of the work that it holds. */
export function translationChecks({
  refresh,
  damage,
  index,
  history,
  isRunning,
  isAutomatic,
}: {
  readonly refresh: () => Promise<WorkStatus>;
  /** Which value of the file is damaged and what to do; `null` while none was read. */
  readonly damage: () => Promise<string | null>;
  /** The parse index as it was last read; `null` before that. */
  readonly index: () => IndexStatus | null;
  readonly history: () => KindHistory;
  readonly isRunning: () => boolean;
  readonly isAutomatic: () => boolean;
}): readonly DoctorCheck[] {
  return [
    {
      id: 'database.translation',
      atStart: true,
      run: async () => {
        try {
          const { schemaVersion } = await refresh();
          const damaged = await damage();
          if (damaged !== null) return { status: 'failing', message: damaged };
          return { status: 'ok', message: `sound, schema ${schemaVersion}` };
        } catch (error) {
          return { status: 'failing', message: messageOf(error) };
        }
      },
    },
    {
      id: 'translation.work',
      run: async () =>
        workFinding({
          status: await refresh().catch(() => null),
          index: index(),
          history: history(),
          isBuilding: isRunning() || history().nextRunAt !== null,
          isAutomatic: isAutomatic(),
        }),
    },
  ];
}

function missingBuild({ built }: WorkStatus, index: WorkFacts['index']): string | null {
  const releaseId = index?.release_id ?? null;
  if (index === null || releaseId === null) return null;
  if (built?.releaseId === releaseId && built.generation === index.generation) return null;
  const shown =
    built === null || built.releaseId === releaseId ? '' : `, those of ${built.releaseId} are shown`;
  return `the translation tasks of ${releaseId} are not built for its present index${shown}`;
}

function leaseProblem({ leases }: WorkStatus): string[] {
  if (leases.expired === 0) return [];
  return [
    `the lease of a worker has expired on ${countText(leases.expired, 'chunk')}; the next run of a worker takes over`,
  ];
}

function chunkProblem({ failedChunks }: WorkStatus): string[] {
  if (failedChunks === 0) return [];
  return [
    `${countText(failedChunks, 'chunk of translation tasks has', 'chunks of translation tasks have')} failed; see failure_reason in translation.tasks, and try again with "force" of translation-worker-run`,
  ];
}

function describe({ built, units, excludedUnits, leases }: WorkStatus): string {
  if (built === null) return 'there are no translation tasks yet';
  const open = units.untranslated + units.stale;
  const aside =
    excludedUnits.blocked === 0 ? '' : ` (${excludedUnits.blocked} more in files that are not published)`;
  return `${countText(open, 'unit')} of ${built.releaseId} to translate, ${units.blocked} blocked${aside}, ${countText(leases.open, 'chunk')} leased`;
}
