import { join } from 'node:path';
import type { LanguagePair } from '../../domain/glossary/term.ts';
import { fileLists } from '../../platform/config/glob-filter.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { SecretMask } from '../../platform/logging/secret-mask.ts';
import { createThread, type Thread } from '../../platform/threads/thread.ts';
import type { DefinedAction } from '../api/define-action.ts';
import type { DefinedReport } from '../api/define-report.ts';
import type { GlossaryPort } from '../glossary/glossary.ts';
import type { Memory } from '../memory/memory.ts';
import type { TranslationMemory } from '../memory/translation-memory.ts';
import type { ReadTranslations } from '../parse/index/unit-translations.ts';
import type { Parse } from '../parse/parse.ts';
import type { DoctorCheck } from '../reports/doctor-report.ts';
import type { Job } from '../tasks/job.ts';
import type { TaskEngine } from '../tasks/task-engine.ts';
import type { Judging } from './judge/judging.ts';
import { createRequalification } from './requalify/requalification.ts';
import { createReadTranslations } from './answer-translations.ts';
import { createRepetitions } from './repetitions/repetitions.ts';
import { createTaskBuild } from './task-build.ts';
import { createTranslationChecks } from './translation-checks.ts';
import { TASK_BUILD_JOB } from './translation-jobs.ts';
import { createTranslationReports, type TranslationReportDependencies } from './translation-reports.ts';
import { createPublishing, type Publishing } from './publishing/publishing.ts';
import { createReview, type ReviewOptions } from './review/review.ts';
import type { ReviewConfiguration } from './review/review-config.ts';
import { createUpdateAction } from './update-action.ts';
import { createProviderAccess } from './worker/provider-access.ts';
import { createWorker } from './worker/worker.ts';
import type { WorkerConfiguration } from './worker/worker-config.ts';
import type { TranslationCalls, TranslationThreadData } from './work/translation-worker.ts';
import type { WorkStatus } from './work/work-status.ts';

/** The settings that the work on translations uses. */
interface TranslationConfiguration extends WorkerConfiguration {
  /** Whether the tasks of a release are built as soon as its text is indexed. */
  readonly automatic: boolean;
  readonly sourceLanguage: string;
  /** The language of the targets; fixed while the daemon runs. */
  readonly targetLanguage: string;
  readonly review: ReviewConfiguration;
}

export interface TranslationOptions extends Omit<TranslationReportDependencies, 'thread'> {
  /** The private folder of the daemon. */
  readonly dataDirectory: string;
  readonly engine: Pick<TaskEngine, 'submit' | 'onFinished' | 'recordInline' | 'historyOf'>;
  readonly parse: Pick<Parse, 'unitsAfter' | 'latestStatus'>;
  /** The entrance of targets. */
  readonly judging: Judging;
  /** The folder of exchanged files. */
  readonly exchangeRoot: () => string;
  readonly memory: Pick<TranslationMemory, 'lookUp' | 'soleTokens' | 'countUse' | 'record'> &
    ReviewOptions['memory'];
  readonly onSuperseded: Memory['onSuperseded'];
  readonly glossary: Pick<GlossaryPort, 'diagnose' | 'generation' | 'onChanged'>;
  /** The configured pair of languages. */
  readonly languages: () => LanguagePair;
  readonly secrets: SecretMask;
  /** In [0, 1). */
  readonly random: () => number;
  readonly configuration: () => TranslationConfiguration;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The work on translations: tasks, targets, leases. */
export interface Translation {
  readonly jobs: readonly Job[];
  readonly reports: readonly DefinedReport[];
  readonly actions: readonly DefinedAction[];
  readonly checks: readonly DoctorCheck[];
  /** The state as it was last read; `null` before that. */
  latestStatus(): WorkStatus | null;
  /** Reads the state. @throws the error of the thread */
  readStatus(): Promise<WorkStatus>;
  /** Opens the database, and queues `task-build` when the tasks are not those of the index. Called after the index was read. */
  catchUp(): Promise<void>;
  /** Reads the translations of the units of a page. */
  readonly readTranslations: ReadTranslations;
  /** The work as localized releases use it. */
  readonly publishing: Publishing;
  /** Ends the thread. */
  close(): Promise<void>;
}

/** MiB. The memory of SQLite is not part of it. */
const THREAD_LIMITS = { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 256 };

/** Assembles the work on translations: the thread that owns translation.db, its job and its reports. */
export function createTranslation(options: TranslationOptions): Translation {
  const { engine, parse, configuration, logger } = options;
  const owner = createWorkThread(options);
  const requalification = createRequalification({ ...options, thread: owner });
  const repetitions = createRepetitions({ ...options, thread: requalification.thread });
  const { thread } = repetitions;
  const { unitsAfter } = parse;
  const providers = createProviderAccess(options);
  const shared = { ...options, ...options.judging, thread, providers };
  const review = createReview({ ...shared, unitsAfter, configuration: () => configuration().review });
  let latest: WorkStatus | null = null;
  const refresh = async (): Promise<WorkStatus> => {
    try {
      latest = await thread.call('status', fileLists(options.publishPolicy()));
      return latest;
    } catch (error) {
      latest = null;
      throw error;
    }
  };
  const taskBuild = createTaskBuild({
    ...options,
    thread,
    unitsAfter,
    isAutomatic: () => configuration().automatic,
    onBuilt: refresh,
  });
  const worker = createWorker(shared);
  return {
    jobs: [...review.jobs, ...worker.jobs, taskBuild.job, repetitions.job, requalification.job],
    reports: createTranslationReports({ ...options, thread }),
    actions: [...worker.actions, createUpdateAction(shared), ...review.actions],
    checks: [
      ...createTranslationChecks({
        refresh,
        index: parse.latestStatus,
        history: () => engine.historyOf(TASK_BUILD_JOB.kind),
        isRunning: () => taskBuild.isRunning(),
        isAutomatic: () => configuration().automatic,
      }),
      worker.check,
    ],
    latestStatus: () => latest,
    readStatus: refresh,
    catchUp: async () => {
      try {
        const { built } = await refresh();
        const index = parse.latestStatus();
        if (index === null || index.release_id === null) return;
        if (built?.releaseId !== index.release_id || built.generation !== index.generation)
          taskBuild.request();
        await Promise.all([repetitions.catchUp(), requalification.catchUp()]);
      } catch (error) {
        logger.error({ err: error }, 'translation.db cannot be used; translations are not available');
      }
    },
    readTranslations: createReadTranslations(thread, () => configuration().sourceLanguage),
    publishing: createPublishing({ ...shared, unitsAfter }),
    close: async () => {
      await owner.call('close', null).catch(() => undefined);
      await owner.close();
    },
  };
}

function createWorkThread({ dataDirectory, configuration }: TranslationOptions): Thread<TranslationCalls> {
  return createThread<TranslationCalls>({
    purpose: 'owns translation.db',
    module: new URL('./work/translation-worker.ts', import.meta.url),
    data: {
      path: join(dataDirectory, 'translation.db'),
      targetLanguage: configuration().targetLanguage,
    } satisfies TranslationThreadData,
    limits: THREAD_LIMITS,
  });
}
