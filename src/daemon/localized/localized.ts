import type { DefinedAction } from '../api/define-action.ts';
import type { SqlDatabase } from '../releases/records/sql.ts';
import type { DoctorCheck } from '../reports/doctor-report.ts';
import type { Job } from '../tasks/job.ts';
import { createAutomation, type Automation, type AutomationOptions } from './automation/automation.ts';
import { createPatchedContainers } from './publish/patched-containers.ts';
import { createPublishAction, type PublishActionOptions } from './publish/publish-action.ts';
import { createPublishTask, publishAutomatically, type PublishDependencies } from './publish/publish-task.ts';
import { markTasks } from './publish/publish-texts.ts';
import { createRollbackAction } from './rollback/rollback-action.ts';
import { createRollbackRecords, type RollbackRecords } from './rollback/rollback-records.ts';
import { createRollbackTask } from './rollback/rollback-task.ts';

export interface LocalizedOptions
  extends
    Omit<PublishDependencies, 'rollbacks' | 'patched'>,
    PublishActionOptions,
    Omit<
      AutomationOptions,
      'engine' | 'publish' | 'markTasks' | 'rollbacks' | 'texts' | 'policy' | 'releases' | 'writer'
    > {
  readonly database: SqlDatabase;
  /** The releases that index and tasks are built for, and the states of the units. */
  readonly work: AutomationOptions['texts'];
}

/** The functions of the localized channel. */
export interface Localized {
  readonly jobs: readonly Job[];
  readonly actions: readonly DefinedAction[];
  /** The rollbacks, and whether one of them has stopped automatic publishing. */
  readonly rollbacks: RollbackRecords;
  readonly checks: readonly DoctorCheck[];
  /** Publishing by itself after a new official release. */
  readonly automation: Pick<Automation, 'status' | 'catchUp'>;
}

/** Assembles the functions of the localized channel; nothing runs yet. */
export function createLocalized(options: LocalizedOptions): Localized {
  const rollbacks = createRollbackRecords(options.database);
  const deps = { ...options, rollbacks, patched: createPatchedContainers(options.database, options) };
  const automation = createAutomation({
    ...options,
    rollbacks,
    texts: options.work,
    publish: async (context, automatic) => await publishAutomatically(deps, context, automatic),
    markTasks: async (context) => {
      await markTasks(deps, options.releases.pointer('localized')?.release_id ?? null, context);
    },
  });
  return {
    jobs: [createPublishTask(deps), createRollbackTask(deps), automation.job],
    actions: [createPublishAction(deps), createRollbackAction(deps)],
    rollbacks,
    checks: [automation.check],
    automation,
  };
}
