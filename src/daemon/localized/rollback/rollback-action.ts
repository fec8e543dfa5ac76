import { defineAction, type DefinedAction } from '../../api/define-action.ts';
import { callOf } from '../../tasks/job.ts';
import type { TaskEngine } from '../../tasks/task-engine.ts';
import { LOCALIZED_ROLLBACK_JOB } from './rollback-job.ts';
import { planRollback } from './rollback-target.ts';
import type { RollbackDependencies } from './rollback-task.ts';

export interface RollbackActionOptions extends Pick<RollbackDependencies, 'releases' | 'rollbacks'> {
  readonly engine: TaskEngine;
}

/** The control action `localized-rollback`: checks its request as far as possible now and queues the job. */
export function createRollbackAction({ engine, releases, rollbacks }: RollbackActionOptions): DefinedAction {
  return defineAction(engine, 'localized-rollback', {
    queue: ({ localized_release_id: wanted, args = {} }) => {
      planRollback(releases, rollbacks, wanted ?? null);
      return callOf(LOCALIZED_ROLLBACK_JOB, { localized_release_id: wanted, ...args });
    },
  });
}
