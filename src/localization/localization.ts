import { noReleaseUnits } from '../domain/translation/expected-outcomes.ts';
import type { DoctorCheck } from '../engine/check.ts';
import type { Database } from '../engine/database/sqlite-database.ts';
import type { DefinedAction } from '../engine/define-action.ts';
import type { DefinedReport } from '../engine/define-report.ts';
import { createEvents } from '../engine/events/events.ts';
import type { EventSubscriber } from '../engine/events/event-subscriber.ts';
import type { Setting } from '../engine/setting.ts';
import type { Job } from '../engine/tasks/job.ts';
import type { TaskEngine } from '../engine/tasks/task-engine.ts';
import type { Failpoints } from '../platform/files/failpoints.ts';
import type { HashPool } from '../platform/hashing/digests.ts';
import type { Logger } from '../platform/logging/logging.ts';
import type { SecretMask } from '../platform/logging/secret-mask.ts';
import type { Clock } from '../platform/process/clock.ts';
import { localizedStatusOf } from './localized/localized-status.ts';
import type { ReleaseRepository } from '../releases/records/release-repository.ts';
import type { Releases } from '../releases/releases.ts';
import type { SnapshotWriter } from '../snapshot/snapshot-writer.ts';
import { isPreparing } from './following.ts';
import { createGlossary, type Glossary } from './glossary/glossary.ts';
import type { GlossaryConfiguration } from './glossary/glossary-config.ts';
import type { FollowedTexts } from './localized/automation/follow-rules.ts';
import { createBuilders } from './localized/builders.ts';
import { createFreezer } from './localized/freeze/freezer.ts';
import { openLocalized, type Localized } from './localized/localized.ts';
import type { LocalizedConfiguration } from './localized/localized-config.ts';
import { createMemory, type Memory } from './memory/memory.ts';
import type { MemoryConfiguration } from './memory/memory-config.ts';
import { openParse, parseSubscriber, type Parse } from './parse/parse.ts';
import type { ReleaseSource } from './parse/parse-task.ts';
import type { ParseConfiguration } from './parse/rules/parse-config.ts';
import type { ReadBoxes } from './parse/index/read/unit-translations.ts';
import { createJudging } from './translation/judge/judging.ts';
import { createTextBoxes } from './translation/judge/text-boxes.ts';
import { PROOFREAD_IMPORT_JOB } from './translation/review/review-jobs.ts';
import type { TextEvent } from './text-events.ts';
import { createTranslation, type Translation } from './translation/translation.ts';
import type { ReportedChannel } from './translation/translation-reports.ts';
import type { TranslationConfiguration } from './translation/translation-config.ts';
import { REQUALIFY_JOB, TASK_BUILD_JOB } from './translation/translation-jobs.ts';
import { WORKER_RUN_JOB } from './translation/worker/worker-job.ts';

/** The settings of localization; they can change while the daemon runs, except for the languages. */
export interface LocalizationSettings {
  readonly parse: ParseConfiguration;
  readonly memory: MemoryConfiguration;
  readonly glossary: GlossaryConfiguration;
  readonly translation: TranslationConfiguration;
  readonly localized: LocalizedConfiguration;
  readonly exchangeRoot: string;
  /** The origin that the localized channel is copied from; `null` when it is made here. */
  readonly mirroredFrom: string | null;
}

/** Everything between the text of an official release and the localized release. */
export interface Localization {
  readonly parse: Parse;
  readonly translation: Translation;
  readonly memory: Memory;
  readonly glossary: Glossary;
  readonly localized: Localized;
  readonly jobs: readonly Job[];
  readonly reports: readonly DefinedReport[];
  readonly actions: readonly DefinedAction[];
  readonly checks: readonly DoctorCheck[];
  /** Queues the runs that bring the index, the tasks and the localized release up to date. Called at the start and after a reload. */
  catchUp(): Promise<void>;
}

/** Jobs that change texts, after which a localized release may be due. */
const TRIGGERS = [TASK_BUILD_JOB, REQUALIFY_JOB, WORKER_RUN_JOB, PROOFREAD_IMPORT_JOB].map(
  ({ kind }) => kind,
);

const EDITS = ['translation-task-update', 'translation-proofread'];

/** What follows a release that becomes current: its text is parsed. */
export function localizationSubscribers(settings: Setting<LocalizationSettings>): readonly EventSubscriber[] {
  return [parseSubscriber(() => settings.current().parse)];
}

interface LocalizationOptions {
  readonly settings: Setting<LocalizationSettings>;
  /** The private folder of the daemon. */
  readonly dataDirectory: string;
  readonly snapshotRoot: string;
  readonly database: Database;
  readonly engine: TaskEngine;
  readonly releases: Releases;
  readonly writer: SnapshotWriter;
  readonly pool: HashPool;
  readonly createId: () => string;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly secrets: SecretMask;
  readonly failpoints: Failpoints;
  /** Closes the parts at the end, the last one first. */
  readonly closers: { add(part: string, close: () => Promise<void>): void };
  /** Of Slipway; exported files name it. */
  readonly version: string;
}

/** Opens localization; nothing runs and no database is open yet. */
export function openLocalization(options: LocalizationOptions): Localization {
  const texts = openTexts(options);
  const { parse, translation, memory, glossary } = texts;
  const localized = openChannel(options, texts);
  const { closers } = options;
  closers.add('parse index', async () => await parse.close());
  closers.add('Translation Memory', async () => await memory.close());
  closers.add('Glossary', async () => await glossary.close());
  closers.add('translations', async () => await translation.close());
  closers.add('automatic publishing', async () => await localized.automation.stop());
  return {
    parse,
    translation,
    memory,
    glossary,
    localized,
    jobs: [parse, translation, memory, glossary, localized].flatMap(({ jobs }) => jobs),
    reports: [
      ...parse.reports(translation.shown, texts.readBoxes),
      ...translation.reports(reportedChannel(options, localized)),
      ...memory.reports,
      ...glossary.reports,
    ],
    actions: [translation, memory, glossary, localized].flatMap(({ actions }) => actions),
    checks: [parse.check, ...translation.checks, memory.check, glossary.check, ...localized.checks],
    catchUp: async () => {
      await parse.catchUp();
      await translation.catchUp();
      await localized.automation.catchUp();
    },
  };
}

interface Texts {
  readonly parse: Parse;
  readonly memory: Memory;
  readonly glossary: Glossary;
  readonly translation: Translation;
  readonly readBoxes: ReadBoxes;
}

function openTexts(options: LocalizationOptions): Texts {
  const { settings, snapshotRoot, releases } = options;
  const { repository } = releases;
  const events = createEvents<TextEvent>();
  const shared = { ...options, exchangeRoot: () => settings.current().exchangeRoot, events };
  const parse = openParse({
    ...shared,
    releases: releaseSource(snapshotRoot, repository),
    configuration: () => settings.current().parse,
  });
  const memory = createMemory({
    ...shared,
    configuration: () => settings.current().memory,
    pair: () => {
      const { sourceLanguage, targetLanguage } = settings.current().translation;
      return { source_language: sourceLanguage, target_language: targetLanguage };
    },
  });
  const glossary = createGlossary({
    ...shared,
    configuration: () => settings.current().glossary,
    languages: () => settings.current().translation,
  });
  const judging = createJudging({
    ...shared,
    unitsAfter: async (query, signal) => await parse.unitsAfter(query, signal),
    glossary,
    memory: memory.translationMemory,
    languages: () => settings.current().translation,
    configuration: () => settings.current().parse,
    termMissing: () => settings.current().glossary.termMissing,
  });
  const translation = createTranslation({
    ...shared,
    parse,
    judging,
    glossary,
    terms: glossary.drafts,
    memory: memory.translationMemory,
    languages: () => settings.current().translation,
    configuration: () => settings.current().translation,
    openConflicts: async (signal) => await memory.openConflicts(signal),
    publishPolicy: () => settings.current().localized,
    officialReleaseId: () => repository.current('official')?.release_id ?? null,
  });
  const readBoxes = createTextBoxes(() => settings.current().localized.boxes, judging.rules);
  return { parse, memory, glossary, translation, readBoxes };
}

function openChannel(options: LocalizationOptions, { parse, translation }: Texts): Localized {
  const { settings, dataDirectory, snapshotRoot, engine, releases, clock } = options;
  const { publishing } = translation;
  const exchangeRoot = (): string => settings.current().exchangeRoot;
  return openLocalized({
    ...options,
    root: snapshotRoot,
    releases: releases.repository,
    catalogs: releases.catalogs,
    objects: releases.objects,
    publisher: releases.publisher,
    exchangeRoot,
    patchRoot: exchangeRoot,
    texts: publishing,
    freezer: createFreezer(parse, publishing),
    isPreparing: () => isPreparing(engine),
    policy: () => settings.current().localized,
    configuration: () => settings.current().localized,
    mirroredFrom: () => settings.current().mirroredFrom,
    work: () => followedWork(parse, translation),
    refreshTexts: async () => await translation.readStatus(),
    triggers: TRIGGERS,
    edits: EDITS,
    openBuilders: createBuilders({
      parse: () => settings.current().parse,
      catalogs: () => settings.current().localized.catalogs,
      dataDirectory,
      clock,
    }),
  });
}

function reportedChannel({ settings, releases }: LocalizationOptions, localized: Localized): ReportedChannel {
  return {
    publishBlockers: localized.publishBlockers,
    localizedStatus: () => {
      const { state, message, since } = localized.automation.status();
      return {
        ...localizedStatusOf(releases.repository, localized.rollbackOf),
        mirrored_from: settings.current().mirroredFrom,
        automation: { state, message, since },
      };
    },
  };
}

function releaseSource(root: string, repository: ReleaseRepository): ReleaseSource {
  return {
    root,
    current: () => {
      const current = repository.current('official');
      if (current === null || current.snapshot_id === null) return null;
      return { releaseId: current.release_id, snapshotId: current.snapshot_id };
    },
    kept: () => repository.kept().map(({ release_id }) => release_id),
  };
}

function followedWork(parse: Parse, translation: Translation): FollowedTexts {
  const work = translation.latestStatus();
  return { built: work?.built ?? null, index: parse.latestStatus(), units: work ?? noReleaseUnits() };
}
