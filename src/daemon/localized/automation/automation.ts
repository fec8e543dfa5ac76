import type { Logger } from '../../../platform/logging/logging.ts';
import type { SnapshotWriter } from '../../../snapshot/snapshot-writer.ts';
import type { ReleaseRepository } from '../../releases/records/release-repository.ts';
import type { DoctorCheck, DoctorFinding } from '../../reports/doctor-report.ts';
import type { Job } from '../../tasks/job.ts';
import { createRequestedJob } from '../../tasks/requested-job.ts';
import type { TaskEngine } from '../../tasks/task-engine.ts';
import type { KindHistory } from '../../tasks/task-reads.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../tasks/task.ts';
import type { FrozenRelease, PublishPolicy } from '../freeze/frozen-release.ts';
import type { AutomaticPublish } from '../publish/publish-texts.ts';
import { LOCALIZED_FOLLOW_JOB } from './follow-job.ts';
import { followState, type FollowFacts, type FollowState } from './follow-rules.ts';

export interface AutomationOptions {
  readonly engine: Pick<TaskEngine, 'submit' | 'onFinished' | 'historyOf'>;
  readonly configuration: () => { readonly auto: boolean };
  readonly policy: () => PublishPolicy;
  readonly releases: Pick<ReleaseRepository, 'current' | 'pointer'>;
  /** The rollback after which automatic publishing is stopped, or `null`. */
  readonly rollbacks: { stoppedBy(): FollowFacts['stoppedBy'] };
  /** The releases that index and tasks are built for, and the states of the units. */
  readonly texts: () => Pick<FollowFacts, 'built' | 'index' | 'units'>;
  /** Reads them again. */
  readonly refreshTexts: () => Promise<unknown>;
  /** Publishes from the stored translations. */
  readonly publish: (context: TaskContext, automatic: AutomaticPublish) => Promise<TaskResult>;
  /** Marks the tasks whose texts the current localized release has. */
  readonly markTasks: (context: TaskContext) => Promise<void>;
  readonly writer: Pick<SnapshotWriter, 'removeStaging'>;
  /** Kinds of jobs after which texts may suffice. */
  readonly triggers: readonly string[];
  readonly logger: Pick<Logger, 'warn'>;
}

/** Publishing by itself after a new official release. */
export interface Automation {
  readonly job: Job;
  readonly check: DoctorCheck;
  /** Whether the localized release follows, as reports show it. */
  status(): FollowState;
  /** Queues the job when a release is due. Called at the start and after a reload. */
  catchUp(): Promise<void>;
}

/**
 * Creates the automation. Releases and texts alone decide whether a release is due, so nothing is lost when the daemon stops
 * between a new official release and its localized one.
 */
export function createAutomation(options: AutomationOptions): Automation {
  const { engine, triggers } = options;
  const status = (): FollowState => followState(factsOf(options));
  let published: { readonly taskId: string; readonly result: TaskResult } | null = null;
  // A pass that publishes nothing must not hide what an earlier pass of the task has published. A daemon that was killed has forgotten it.
  const resultOf = (taskId: string, result: TaskResult): TaskResult =>
    published?.taskId === taskId ? published.result : result;
  const requested = createRequestedJob(options, LOCALIZED_FOLLOW_JOB, async (context) => {
    await options.refreshTexts();
    const { state, message } = status();
    // A run that was ended between its switch and the marks of the tasks continues here, and its files are still there.
    if (state === 'followed') await options.markTasks(context);
    if (state !== 'due') {
      await options.writer.removeStaging(context.taskId);
      return resultOf(context.taskId, { published: false, state, reason: message });
    }
    const previousReleaseId = options.releases.pointer('localized')?.release_id ?? null;
    const automatic = {
      previousReleaseId,
      require: (frozen: FrozenRelease) => {
        requireNoLoss(frozen, previousReleaseId);
      },
    };
    try {
      const result = { published: true, ...(await options.publish(context, automatic)) };
      published = { taskId: context.taskId, result };
      return result;
    } catch (error) {
      // With globs the states of the units do not tell the coverage, so the publish finds it.
      if (!(error instanceof TaskError) || error.code !== 'coverage_incomplete') throw error;
      return resultOf(context.taskId, { published: false, state: 'waiting', reason: error.message });
    }
  });
  const catchUp = async (): Promise<void> => {
    try {
      await options.refreshTexts();
      if (status().state === 'due') requested.request();
    } catch (error) {
      options.logger.warn({ err: error }, 'nobody looked whether a localized release is due');
    }
  };
  const afterwards = new Set(triggers);
  engine.onFinished(({ kind, status: ended }) => {
    if (afterwards.has(kind) && ended === 'succeeded') void catchUp();
  });
  return {
    job: requested.job,
    check: {
      id: 'localized.automation',
      run: () => automationFinding(status(), engine.historyOf(LOCALIZED_FOLLOW_JOB.kind)),
    },
    status,
    catchUp,
  };
}

function factsOf({ configuration, policy, releases, rollbacks, texts }: AutomationOptions): FollowFacts {
  const localized = releases.current('localized');
  return {
    isOn: configuration().auto,
    officialId: releases.current('official')?.release_id ?? null,
    // No upstream has the files of a damaged one, so only another publish repairs it.
    localizedBaseId: localized?.state === 'current' ? localized.base_release_id : null,
    stoppedBy: rollbacks.stoppedBy(),
    policy: policy(),
    ...texts(),
  };
}

/** @throws TaskError `coverage_would_fall` */
function requireNoLoss({ lostUnits }: FrozenRelease, previousReleaseId: string | null): void {
  if (previousReleaseId === null || lostUnits === 0) return;
  const why =
    lostUnits === null
      ? `the texts of localized release ${previousReleaseId} are not known, because it was not made from translations`
      : `${lostUnits} units that localized release ${previousReleaseId} has would be official again, although their source is the same`;
  throw new TaskError(
    'coverage_would_fall',
    `${why}; accept or translate them, or publish with localized-publish`,
    { details: { lost_units: lostUnits, previous_release_id: previousReleaseId } },
  );
}

/** Judges the automation: stopped is worth knowing, and so is a release that should follow and does not. */
export function automationFinding(
  { state, message, since }: FollowState,
  { last, nextRunAt, failingSince }: Pick<KindHistory, 'last' | 'nextRunAt' | 'failingSince'>,
): DoctorFinding {
  if (state === 'stopped') return { status: 'degraded', message, ...(since === null ? {} : { since }) };
  if (state !== 'due' || nextRunAt !== null || failingSince === null || last === null) {
    return { status: 'ok', message };
  }
  return {
    status: 'degraded',
    message: `the localized release does not follow the official one: ${last.failure_code ?? 'failed'}: ${last.failure_reason ?? ''}`,
    since: failingSince,
  };
}
