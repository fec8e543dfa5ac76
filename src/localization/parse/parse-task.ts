import { createLoop } from '../../platform/process/loop.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { ThreadError } from '../../platform/threads/thread.ts';
import type { CallerOf } from '../../platform/threads/caller.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../engine/tasks/task.ts';
import type { SnapshotId } from '../../domain/release/digest.ts';
import { countText } from '../../domain/count-text.ts';
import { loadRules, RulesError, type LoadedRules } from './rules/load-rules.ts';
import type { ParseConfiguration } from './rules/parse-config.ts';
import type { IndexedRelease, IndexProgress } from './run/index-release.ts';
import type { ParseStore } from './run/index-worker.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { messageOf } from '../../platform/errors.ts';
import { implementJob, type Job } from '../../engine/tasks/job.ts';
import { PARSE_FULL_JOB, PARSE_JOB, TEXT_DIFFERENCES_JOB } from './parse-jobs.ts';

/** Failure codes of the daemon; those of Node are in upper case. */
const FAILURE_CODE = /^[a-z][a-z_]+$/;

/** Converts an error of the parse thread to the failure of a task; an unexpected error stays as it is. */
export function parseTaskError(error: unknown): unknown {
  if (error instanceof ThreadError) {
    const message = `${error.message}; the next run continues with the containers that are not parsed yet`;
    return new TaskError('parse_thread_failed', message, { retryable: true, cause: error });
  }
  if (!(error instanceof Error) || error instanceof TaskError || !('code' in error)) return error;
  const { code } = error;
  if (typeof code !== 'string' || !FAILURE_CODE.test(code)) return error;
  return new TaskError(code, error.message, { cause: error });
}

export function parseReportError(error: unknown): ServiceError {
  return new ServiceError('backend_unavailable', `the parse index cannot be read: ${messageOf(error)}`);
}

export interface ReleaseSource {
  readonly root: string;
  current(): {
    readonly releaseId: string;
    readonly snapshotId: SnapshotId;
  } | null;
  kept(): readonly string[];
}

interface ParseTaskDependencies {
  readonly thread: CallerOf<ParseStore>;
  readonly releases: ReleaseSource;
  readonly configuration: () => ParseConfiguration;
  readonly clock: Clock;
}

const PROGRESS_MS = 500;

/**
 * Indexes the current official release.
 *
 * @param full whether every container is parsed again
 * @throws TaskError `release_missing`, `rules_invalid`, a storage failure; the signal's reason
 */
export async function runParseTask(
  { thread, releases, configuration, clock }: ParseTaskDependencies,
  context: TaskContext,
  full: boolean,
): Promise<TaskResult> {
  const release = releases.current();
  if (release === null) {
    throw new TaskError('release_missing', 'there is no official release to parse; sync one first');
  }
  const settings = configuration();
  const rules = await loadTaskRules(settings);
  const startedAt = clock.monotonic();
  const showing = showProgress(thread, context, clock);
  try {
    const done = await thread.index(
      {
        ...release,
        root: releases.root,
        configuration: settings,
        rules,
        full,
        keptReleases: releases.kept(),
      },
      { signal: context.signal },
    );
    return reportRun(context, done, (clock.monotonic() - startedAt) / 1000);
  } finally {
    await showing.stop();
  }
}

function showProgress(
  thread: ParseTaskDependencies['thread'],
  context: TaskContext,
  clock: Clock,
): { stop(): Promise<void> } {
  const loop = createLoop({
    clock,
    firstWaitMs: PROGRESS_MS,
    turn: async () => {
      const progress = await thread.progress();
      if (progress !== null)
        context.progress(progress.containers, progress.total, 'entries', phaseOf(progress));
      return PROGRESS_MS;
    },
    // The call of the task itself reports why the thread ended.
    onFailure: () => PROGRESS_MS,
  });
  loop.start();
  return loop;
}

function phaseOf({ phase, containers, total, units }: IndexProgress): string {
  return `${phase}, ${containers} of ${total} containers, ${countText(units, 'text unit')}`;
}

function reportRun(
  context: TaskContext,
  { reported, parsed, reused, failures, progress }: IndexedRelease,
  seconds: number,
): TaskResult {
  for (const { destination, status, code, message } of failures) {
    context.log('warn', `${destination}: ${message}`, { destination, parse_status: status, code });
  }
  context.progress(progress.containers, progress.total, 'entries', phaseOf(progress));
  const { totals } = reported;
  return {
    release_id: reported.releaseId,
    generation: reported.generation,
    containers: totals.containers,
    parsed,
    reused,
    units: totals.units,
    errors: totals.errors,
    warnings: totals.warnings,
    carry_over: totals.carry_over,
    seconds: Math.round(seconds * 1000) / 1000,
  };
}

export async function loadTaskRules(configuration: ParseConfiguration): Promise<LoadedRules> {
  return await loadRules(configuration).catch((error: unknown) => {
    if (!(error instanceof RulesError)) throw error;
    throw new TaskError('rules_invalid', error.message, { cause: error });
  });
}

export interface ParseJobDependencies extends ParseTaskDependencies {
  readonly onBegin: () => void;
  /** Called after every run that succeeded, before its task ends; its error fails the task. */
  readonly onIndexed: () => Promise<unknown>;
}

interface ParseJobs {
  readonly jobs: readonly Job[];
  readonly isRunning: () => boolean;
}

export function createParseJobs(dependencies: ParseJobDependencies): ParseJobs {
  let running = 0;
  const parsing = (job: typeof PARSE_JOB | typeof PARSE_FULL_JOB): Job =>
    implementJob(job, async (context) => {
      running += 1;
      dependencies.onBegin();
      try {
        return await withTaskErrors(async () => {
          const result = await runParseTask(dependencies, context, job === PARSE_FULL_JOB);
          await dependencies.onIndexed();
          return result;
        });
      } finally {
        running -= 1;
      }
    });
  const differences = implementJob(
    TEXT_DIFFERENCES_JOB,
    async ({ args: { from, to, offset, limit }, signal }) => {
      const query = { fromRelease: from, toRelease: to, offset, limit };
      const found = await withTaskErrors(() => dependencies.thread.differences(query, { signal }));
      return {
        from,
        to,
        available: found !== null,
        total: found?.total ?? 0,
        next_offset: found?.nextOffset ?? null,
        items: found?.items ?? [],
      };
    },
  );
  return {
    jobs: [parsing(PARSE_JOB), parsing(PARSE_FULL_JOB), differences],
    isRunning: () => running > 0,
  };
}

/** Runs work of the parse thread. Its failures become TaskErrors. */
export async function withTaskErrors<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw parseTaskError(error);
  }
}
