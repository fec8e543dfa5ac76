import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { DefinedAction } from '../../engine/define-action.ts';
import type { SqlDatabase } from '../../releases/records/sql.ts';
import type { DoctorCheck } from '../../engine/check.ts';
import type { Job } from '../../engine/tasks/job.ts';
import { TaskError } from '../../engine/tasks/task.ts';
import { publishedLast } from '../../releases/records/release-repository.ts';
import { createAutomation, type AutomationControl } from './automation/automation.ts';
import type { FollowedTexts } from './automation/follow-rules.ts';
import { type LocalizedChannel, patchedContainers } from './channel.ts';
import { publishAction, publishJob, publishAutomatically } from './publish/publish-task.ts';
import { markTasks } from './publish/publish-texts.ts';
import {
  finishRollbacks,
  isLive,
  recordEffect,
  takenBackBy,
  withdrawalBlockers,
} from './rollback/rollback-effect.ts';
import {
  createRollbackRecords,
  type RollbackDecision,
  type RollbackRecords,
} from './rollback/rollback-records.ts';
import { rollbackAction, rollbackJob } from './rollback/rollback-task.ts';

type PublishBlocker = ReportBodyOf<'translation.status'>['publish_blockers'][number];

export interface Localized {
  readonly jobs: readonly Job[];
  readonly actions: readonly DefinedAction[];
  readonly rollbacks: RollbackRecords;
  readonly rollbackOf: (releaseId: string) => RollbackDecision | null;
  /** Records the effect of a rollback that could not. Called at the start. @throws the error of the database */
  readonly recordRollback: () => void;
  /** The blockers of every publish, whatever the texts are. */
  readonly publishBlockers: () => readonly PublishBlocker[];
  readonly checks: readonly DoctorCheck[];
  readonly automation: AutomationControl;
}

interface LocalizedOptions extends Omit<LocalizedChannel, 'rollbacks' | 'patched'> {
  readonly database: SqlDatabase;
  /** Where the localized channel is copied from; `null` when it is made here. */
  readonly mirroredFrom: () => string | null;
  readonly configuration: () => { readonly auto: boolean };
  readonly work: () => FollowedTexts;
  readonly refreshTexts: () => Promise<unknown>;
  readonly triggers: readonly string[];
  readonly edits: readonly string[];
  readonly logger: Logger;
}

/** Opens the localized channel over releases and texts; nothing runs yet. While the channel is a copy, its jobs and actions are refused. */
export function openLocalized(options: LocalizedOptions): Localized {
  const { database, mirroredFrom, engine, releases } = options;
  const rollbacks = createRollbackRecords(database);
  const patched = patchedContainers(database, options.objects, options.writer);
  const channel: LocalizedChannel = { ...options, rollbacks, patched };
  const copied = (): string | null => {
    const origin = mirroredFrom();
    return origin === null ? null : `the localized channel is copied from ${origin}`;
  };
  const requireOwn = (): void => {
    const copy = copied();
    if (copy !== null) throw new TaskError('channel_mirrored', `${copy}; publish and roll back there`);
  };
  const automation = createAutomation({
    ...options,
    rollbacks,
    texts: options.work,
    // A rollback whose task waits or runs finishes itself.
    finishRollbacks: async () => await finishRollbacks(channel, (rollback) => !isLive(engine, rollback)),
    publish: async (context, automatic) => await publishAutomatically(channel, context, automatic),
    markTasks: async (context) =>
      await markTasks(channel, publishedLast(releases, 'localized')?.release_id ?? null, context),
  });
  const { check } = automation;
  return {
    jobs: [
      ...[publishJob(channel), rollbackJob(channel)].map((job) => onlyIf(requireOwn, job)),
      automation.job,
    ],
    actions: [publishAction(channel), rollbackAction(channel)].map((action) => ({
      ...action,
      accept: async (body, request) => await action.accept(body, request, requireOwn),
    })),
    rollbacks,
    rollbackOf: (releaseId) => takenBackBy(releases, rollbacks, releaseId),
    recordRollback: () => recordEffect(channel),
    publishBlockers: () => {
      const copy = copied();
      if (copy === null) return withdrawalBlockers(channel, {});
      return [{ code: 'channel_mirrored', message: `${copy}; people translate and publish there`, count: 1 }];
    },
    checks: [
      {
        ...check,
        run: (signal, trigger) => {
          const message = copied();
          return message === null ? check.run(signal, trigger) : { status: 'ok', message };
        },
      },
    ],
    automation: {
      ...automation,
      status: () => {
        const status = automation.status();
        return { ...status, message: copied() ?? status.message };
      },
    },
  };
}

function onlyIf(requirement: () => void, job: Job): Job {
  return {
    ...job,
    run: async (context) => {
      requirement();
      return await job.run(context);
    },
  };
}
