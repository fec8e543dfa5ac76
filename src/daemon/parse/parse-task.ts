import { createLoop } from '../../platform/process/loop.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { Thread } from '../../platform/threads/thread.ts';
import { TaskError, type TaskContext, type TaskResult } from '../tasks/task.ts';
import type { SnapshotId } from '../../domain/release/digest.ts';
import { countText } from '../../domain/count-text.ts';
import { carryOverFields } from './index/index-status.ts';
import { loadRules, RulesError } from './rules/load-rules.ts';
import type { ParseConfiguration } from './rules/parse-config.ts';
import type { IndexedRelease, IndexProgress } from './run/index-release.ts';
import type { ParseCalls } from './run/index-worker.ts';

/** A release whose text can be indexed. */
export interface ParsableRelease {
  readonly releaseId: string;
  readonly snapshotId: SnapshotId;
}

/** Where releases come from. */
export interface ReleaseSource {
  /** Root of the snapshot volume. */
  readonly root: string;
  /** The current official release, or `null`. */
  current(): ParsableRelease | null;
  /** The ids of all releases that are kept. */
  kept(): readonly string[];
}

export interface ParseTaskDependencies {
  readonly thread: Pick<Thread<ParseCalls>, 'call'>;
  readonly releases: ReleaseSource;
  readonly configuration: () => ParseConfiguration;
  readonly clock: Clock;
}

/** Time between two updates of the progress. */
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
  const rules = await loadRules(settings).catch((error: unknown) => {
    if (!(error instanceof RulesError)) throw error;
    throw new TaskError('rules_invalid', error.message, { cause: error });
  });
  const startedAt = clock.monotonic();
  const showing = showProgress(thread, context, clock);
  try {
    const done = await thread.call(
      'index',
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
      const progress = await thread.call('progress', null);
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
    carry_over: totals.carryOver === null ? null : carryOverFields(totals.carryOver),
    seconds: Math.round(seconds * 1000) / 1000,
  };
}
