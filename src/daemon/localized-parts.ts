import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { noReleaseUnits } from '../domain/translation/expected-outcomes.ts';
import type { HashPool } from '../platform/hashing/digests.ts';
import { isPreparing } from './conditions/following.ts';
import type { DaemonBase } from './daemon-base.ts';
import { openBuilders } from './localized/builders.ts';
import type { SearchMemory } from './localized/catalogs/catalog-rewriter.ts';
import { createFreezer } from './localized/freeze/freezer.ts';
import { createLocalized, type Localized } from './localized/localized.ts';
import { PATCHER_VERSION } from './localized/patch/patcher-version.ts';
import type { Releases } from './releases/releases.ts';
import type { DaemonConfiguration } from './settings/config.ts';
import { exchangeRootOf } from './settings/exchange-config.ts';
import type { TaskEngine } from './tasks/task-engine.ts';
import { PROOFREAD_IMPORT_JOB } from './translation/review/review-jobs.ts';
import { REQUALIFY_JOB, TASK_BUILD_JOB } from './translation/translation-jobs.ts';
import { WORKER_RUN_JOB } from './translation/worker/worker-job.ts';
import { originOfLocalized } from './upstream/upstream-config.ts';
import type { TextParts } from './text-parts.ts';

/** Jobs that change texts, after which a localized release may be due. */
const TRIGGERS = [TASK_BUILD_JOB, REQUALIFY_JOB, WORKER_RUN_JOB, PROOFREAD_IMPORT_JOB].map(
  ({ kind }) => kind,
);

/** Actions by which people change texts. */
const EDITS = ['translation-task-update', 'translation-proofread'];

/** Assembles the localized channel over releases and texts; nothing runs yet. */
export function createLocalizedParts(
  { configuration, options, settings, database, writer, closers }: DaemonBase,
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
  const memory: SearchMemory = { last: null, listPath: join(dataDirectory, 'catalog-search.list') };
  // An earlier process has forgotten its search, and the list has a line for each file of a release.
  void rm(memory.listPath, { force: true }).catch(() => undefined);
  const localized = createLocalized({
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
    isPreparing: () => isPreparing(engine),
    policy: () => current().localized,
    configuration: () => current().localized,
    mirroredFrom: () => originOfLocalized(current().upstream),
    work: () => {
      const work = texts.translation.latestStatus();
      return {
        built: work?.built ?? null,
        index: texts.parse.latestStatus(),
        units: work ?? noReleaseUnits(),
      };
    },
    refreshTexts: async () => await texts.translation.readStatus(),
    triggers: TRIGGERS,
    edits: EDITS,
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
  closers.add('publishing by itself', async () => await localized.automation.stop());
  return localized;
}
