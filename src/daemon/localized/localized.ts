import type { DefinedAction } from '../api/define-action.ts';
import type { SqlDatabase } from '../releases/records/sql.ts';
import type { Job } from '../tasks/job.ts';
import type { TaskEngine } from '../tasks/task-engine.ts';
import { createPublishAction } from './publish/publish-action.ts';
import { createPublishTask, type PublishDependencies } from './publish/publish-task.ts';
import { createRollbackAction } from './rollback/rollback-action.ts';
import { createRollbackRecords } from './rollback/rollback-records.ts';
import { createRollbackTask, type RollbackDependencies } from './rollback/rollback-task.ts';

export interface LocalizedOptions
  extends Omit<PublishDependencies, 'rollbacks'>, Pick<RollbackDependencies, 'texts'> {
  readonly database: SqlDatabase;
  readonly engine: TaskEngine;
}

/** The functions of the localized channel. */
export interface Localized {
  readonly jobs: readonly Job[];
  readonly actions: readonly DefinedAction[];
}

/** Assembles the functions of the localized channel; nothing runs yet. */
export function createLocalized(options: LocalizedOptions): Localized {
  const deps = { ...options, rollbacks: createRollbackRecords(options.database) };
  return {
    jobs: [createPublishTask(deps), createRollbackTask(deps)],
    actions: [createPublishAction(deps), createRollbackAction(deps)],
  };
}
