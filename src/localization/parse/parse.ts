import { createParseJobs, withTaskErrors, type ReleaseSource } from './parse-task.ts';
import { join } from 'node:path';
import type { Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import { watchedCaller, type CallerOf } from '../../platform/threads/caller.ts';
import { openThread, type Thread, isOfClosedThread } from '../../platform/threads/thread.ts';
import type { DefinedReport } from '../../engine/define-report.ts';
import { subscriber, type EventSubscriber } from '../../engine/events/event-subscriber.ts';
import type { DoctorCheck } from '../../engine/check.ts';
import { CLEANUP_JOB } from '../../releases/jobs/release-jobs.ts';
import { type Job, callOf } from '../../engine/tasks/job.ts';
import type { TaskEngine } from '../../engine/tasks/task-engine.ts';
import type { Task } from '../../engine/tasks/task.ts';
import { type IndexStatus, isCurrentIndex } from './index/index-status.ts';
import type { ReadBoxes } from './index/read/unit-translations.ts';
import type { ContainersAfter, ContainersQuery } from './index/read/containers-after.ts';
import type { UnitsAfter, UnitsAfterQuery } from './index/read/units-after.ts';
import { parseFinding } from './parse-check.ts';
import { PARSE_FULL_JOB, PARSE_JOB } from './parse-jobs.ts';
import { parseReports, type ShownTranslations } from './parse-reports.ts';
import type { ParseConfiguration } from './rules/parse-config.ts';
import { createRulesState, loadRules, rulesDigest, RulesError } from './rules/load-rules.ts';
import { isIndexReplaced } from './run/index-replaced.ts';
import type { ParseThreadData, ParseThreadStatus, ParseStore } from './run/index-worker.ts';

type ParseThread = CallerOf<ParseStore>;

/** The texts of the reported release, for the work on their translations. */
export interface IndexedTexts {
  /** Pages through the files with text. @throws TaskError when the index cannot be read; the signal's reason */
  containersAfter(query: ContainersQuery, signal: AbortSignal): Promise<ContainersAfter>;
  /** Pages through the units. @throws TaskError when the index cannot be read; the signal's reason */
  unitsAfter(query: UnitsAfterQuery, signal: AbortSignal): Promise<UnitsAfter>;
}

export interface Parse extends IndexedTexts {
  readonly jobs: readonly Job[];
  /** The reports about the index, with the translations of its units and their boxes. */
  reports(translations: ShownTranslations, readBoxes: ReadBoxes): readonly DefinedReport[];
  readonly check: DoctorCheck;
  latestStatus(): IndexStatus | null;
  /** Whether the index is that of a release, with the current rules and by this parser. */
  isCurrent(releaseId: string): Promise<boolean>;
  /** Queues a run when the index is not that of the current release and rules. Called at the start and after a reload. */
  catchUp(): Promise<void>;
  close(): Promise<void>;
}

/** MiB. The rows of the index are outside of this heap; pages and the messages of the parse processes are in it. */
const THREAD_LIMITS = { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 256 };

/** Queues `parse` when an official release becomes current. */
export function parseSubscriber(configuration: () => ParseConfiguration): EventSubscriber {
  return subscriber('parse', PARSE_JOB, ({ channel }) =>
    channel === 'official' && configuration().automatic ? {} : null,
  );
}

/** Assembles the parse index: the thread that owns it, its jobs and its reports. */
export function openParse(options: {
  readonly dataDirectory: string;
  readonly releases: ReleaseSource;
  readonly engine: TaskEngine;
  readonly configuration: () => ParseConfiguration;
  readonly clock: Clock;
  readonly logger: Logger;
}): Parse {
  const { engine, releases, configuration, logger } = options;
  const owner = createIndexThread(options.dataDirectory);
  let latest: ParseThreadStatus | null = null;
  const refresh = async (): Promise<IndexStatus> => {
    const before = latest?.replacement ?? null;
    latest = await readStatus(owner.calls);
    const { index, replacement } = latest;
    if (replacement !== null && replacement.at !== before?.at) {
      logger.warn(
        { reason: replacement.reason },
        'the parse index was replaced; a parse run fills the new one',
      );
    }
    return index;
  };
  const catchUp = createCatchUp({ ...options, refresh });
  const thread = noticingReplacement(owner.calls, catchUp);
  const { jobs, isRunning } = createParseJobs({
    ...options,
    thread,
    onBegin: catchUp.noteBegin,
    onIndexed: refresh,
  });
  engine.onFinished(({ kind, status }) => {
    if (kind !== CLEANUP_JOB.kind || status !== 'succeeded') return;
    thread.drop(releases.kept()).catch((error: unknown) => {
      logger.warn({ err: error }, 'the text of deleted releases stays in the parse index until the next run');
    });
  });
  const lastRun = (): Task | null =>
    newest(engine.historyOf(PARSE_JOB.kind).last, engine.historyOf(PARSE_FULL_JOB.kind).last);
  const rulesState = createRulesState(configuration);
  return {
    jobs,
    reports: (translations, readBoxes) =>
      parseReports({ thread, lastRun, translations, readBoxes, now: () => options.clock.monotonic() }),
    check: {
      id: 'parse',
      run: async (_signal, trigger) =>
        parseFinding({
          rules: await rulesState(trigger === 'interval'),
          status: latest?.index ?? null,
          replacement: latest?.replacement ?? null,
          currentReleaseId: releases.current()?.releaseId ?? null,
          history: engine.historyOf(PARSE_JOB.kind),
          isRunning: isRunning() || engine.historyOf(PARSE_JOB.kind).nextRunAt !== null,
          isAutomatic: configuration().automatic,
        }),
    },
    latestStatus: () => latest?.index ?? null,
    containersAfter: async (query, signal) =>
      await withTaskErrors(async () => await thread.containersAfter(query, { signal })),
    unitsAfter: async (query, signal) =>
      await withTaskErrors(async () => await thread.unitsAfter(query, { signal })),
    isCurrent: async (releaseId) => {
      const rules = await rulesState(true);
      return latest !== null && rules.ok && isCurrentIndex(latest.index, releaseId, rules.value);
    },
    catchUp: catchUp.run,
    close: async () => {
      await owner.calls.close().catch(() => undefined);
      await owner.close();
    },
  };
}

function createIndexThread(dataDirectory: string): Thread<ParseStore> {
  return openThread<ParseStore>({
    purpose: 'owns the parse index',
    module: new URL('./run/index-worker.ts', import.meta.url),
    data: {
      indexPath: join(dataDirectory, 'index.db'),
      scratchDirectory: join(dataDirectory, 'parse'),
    } satisfies ParseThreadData,
    limits: THREAD_LIMITS,
  });
}

/** Reads the index; one that was replaced now is read again. */
async function readStatus(thread: ParseThread): Promise<ParseThreadStatus> {
  try {
    return await thread.status();
  } catch (error) {
    if (!isIndexReplaced(error)) throw error;
    return await thread.status();
  }
}

/** Looks whether a run is needed when a call finds that the index was replaced. */
function noticingReplacement(thread: ParseThread, catchUp: CatchUp): ParseThread {
  return watchedCaller(thread, (answer, name) => {
    answer.catch((error: unknown) => {
      // A run has already begun again before it fails with this. Another one would not help.
      if (isIndexReplaced(error) && name !== 'index') void catchUp.run();
    });
  });
}

function newest(left: Task | null, right: Task | null): Task | null {
  if (left === null || right === null) return left ?? right;
  return (left.finished_at ?? Infinity) >= (right.finished_at ?? Infinity) ? left : right;
}

interface CatchUpOptions {
  readonly engine: TaskEngine;
  readonly releases: ReleaseSource;
  readonly configuration: () => ParseConfiguration;
  readonly refresh: () => Promise<IndexStatus>;
  readonly logger: Logger;
}

export interface CatchUp {
  /**
   * Queues a run when the index is not that of the current release and rules. While a run is in progress, which may have
   * begun with other rules, it checks again after that run.
   */
  readonly run: () => Promise<void>;
  readonly noteBegin: () => void;
}

export function createCatchUp({ engine, releases, configuration, refresh, logger }: CatchUpOptions): CatchUp {
  let isRunning = false;
  let again = false;
  const run = async (): Promise<void> => {
    try {
      const status = await refresh();
      const settings = configuration();
      const current = releases.current();
      if (!settings.automatic || current === null) return;
      const digest = rulesDigest(await loadRules(settings));
      if (isCurrentIndex(status, current.releaseId, digest)) return;
      if (isRunning) again = true;
      else engine.submit({ ...callOf(PARSE_JOB, {}), dedupe: true });
    } catch (error) {
      // A stop does not wait for this.
      if (isOfClosedThread(error)) return;
      const problem =
        error instanceof RulesError
          ? 'the text of releases is not indexed, because the rules cannot be used; correct them and reload'
          : 'the parse index cannot be read; run "slipway ctl parse" when the cause is gone';
      logger.error({ err: error }, problem);
    }
  };
  engine.onFinished(({ kind }) => {
    if (kind !== PARSE_JOB.kind && kind !== PARSE_FULL_JOB.kind) return;
    isRunning = false;
    if (!again) return;
    again = false;
    void run();
  });
  return {
    run,
    noteBegin: () => {
      isRunning = true;
    },
  };
}
