import { join } from 'node:path';
import type { Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import { createThread } from '../../platform/threads/thread.ts';
import type { DefinedReport } from '../api/define-report.ts';
import { subscriber, type EventSubscriber } from '../events/event-subscriber.ts';
import type { DoctorCheck } from '../reports/doctor-report.ts';
import { CLEANUP_JOB } from '../releases/jobs/release-jobs.ts';
import { callOf, type Job } from '../tasks/job.ts';
import type { TaskEngine } from '../tasks/task-engine.ts';
import type { Task } from '../tasks/task.ts';
import { PARSER_VERSION } from './container/parser-version.ts';
import type { IndexStatus } from './index/index-status.ts';
import { parseFinding } from './parse-check.ts';
import { createParseJobs } from './create-parse-jobs.ts';
import { PARSE_FULL_JOB, PARSE_JOB } from './parse-jobs.ts';
import { createParseReports } from './parse-reports.ts';
import type { ReleaseSource } from './parse-task.ts';
import { loadRules, rulesDigest } from './rules/load-rules.ts';
import type { ParseConfiguration } from './rules/parse-config.ts';
import type { ParseCalls, ParseThreadData } from './run/parse-thread.ts';

export interface ParseOptions {
  /** The private folder of the daemon. */
  readonly dataDirectory: string;
  readonly releases: ReleaseSource;
  readonly engine: Pick<TaskEngine, 'submit' | 'historyOf' | 'onFinished'>;
  readonly configuration: () => ParseConfiguration;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The text of releases: found, identified, and kept across releases. */
export interface Parse {
  readonly jobs: readonly Job[];
  readonly reports: readonly DefinedReport[];
  readonly check: DoctorCheck;
  /** The index as it was last read; `null` before that. */
  latestStatus(): IndexStatus | null;
  /** Queues a run when the index is not that of the current release and rules. Called at the start and after a reload. */
  catchUp(): Promise<void>;
  /** Ends the thread and its processes. */
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
export function createParse(options: ParseOptions): Parse {
  const { dataDirectory, engine, releases, configuration, logger } = options;
  const thread = createThread<ParseCalls>({
    purpose: 'owns the parse index',
    module: new URL('./run/parse-thread.ts', import.meta.url),
    data: {
      indexPath: join(dataDirectory, 'index.db'),
      scratchDirectory: join(dataDirectory, 'parse'),
    } satisfies ParseThreadData,
    limits: THREAD_LIMITS,
  });
  let latest: Awaited<ReturnType<ParseCalls['status']>> | null = null;
  const refresh = async (): Promise<void> => {
    latest = await thread.call('status', null);
  };
  const { jobs, isRunning } = createParseJobs({ ...options, thread, onIndexed: refresh });
  engine.onFinished(({ kind, status }) => {
    if (kind !== CLEANUP_JOB.kind || status !== 'succeeded') return;
    thread.call('drop', releases.kept()).catch((error: unknown) => {
      logger.warn({ err: error }, 'the text of deleted releases stays in the parse index until the next run');
    });
  });
  const lastRun = (): Task | null =>
    newest(engine.historyOf(PARSE_JOB.kind).last, engine.historyOf(PARSE_FULL_JOB.kind).last);
  return {
    jobs,
    reports: createParseReports({ thread, lastRun }),
    check: {
      id: 'parse',
      run: () =>
        parseFinding({
          status: latest,
          currentReleaseId: releases.current()?.releaseId ?? null,
          history: engine.historyOf(PARSE_JOB.kind),
          isRunning: isRunning() || engine.historyOf(PARSE_JOB.kind).nextRunAt !== null,
          isAutomatic: configuration().automatic,
        }),
    },
    latestStatus: () => latest,
    catchUp: async () => {
      try {
        await refresh();
        const settings = configuration();
        const current = releases.current();
        if (!settings.automatic || current === null || latest === null) return;
        if (latest.release_id !== current.releaseId || !(await hasCurrentRules(latest, settings))) {
          engine.submit({ ...callOf(PARSE_JOB, {}), dedupe: true });
        }
      } catch (error) {
        logger.error(
          { err: error },
          'the parse index cannot be read; run "slipway ctl parse" when the cause is gone',
        );
      }
    },
    close: async () => {
      await thread.call('close', null).catch(() => undefined);
      await thread.close();
    },
  };
}

async function hasCurrentRules(status: IndexStatus, settings: ParseConfiguration): Promise<boolean> {
  if (status.parser_version !== PARSER_VERSION) return false;
  return status.rules_digest === rulesDigest(await loadRules(settings));
}

function newest(left: Task | null, right: Task | null): Task | null {
  if (left === null || right === null) return left ?? right;
  return (left.finished_at ?? Infinity) >= (right.finished_at ?? Infinity) ? left : right;
}
