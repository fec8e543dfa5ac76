import type { Thread } from '../../platform/threads/thread.ts';
import type { UnitPlace, UnitsAfter, UnitsAfterQuery } from '../parse/index/units-after.ts';
import { TaskError, type TaskContext, type TaskResult } from '../tasks/task.ts';
import type { BuildResult } from './work/finish-build.ts';
import { translationTaskError } from './work/translation-failure.ts';
import type { TranslationCalls } from './work/translation-worker.ts';

export interface TaskBuildDependencies {
  readonly thread: Pick<Thread<TranslationCalls>, 'call'>;
  /** Pages through the units of the indexed release. */
  readonly unitsAfter: (query: UnitsAfterQuery, signal: AbortSignal) => Promise<UnitsAfter>;
}

/** Bounds of one batch. It passes through the event loop, so it must not hold the loop up. */
const BATCH_UNITS = 1000;
const BATCH_CHARACTERS = 256 * 1024;
/** Runs that begin again because the index changed meanwhile. */
const MAX_RESTARTS = 10;

/**
 * Builds the tasks of the indexed release in bounded batches. A run that was interrupted continues with the next one.
 *
 * @throws TaskError `text_not_indexed`, `translation_unavailable`, those of the parse index; the signal's reason
 */
export async function runTaskBuild(
  dependencies: TaskBuildDependencies,
  context: Pick<TaskContext, 'signal' | 'progress'>,
): Promise<TaskResult> {
  try {
    for (let run = 0; run < MAX_RESTARTS; run += 1) {
      const result = await buildOnce(dependencies, context);
      if (result !== null) return result;
    }
  } catch (error) {
    context.signal.throwIfAborted();
    throw translationTaskError(error);
  }
  throw new TaskError(
    'text_not_indexed',
    `the index changed ${MAX_RESTARTS} times while the tasks were built; run "slipway ctl schedule run" for task-build when parsing has ended`,
  );
}

/** @returns `null` when the index shows another release or other rules than at the begin */
async function buildOnce(
  { thread, unitsAfter }: TaskBuildDependencies,
  { signal, progress }: Pick<TaskContext, 'signal' | 'progress'>,
): Promise<TaskResult | null> {
  const pageFrom = async (from: UnitPlace): Promise<UnitsAfter> =>
    await unitsAfter({ from, limit: BATCH_UNITS, maxCharacters: BATCH_CHARACTERS }, signal);
  const { releaseId, generation, total } = await pageFrom({ position: 0, ordinal: 0 });
  if (releaseId === null)
    throw new TaskError('text_not_indexed', 'no release is indexed yet; run "slipway ctl parse"');
  let build = await thread.call('beginBuild', { releaseId, generation }, { signal });
  const isDone = build.isComplete && build.isCurrent;
  while (!build.isComplete) {
    const page = await pageFrom(build.from);
    if (page.releaseId !== releaseId || page.generation !== generation) return null;
    build = await thread.call('addUnits', { buildId: build.buildId, page }, { signal });
    progress(build.units, total, 'entries', 'building tasks');
  }
  let result: BuildResult | null = null;
  if (!isDone) {
    while (await thread.call('countTasks', build.buildId, { signal }));
    result = await thread.call('finishBuild', build.buildId, { signal });
  }
  while (await thread.call('cleanUp', null, { signal }));
  return { release_id: releaseId, generation, units: build.units, ...(result ?? { unchanged: true }) };
}
