import { noUnits } from '../domain/translation/unit-state.ts';
import type { HashPool } from '../platform/hashing/digests.ts';
import type { DaemonBase } from './daemon-base.ts';
import { openBuilders } from './localized/builders.ts';
import type { SearchMemory } from './localized/catalogs/catalog-rewriter.ts';
import { createFreezer } from './localized/freeze/freezer.ts';
import { createLocalized, type Localized } from './localized/localized.ts';
import { PATCHER_VERSION } from './localized/patch/patcher-version.ts';
import { PARSE_FULL_JOB, PARSE_JOB } from './parse/parse-jobs.ts';
import type { Releases } from './releases/releases.ts';
import type { DaemonConfiguration } from './settings/config.ts';
import { exchangeRootOf } from './settings/exchange-config.ts';
import type { TaskEngine } from './tasks/task-engine.ts';
import { PROOFREAD_IMPORT_JOB } from './translation/review/review-jobs.ts';
import { REQUALIFY_JOB, TASK_BUILD_JOB } from './translation/translation-jobs.ts';
import { WORKER_RUN_JOB } from './translation/worker/worker-job.ts';
import type { TextParts } from './text-parts.ts';

/** Jobs that change texts, after which a localized release may be due. */
const TRIGGERS = [TASK_BUILD_JOB, REQUALIFY_JOB, WORKER_RUN_JOB, PROOFREAD_IMPORT_JOB].map(
  ({ kind }) => kind,
);

/** Jobs that make index and tasks those of the current release. */
const PREPARING = [PARSE_JOB, PARSE_FULL_JOB, TASK_BUILD_JOB];

/** Whether a task of a kind runs or waits. */
function isLive(engine: Pick<TaskEngine, 'runningSince' | 'historyOf'>, kind: string): boolean {
  return engine.runningSince(kind) !== null || engine.historyOf(kind).nextRunAt !== null;
}

/** Assembles the localized channel over releases and texts; nothing runs yet. */
export function createLocalizedParts(
  { configuration, options, settings, database, writer }: DaemonBase,
  {
    engine,
    pool,
    releases,
    texts,
  }: {
    readonly engine: TaskEngine;
    readonly pool: HashPool;
    readonly releases: Releases;
    readonly texts: Pick<TextParts, 'parse' | 'translation'>;
  },
): Localized {
  const current = (): DaemonConfiguration => settings.current().configuration;
  const dataDirectory = configuration.data.dir;
  const exchangeRoot = (): string => exchangeRootOf(current().exchange, dataDirectory);
  const { publishing } = texts.translation;
  const memory: SearchMemory = { last: null };
  return createLocalized({
    clock: options.clock,
    failpoints: options.failpoints,
    database,
    engine,
    pool,
    writer,
    root: configuration.snapshot.root,
    releases: releases.repository,
    catalogs: releases.catalogs,
    objects: releases.objects,
    publisher: releases.publisher,
    dataDirectory,
    exchangeRoot,
    patchRoot: exchangeRoot,
    texts: publishing,
    freezer: createFreezer({ parse: texts.parse, publishing, patcherVersion: PATCHER_VERSION }),
    isPreparing: () => PREPARING.some(({ kind }) => isLive(engine, kind)),
    policy: () => current().localized,
    configuration: () => current().localized,
    work: () => {
      const work = texts.translation.latestStatus();
      return {
        built: work?.built ?? null,
        index: texts.parse.latestStatus(),
        units: work?.units ?? noUnits(),
      };
    },
    refreshTexts: async () => await texts.translation.readStatus(),
    triggers: TRIGGERS,
    logger: options.logger,
    openBuilders: async () =>
      await openBuilders({
        parse: () => current().parse,
        catalogs: () => current().localized.catalogs,
        dataDirectory,
        clock: options.clock,
        memory,
      }),
  });
}
