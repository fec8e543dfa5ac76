import { isOfClosedThread } from '../../platform/threads/thread.ts';
import { join } from 'node:path';
import type { LanguagePair } from '../../domain/glossary/term.ts';
import { fileLists } from '../../platform/config/glob-filter.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { SecretMask } from '../../platform/logging/secret-mask.ts';
import type { CallerOf } from '../../platform/threads/caller.ts';
import { openThread, type Thread } from '../../platform/threads/thread.ts';
import { publishEvents, type Events } from '../../engine/events/events.ts';
import type { DefinedAction } from '../../engine/define-action.ts';
import type { DefinedReport } from '../../engine/define-report.ts';
import type { TermDrafts } from '../glossary/term-drafts.ts';
import type { GlossaryPort } from '../glossary/glossary.ts';
import type { TranslationMemory } from '../memory/translation-memory.ts';
import type { TextEvent } from '../text-events.ts';
import type { ShownTranslations } from '../parse/parse-reports.ts';
import type { Parse } from '../parse/parse.ts';
import type { DoctorCheck } from '../../engine/check.ts';
import type { Job } from '../../engine/tasks/job.ts';
import type { TaskEngine } from '../../engine/tasks/task-engine.ts';
import type { Judging } from './judge/judging.ts';
import type { UnitsAfterPort } from './judge/unit-source.ts';
import { createRequalification } from './requalify/requalification.ts';
import { readTranslations } from './answer-translations.ts';
import { createRepetitions } from './repetitions/repetitions.ts';
import { createTaskBuild } from './task-build.ts';
import { translationChecks } from './translation-checks.ts';
import { TASK_BUILD_JOB } from './translation-jobs.ts';
import { translationReports, type ReportedChannel, type ReportOptions } from './translation-reports.ts';
import { createPublishing, type Publishing } from './publishing/publishing.ts';
import { createReview } from './review/review.ts';
import type { TranslationConfiguration } from './translation-config.ts';
import { updateAction } from './update-action.ts';
import { createProviderAccess } from './worker/provider-access.ts';
import { termMining } from './terms/mine-release.ts';
import { createWorker } from './worker/worker.ts';
import type { TranslationStore, TranslationStoreData } from './work/translation-worker.ts';
import type { WorkStatus } from './work/read/work-status.ts';
import { answerOf } from './work/translation-failure.ts';

interface TranslationOptions extends ReportOptions {
  readonly dataDirectory: string;
  readonly engine: TaskEngine;
  readonly parse: Parse;
  readonly judging: Judging;
  readonly exchangeRoot: () => string;
  readonly memory: TranslationMemory;
  readonly glossary: GlossaryPort;
  readonly terms: TermDrafts;
  /** Targets, terms and records that change. */
  readonly events: Events<TextEvent>;
  readonly languages: () => LanguagePair;
  readonly secrets: SecretMask;
  /** In [0, 1). */
  readonly random: () => number;
  readonly configuration: () => TranslationConfiguration;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly thread?: Thread<TranslationStore>;
}

/** The work on translations: tasks, targets, leases. */
export interface Translation {
  readonly jobs: readonly Job[];
  /** The reports, which also show the localized channel. */
  reports(channel: ReportedChannel): readonly DefinedReport[];
  readonly actions: readonly DefinedAction[];
  readonly checks: readonly DoctorCheck[];
  /** The state as it was last read; `null` before that. */
  latestStatus(): WorkStatus | null;
  /** Reads the state. @throws the error of the thread */
  readStatus(): Promise<WorkStatus>;
  /** Opens the database, and queues `task-build` when the tasks are not those of the index. Called after the index was read. */
  catchUp(): Promise<void>;
  /** The translations of the units that the parse index shows. */
  readonly shown: ShownTranslations;
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
  const { thread: owner = openWorkThread(options) } = options;
  const thread = publishEvents(owner.calls, options.events);
  const requalification = createRequalification({ ...options, thread });
  const repetitions = createRepetitions({ ...options, thread });
  const unitsAfter: UnitsAfterPort = async (query, signal) => await parse.unitsAfter(query, signal);
  const providers = createProviderAccess(options);
  const shared = { ...options, ...options.judging, thread, providers };
  const review = createReview({ ...shared, unitsAfter, fourEyes: () => configuration().review.fourEyes });
  let latest: WorkStatus | null = null;
  const refresh = async (): Promise<WorkStatus> => {
    try {
      latest = await thread.status(fileLists(options.publishPolicy()));
      return latest;
    } catch (error) {
      latest = null;
      throw error;
    }
  };
  const taskBuild = createTaskBuild({
    ...options,
    thread,
    index: parse,
    isAutomatic: () => configuration().automatic,
    onBuilt: refresh,
  });
  const worker = createWorker(shared);
  const machineTranslation = () => {
    const { sourceLanguage: source_language, targetLanguage: target_language } = configuration();
    return { source_language, target_language, providers: providers.states() };
  };
  return {
    jobs: [
      ...review.jobs,
      ...worker.jobs,
      termMining(shared),
      taskBuild.job,
      repetitions.job,
      requalification.job,
    ],
    reports: (channel) => translationReports(thread, machineTranslation, options, channel),
    actions: [...worker.actions, updateAction(shared), ...review.actions],
    checks: [
      ...translationChecks({
        refresh,
        damage: async () => await thread.damage(),
        index: () => parse.latestStatus(),
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
        // A stop does not wait for this.
        if (isOfClosedThread(error)) return;
        logger.error({ err: error }, 'translation.db cannot be used; translations are not available');
      }
    },
    shown: shownTranslations(thread, () => configuration().sourceLanguage),
    publishing: createPublishing({ ...shared, unitsAfter }),
    close: async () => {
      await owner.calls.close().catch(() => undefined);
      await owner.close();
    },
  };
}

function shownTranslations(
  thread: CallerOf<TranslationStore>,
  sourceLanguage: () => string,
): ShownTranslations {
  return {
    read: async (request, signal) => await readTranslations(thread, sourceLanguage(), request, signal),
    search: {
      places: async (request, signal) => await answerOf(thread.targetPlaces(request, { signal }), signal),
      match: async (request, signal) => await answerOf(thread.matchTargets(request, { signal }), signal),
      inconsistent: async (request, signal) =>
        await answerOf(thread.inconsistentUnits(request, { signal }), signal),
    },
  };
}

function openWorkThread({ dataDirectory, configuration }: TranslationOptions): Thread<TranslationStore> {
  return openThread<TranslationStore>({
    purpose: 'owns translation.db',
    module: new URL('./work/translation-worker.ts', import.meta.url),
    data: {
      path: join(dataDirectory, 'translation.db'),
      targetLanguage: configuration().targetLanguage,
    } satisfies TranslationStoreData,
    limits: THREAD_LIMITS,
  });
}
