import type { Logger } from '../../platform/logging/logging.ts';
import type { UnitPlace, UnitsAfter } from '../parse/index/read/units-after.ts';
import { PARSE_FULL_JOB, PARSE_JOB } from '../parse/parse-jobs.ts';
import type { Job } from '../../engine/tasks/job.ts';
import { createRequestedJob } from '../../engine/tasks/requested-job.ts';
import type { TaskEngine } from '../../engine/tasks/task-engine.ts';
import { TaskError, type TaskResult } from '../../engine/tasks/task.ts';
import type { IndexedTexts } from '../parse/parse.ts';
import type { RunContext } from './run-context.ts';
import { TASK_BUILD_JOB } from './translation-jobs.ts';
import type { BuildResult } from './work/build/finish-build.ts';
import { translationTaskError } from './work/translation-failure.ts';
import type { TranslationThread } from './work/translation-worker.ts';

interface TaskBuildOptions {
  readonly thread: TranslationThread;
  /** The files and units of the indexed release. */
  readonly index: IndexedTexts;
  readonly engine: TaskEngine;
  /** Whether the tasks of a release are built as soon as its text is indexed. */
  readonly isAutomatic: () => boolean;
  /** Called after each build, inside its task. */
  readonly onBuilt: () => Promise<unknown>;
  readonly logger: Logger;
}

/** Jobs after which the tasks may not be those of the index. */
const PARSING: ReadonlySet<string> = new Set([PARSE_JOB.kind, PARSE_FULL_JOB.kind]);

/**
 * Creates the job that keeps the tasks those of the indexed release. It runs after each parse run that succeeds.
 *
 * @returns the job; whether it runs; and a function that makes sure that a build begins from now on, if builds are automatic
 */
export function createTaskBuild({ engine, thread, index, isAutomatic, onBuilt, logger }: TaskBuildOptions): {
  readonly job: Job;
  isRunning(): boolean;
  request(): void;
} {
  let isRunning = false;
  // A build that has read all units does not see another index, so a parse run that ends now needs another build.
  const requested = createRequestedJob({ engine, logger }, TASK_BUILD_JOB, async (context) => {
    isRunning = true;
    try {
      const result = await runTaskBuild(thread, index, context);
      await onBuilt();
      return result;
    } finally {
      isRunning = false;
    }
  });
  const request = (): void => {
    if (isAutomatic()) requested.request();
  };
  engine.onFinished(({ kind, status }) => {
    if (PARSING.has(kind) && status === 'succeeded') request();
  });
  return { job: requested.job, isRunning: () => isRunning, request };
}

/** Bounds of one batch. It passes through the event loop, so it must not hold the loop up. */
const BATCH_FILES = 1000;
const BATCH_UNITS = 1000;
const BATCH_CHARACTERS = 256 * 1024;
/** Runs that begin again because the index changed meanwhile. */
const MAX_RESTARTS = 10;

/**
 * Builds the tasks of the indexed release in bounded batches. A run that was interrupted continues with the next one.
 *
 * @throws TaskError `text_not_indexed`, `translation_unavailable`, those of the parse index; the signal's reason
 */
async function runTaskBuild(
  thread: TranslationThread,
  index: IndexedTexts,
  context: RunContext,
): Promise<TaskResult> {
  try {
    for (let run = 0; run < MAX_RESTARTS; run += 1) {
      const result = await buildOnce(thread, index, context);
      if (result !== null) return result;
    }
  } catch (error) {
    context.signal.throwIfAborted();
    throw translationTaskError(error);
  }
  throw new TaskError(
    'text_not_indexed',
    `the index changed ${MAX_RESTARTS} times while the tasks were built; they are built again after the next parse run`,
  );
}

/** @returns `null` when the index shows another release or other rules than at the start */
async function buildOnce(
  thread: TranslationThread,
  index: IndexedTexts,
  { signal, progress }: RunContext,
): Promise<TaskResult | null> {
  const { releaseId, generation, total } = await index.containersAfter({ after: '', limit: 0 }, signal);
  if (releaseId === null)
    throw new TaskError('text_not_indexed', 'no release is indexed yet; run "slipway ctl parse"');
  const isOther = (page: { readonly releaseId: string | null; readonly generation: number }): boolean =>
    page.releaseId !== releaseId || page.generation !== generation;
  let build = await thread.beginBuild({ releaseId, generation }, { signal });
  const { buildId } = build;
  const isDone = build.isComplete && build.isCurrent;
  let units = 0;
  while (!build.isComplete) {
    const files = await index.containersAfter({ after: build.comparedUntil, limit: BATCH_FILES }, signal);
    if (isOther(files)) return null;
    for (const changed of await thread.compareFiles({ buildId, page: files }, { signal })) {
      let from: UnitPlace | null = changed.from;
      while (from !== null) {
        const bounds = { limit: BATCH_UNITS, maxCharacters: BATCH_CHARACTERS, lastDestination: changed.last };
        const page: UnitsAfter = await index.unitsAfter({ from, ...bounds }, signal);
        if (isOther(page)) return null;
        await thread.addUnits({ buildId, page }, { signal });
        from = page.next;
      }
    }
    build = await thread.passFiles({ buildId, next: files.next }, { signal });
    units += files.items.reduce((sum, file) => sum + file.units, 0);
    progress(units, total, 'units', 'building tasks');
  }
  let result: BuildResult | null = null;
  if (!isDone) {
    while (await thread.countTasks(buildId, { signal }));
    const { event: _event, ...finished } = await thread.finishBuild(buildId, { signal });
    result = finished;
  }
  while (await thread.cleanUp(null, { signal }));
  return { release_id: releaseId, generation, ...(result ?? { units: total, unchanged: true }) };
}
