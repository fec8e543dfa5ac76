import type { DefinedAction } from '../api/define-action.ts';
import type { SqlDatabase } from '../releases/records/sql.ts';
import type { Job } from '../tasks/job.ts';
import { createPatchedContainers } from './publish/patched-containers.ts';
import { createPublishAction, type PublishActionOptions } from './publish/publish-action.ts';
import { createPublishTask, type PublishDependencies } from './publish/publish-task.ts';
import { createRollbackAction } from './rollback/rollback-action.ts';
import { createRollbackRecords, type RollbackRecords } from './rollback/rollback-records.ts';
import { createRollbackTask } from './rollback/rollback-task.ts';

export interface LocalizedOptions
  extends Omit<PublishDependencies, 'rollbacks' | 'patched'>, PublishActionOptions {
  readonly database: SqlDatabase;
}

/** The functions of the localized channel. */
export interface Localized {
  readonly jobs: readonly Job[];
  readonly actions: readonly DefinedAction[];
  /** The rollbacks, and whether one of them has stopped automatic publishing. */
  readonly rollbacks: RollbackRecords;
}

/** Assembles the functions of the localized channel; nothing runs yet. */
export function createLocalized(options: LocalizedOptions): Localized {
  const rollbacks = createRollbackRecords(options.database);
  const deps = { ...options, rollbacks, patched: createPatchedContainers(options.database, options) };
  return {
    jobs: [createPublishTask(deps), createRollbackTask(deps)],
    actions: [createPublishAction(deps), createRollbackAction(deps)],
    rollbacks,
  };
}
