import { LOCALIZED_FOLLOW_JOB, type Awaited } from './localized/automation/follow-rules.ts';
import { PARSE_FULL_JOB, PARSE_JOB } from './parse/parse-jobs.ts';
import type { TaskEngine } from '../engine/tasks/task-engine.ts';
import type { Task } from '../engine/tasks/task.ts';
import { TASK_BUILD_JOB } from './translation/translation-jobs.ts';

/** How the work of one kind goes. Times are Unix seconds. */
export interface WorkOfKind {
  readonly isLive: boolean;
  /** Whether an attempt of the task that waits or runs has failed. */
  readonly isRetried: boolean;
  readonly last: { readonly createdAt: number; readonly at: number; readonly hasSucceeded: boolean } | null;
}

/** The facts of a localized release that is to replace a stale one. */
interface FollowWork {
  /** The step that comes next; `null` when no release follows. */
  readonly awaits: Awaited | null;
  /** The jobs that bring what it waits for. */
  readonly step: readonly WorkOfKind[];
  /** The job that publishes automatically. */
  readonly publication: WorkOfKind;
}

/**
 * Seconds between two tasks of the chain (index, translation tasks, publication) in which nothing is queued. The end of one queues
 * the next one within milliseconds, and after the last one the automation looks again.
 */
const BETWEEN_SECONDS = 10;

/** The jobs that bring what a localized release waits for. No job brings translations: people do. */
const JOBS_OF: Readonly<Record<Awaited, readonly string[]>> = {
  index: [PARSE_JOB.kind, PARSE_FULL_JOB.kind],
  tasks: [TASK_BUILD_JOB.kind],
  publication: [LOCALIZED_FOLLOW_JOB.kind],
  translations: [],
};

/**
 * Whether a localized release is on its way that replaces a stale one. It is until a task of the chain fails, or until something
 * is missing that the chain does not bring, such as translations. After a publication that failed it is not on its way until one
 * succeeds: each change of the texts starts another attempt, and most of them fail for the same cause.
 *
 * @param officialSince when the official release became current, Unix seconds; tasks from before were not for it
 * @param now Unix seconds
 */
export function isFollowing(
  { awaits, step, publication }: FollowWork,
  officialSince: number,
  now: number,
): boolean {
  if (awaits === null || awaits === 'translations' || hasFailed([publication], officialSince)) return false;
  if (hasFailed(step, officialSince) || step.some(({ isRetried }) => isRetried)) return false;
  if (step.some(({ isLive }) => isLive)) return true;
  const ends = [...step, publication].map(({ last }) => last?.at ?? officialSince);
  return now - Math.max(officialSince, ...ends) < BETWEEN_SECONDS;
}

/** Whether the task that ended last among these was made for the official release, and did not succeed. */
function hasFailed(work: readonly WorkOfKind[], officialSince: number): boolean {
  const ended = work.flatMap(({ last }) => last ?? []);
  const latest = Math.max(...ended.map(({ at }) => at));
  return ended.some(
    ({ createdAt, at, hasSucceeded }) => at === latest && createdAt >= officialSince && !hasSucceeded,
  );
}

export function readFollowWork(engine: TaskEngine, awaits: Awaited | null): FollowWork {
  return {
    awaits,
    step: awaits === null ? [] : JOBS_OF[awaits].map((kind) => readWork(engine, kind)),
    publication: readWork(engine, LOCALIZED_FOLLOW_JOB.kind),
  };
}

function readWork(engine: TaskEngine, kind: string): WorkOfKind {
  const { nextRunAt, retriedCode, last } = engine.historyOf(kind);
  return {
    isLive: nextRunAt !== null || engine.runningSince(kind) !== null,
    isRetried: retriedCode !== null,
    last:
      last === null || last.finished_at === null
        ? null
        : { createdAt: last.created_at, at: last.finished_at, hasSucceeded: hasSucceeded(last) },
  };
}

/** A publication that found too little translated ends without a failure, and without a release. */
function hasSucceeded({ status, result }: Task): boolean {
  return status === 'succeeded' && result?.['awaits'] !== ('translations' satisfies Awaited);
}

/** Whether an automatic publication of the localized channel waits or runs, and none of its attempts has failed. */
export function isPublishing(engine: TaskEngine): boolean {
  const { isLive, isRetried } = readWork(engine, LOCALIZED_FOLLOW_JOB.kind);
  return isLive && !isRetried;
}

/** Whether a task waits or runs that makes index and translation tasks those of the current official release. */
export function isPreparing(engine: TaskEngine): boolean {
  return [...JOBS_OF.index, ...JOBS_OF.tasks].some((kind) => readWork(engine, kind).isLive);
}
