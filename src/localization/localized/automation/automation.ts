import { isOfClosedThread } from '../../../platform/threads/thread.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import type { Logger } from '../../../platform/logging/logging.ts';
import type { SnapshotWriter } from '../../../snapshot/snapshot-writer.ts';
import { countText } from '../../../domain/count-text.ts';
import { publishedLast, type ReleaseRepository } from '../../../releases/records/release-repository.ts';
import type { DoctorCheck, DoctorFinding } from '../../../engine/check.ts';
import type { Job } from '../../../engine/tasks/job.ts';
import { createRequestedJob } from '../../../engine/tasks/requested-job.ts';
import type { TaskEngine } from '../../../engine/tasks/task-engine.ts';
import type { KindHistory } from '../../../engine/tasks/task-reads.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../../engine/tasks/task.ts';
import type { FrozenRelease, PublishPolicy } from '../freeze/frozen-release.ts';
import { stopOf, type PublishingStop, withdrawnBy } from '../rollback/rollback-effect.ts';
import type { RollbackRecords } from '../rollback/rollback-records.ts';
import type { AutomaticPublish } from '../publish/publish-texts.ts';
import {
  LOCALIZED_FOLLOW_JOB,
  followState,
  type FollowedTexts,
  type FollowFacts,
  type FollowState,
} from './follow-rules.ts';
import { createLoop } from '../../../platform/process/loop.ts';

/** Milliseconds without an edit before the next check, and the most after the first edit. An editor stores every few seconds. */
const [QUIET_MS, MOST_MS] = [60_000, 600_000];

interface AutomationOptions {
  readonly engine: TaskEngine;
  readonly configuration: () => { readonly auto: boolean };
  readonly policy: () => PublishPolicy;
  readonly releases: ReleaseRepository;
  readonly rollbacks: RollbackRecords;
  readonly finishRollbacks: () => Promise<void>;
  readonly texts: () => FollowedTexts;
  readonly refreshTexts: () => Promise<unknown>;
  readonly publish: (context: TaskContext, automatic: AutomaticPublish) => Promise<TaskResult>;
  readonly markTasks: (context: TaskContext) => Promise<void>;
  readonly writer: SnapshotWriter;
  readonly triggers: readonly string[];
  readonly edits: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface AutomationControl {
  status(): FollowState;
  /** Queues the job when a release is due. Called at the start, after a reload, and after releases have become damaged or sound again. */
  catchUp(): Promise<void>;
  stop(): Promise<void>;
}

interface Automation extends AutomationControl {
  readonly job: Job;
  readonly check: DoctorCheck;
}

/**
 * Creates the automation. Releases and texts alone decide whether a release is due, so nothing is lost when the daemon stops
 * between a new official release and its localized one.
 */
export function createAutomation(options: AutomationOptions): Automation {
  const { engine } = options;
  const status = (): FollowState => followState(factsOf(options));
  let published: { readonly taskId: string; readonly result: TaskResult } | null = null;
  // A pass that publishes nothing must not hide what an earlier pass of the task has published. A daemon that was killed has forgotten it.
  const resultOf = (taskId: string, result: TaskResult): TaskResult =>
    published?.taskId === taskId ? published.result : result;
  const requested = createRequestedJob(options, LOCALIZED_FOLLOW_JOB, async (context) => {
    await options.refreshTexts();
    const { state, message, awaits } = status();
    // A run that was ended between its switch and the marks of the tasks continues here, and its files are still there.
    if (state === 'followed') await options.markTasks(context);
    if (state !== 'due') {
      await options.writer.removeStaging(context.taskId);
      return resultOf(context.taskId, { published: false, state, awaits, reason: message });
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
      // The counts of the states do not know holds, so the publish can find less coverage than they show.
      if (!(error instanceof TaskError) || error.code !== 'coverage_incomplete') throw error;
      const awaits = 'translations' satisfies FollowState['awaits'];
      return resultOf(context.taskId, { published: false, state: 'waiting', awaits, reason: error.message });
    }
  });
  const catchUp = async (): Promise<void> => {
    try {
      await options.finishRollbacks();
      await options.refreshTexts();
      if (status().state === 'due') requested.request();
    } catch (error) {
      // A stop does not wait for this.
      if (isOfClosedThread(error)) return;
      options.logger.warn({ err: error }, 'it was not checked whether a localized release is due');
    }
  };
  const edited = createQuietTime({ clock: options.clock, quietMs: QUIET_MS, mostMs: MOST_MS, work: catchUp });
  const history = (): FollowHistory => ({
    ...engine.historyOf(LOCALIZED_FOLLOW_JOB.kind),
    isEdited: edited.isPending(),
  });
  engine.onFinished(({ kind, status: ended }) => {
    if (ended !== 'succeeded') return;
    if (options.triggers.includes(kind)) void catchUp();
    else if (options.edits.includes(kind) && options.configuration().auto) edited.note();
  });
  return {
    job: requested.job,
    check: {
      id: 'localized.automation',
      run: () => {
        // Other checks report the cause of a failure, and the next run tries again.
        void options.finishRollbacks().catch(() => undefined);
        const { stop, isWithdrawn } = factsOf(options);
        const isExpected = isWithdrawn || stop?.progress === 'in_progress';
        return automationFinding(status(), history(), isExpected);
      },
    },
    status: () => {
      const state = status();
      return { ...state, message: followFailure(state, history())?.message ?? state.message };
    },
    catchUp,
    stop: async () => {
      await edited.stop();
    },
  };
}

function factsOf(options: AutomationOptions): FollowFacts & { readonly stop: PublishingStop | null } {
  const { engine, configuration, policy, releases, rollbacks, texts } = options;
  const official = releases.current('official');
  const localized = publishedLast(releases, 'localized');
  return {
    isOn: configuration().auto,
    officialId: official?.release_id ?? null,
    isOfficialDamaged: official?.state === 'damaged',
    // No upstream has the files of a damaged one, so only another publish repairs it.
    localizedBaseId: localized?.state === 'damaged' ? null : (localized?.base_release_id ?? null),
    stop: stopOf({ releases, rollbacks, tasks: engine }),
    isWithdrawn: withdrawnBy(options) !== null,
    policy: policy(),
    ...texts(),
  };
}

function requireNoLoss({ lostUnits }: FrozenRelease, previousReleaseId: string | null): void {
  if (previousReleaseId === null || lostUnits === 0) return;
  const why =
    lostUnits === null
      ? `the texts of localized release ${previousReleaseId} are not known, because it was not made from translations`
      : `${countText(lostUnits, 'unit')} that localized release ${previousReleaseId} has would be official again, although the source is the same`;
  throw new TaskError(
    'coverage_would_fall',
    `${why}; accept or translate them, or publish with localized-publish`,
    { details: { lost_units: lostUnits, previous_release_id: previousReleaseId } },
  );
}

/**
 * Judges the automation: stopped is worth knowing while a release is served, and so is a release that should follow and does not.
 *
 * @param isExpected whether it is stopped by a rollback that runs, or one that withdrew the channel, as somebody decided
 */
export function automationFinding(
  follow: Omit<FollowState, 'awaits'>,
  history: FollowHistory,
  isExpected: boolean,
): DoctorFinding {
  const { state, message, since } = follow;
  if (state === 'stopped' && isExpected) return { status: 'ok', message };
  if (state === 'stopped') return { status: 'degraded', message, ...(since === null ? {} : { since }) };
  const failure = followFailure(follow, history);
  return failure === null ? { status: 'ok', message } : { status: 'degraded', ...failure };
}

type FollowHistory = KindHistory & { readonly isEdited: boolean };

/** Why a release that is due is not published, as reports show it; `null` while it is not due, or an attempt waits or runs. */
function followFailure(
  { state }: { readonly state: FollowState['state'] },
  { last, nextRunAt, failingSince, isEdited }: FollowHistory,
): { readonly message: string; readonly since: number } | null {
  if (state !== 'due' || nextRunAt !== null || failingSince === null || last === null) return null;
  if (isEdited) {
    // The failure names units that may be corrected by now.
    const message = `the last try failed (${last.failure_code ?? 'failed'}), translations were edited since, and the next try follows a minute without an edit`;
    return { message, since: failingSince };
  }
  return {
    message: `the localized release does not follow the official one: ${last.failure_code ?? 'failed'}: ${last.failure_reason ?? ''}`,
    since: failingSince,
  };
}

interface QuietTime {
  note(): void;
  isPending(): boolean;
  stop(): Promise<void>;
}

/** Waits for the end of changes, such as of an editor that stores while somebody types, and then works once for all of them. */
function createQuietTime({
  clock,
  quietMs,
  mostMs,
  work,
}: {
  readonly clock: Clock;
  readonly quietMs: number;
  /** Milliseconds after the first change at which the work begins although changes continue. */
  readonly mostMs: number;
  readonly work: () => Promise<void>;
}): QuietTime {
  let pending: { readonly first: number; last: number } | null = null;
  const loop = createLoop({
    clock,
    turn: async () => {
      if (pending === null) return Infinity;
      const left = Math.min(pending.last + quietMs, pending.first + mostMs) - clock.monotonic();
      if (left > 0) return left;
      pending = null;
      await work();
      return 0;
    },
    onFailure: () => Infinity,
  });
  loop.start();
  return {
    note: () => {
      const now = clock.monotonic();
      if (pending === null) {
        pending = { first: now, last: now };
        loop.wake();
      } else {
        pending.last = now;
      }
    },
    isPending: () => pending !== null,
    stop: async () => {
      pending = null;
      await loop.stop();
    },
  };
}
