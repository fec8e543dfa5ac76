import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import type { DefinedAction } from '../api/define-action.ts';
import type { SqlDatabase } from '../releases/records/sql.ts';
import type { DoctorCheck } from '../reports/doctor-report.ts';
import type { Job } from '../tasks/job.ts';
import { TaskError } from '../tasks/task.ts';
import { createAutomation, type Automation, type AutomationOptions } from './automation/automation.ts';
import { createPatchedContainers } from './publish/patched-containers.ts';
import { createPublishAction, type PublishActionOptions } from './publish/publish-action.ts';
import { createPublishTask, publishAutomatically, type PublishDependencies } from './publish/publish-task.ts';
import { markTasks } from './publish/publish-texts.ts';
import { publishedLast } from '../releases/records/published-last.ts';
import { createRollbackAction } from './rollback/rollback-action.ts';
import { isLive, recordEffect, takenBackBy } from './rollback/rollback-effect.ts';
import { createRollbackRecords, type RollbackRecords } from './rollback/rollback-records.ts';
import { finishRollbacks } from './rollback/rollback-texts.ts';
import { withdrawalBlockers } from './rollback/withdrawal.ts';
import { createRollbackTask } from './rollback/rollback-task.ts';

export interface LocalizedOptions
  extends
    Omit<PublishDependencies, 'rollbacks' | 'patched'>,
    PublishActionOptions,
    Omit<
      AutomationOptions,
      | 'engine'
      | 'publish'
      | 'markTasks'
      | 'rollbacks'
      | 'finishRollbacks'
      | 'texts'
      | 'policy'
      | 'releases'
      | 'writer'
    > {
  readonly database: SqlDatabase;
  /** Where the localized channel is copied from; `null` when it is made here. */
  readonly mirroredFrom: () => string | null;
  /** The releases that index and tasks are built for, and the states of the units. */
  readonly work: AutomationOptions['texts'];
}

/** The functions of the localized channel. */
export interface Localized {
  readonly jobs: readonly Job[];
  readonly actions: readonly DefinedAction[];
  /** The rollbacks, and whether one of them has stopped automatic publishing. */
  readonly rollbacks: RollbackRecords;
  /** The rollback that took a release back, or `null`. */
  readonly rollbackOf: (releaseId: string) => ReturnType<typeof takenBackBy>;
  /** Records the effect of a rollback that could not. Called at the start. @throws the error of the database */
  readonly recordRollback: () => void;
  /** The blockers of every publish, whatever the texts are. */
  readonly publishBlockers: () => readonly PublishBlocker[];
  readonly checks: readonly DoctorCheck[];
  /** Publishing by itself after a new official release. */
  readonly automation: Pick<Automation, 'status' | 'catchUp' | 'stop'>;
}

/** Assembles the functions of the localized channel; nothing runs yet. */
export function createLocalized(options: LocalizedOptions): Localized {
  const rollbacks = createRollbackRecords(options.database);
  const deps = { ...options, rollbacks, patched: createPatchedContainers(options.database, options) };
  const automation = createAutomation({
    ...options,
    rollbacks,
    finishRollbacks: async () => {
      // One whose task waits or runs ends itself.
      await finishRollbacks(deps, (rollback) => !isLive(options.engine, rollback));
    },
    texts: options.work,
    publish: async (context, automatic) => await publishAutomatically(deps, context, automatic),
    markTasks: async (context) => {
      await markTasks(deps, publishedLast(options.releases, 'localized')?.release_id ?? null, context);
    },
  });
  return {
    jobs: [
      ...[createPublishTask(deps), createRollbackTask(deps)].map((job) => ownJob(options, job)),
      automation.job,
    ],
    actions: [createPublishAction(deps), createRollbackAction(deps)].map((action) =>
      ownAction(options, action),
    ),
    rollbacks,
    rollbackOf: (releaseId) => takenBackBy(deps, releaseId),
    recordRollback: () => {
      recordEffect(deps);
    },
    publishBlockers: () => mirrorBlockers(options) ?? withdrawalBlockers(deps, {}),
    checks: [ownCheck(options, automation.check)],
    automation: { ...automation, status: () => ownStatus(options, automation.status()) },
  };
}

type PublishBlocker = ReportBodyOf<'translation.status'>['publish_blockers'][number];
type Origin = Pick<LocalizedOptions, 'mirroredFrom'>;

/** A job that is refused while the channel is a copy. */
function ownJob(origin: Origin, job: Job): Job {
  return {
    ...job,
    run: async (context) => {
      requireOwn(origin);
      return await job.run(context);
    },
  };
}

/** An action that is refused while the channel is a copy. */
function ownAction(origin: Origin, action: DefinedAction): DefinedAction {
  return {
    ...action,
    accept: async (body, request) => {
      requireOwn(origin);
      return await action.accept(body, request);
    },
  };
}

/** The only blocker of a copied channel; `null` when the channel is made here. */
function mirrorBlockers({ mirroredFrom }: Origin): readonly PublishBlocker[] | null {
  const origin = mirroredFrom();
  if (origin === null) return null;
  return [
    {
      code: 'channel_mirrored',
      message: `${copiedFrom(origin)}; people translate and publish there`,
      count: 1,
    },
  ];
}

/** @throws TaskError `channel_mirrored` */
function requireOwn({ mirroredFrom }: Origin): void {
  const origin = mirroredFrom();
  if (origin === null) return;
  throw new TaskError('channel_mirrored', `${copiedFrom(origin)}; publish and roll back there`);
}

function copiedFrom(origin: string): string {
  return `the localized channel is copied from ${origin}`;
}

/** A copied channel has no automation. */
function ownCheck({ mirroredFrom }: Origin, check: DoctorCheck): DoctorCheck {
  return {
    ...check,
    run: (signal, trigger) => {
      const origin = mirroredFrom();
      return origin === null ? check.run(signal, trigger) : { status: 'ok', message: copiedFrom(origin) };
    },
  };
}

function ownStatus<S extends { readonly message: string }>({ mirroredFrom }: Origin, status: S): S {
  const origin = mirroredFrom();
  return origin === null ? status : { ...status, message: copiedFrom(origin) };
}
