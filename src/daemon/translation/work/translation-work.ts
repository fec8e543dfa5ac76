import type { Database } from '../../database/sqlite-database.ts';
import { createChunkLeases, type ChunkLeases } from './chunk-leases.ts';
import { createEvaluatedTargets } from './evaluated-targets.ts';
import { createFrozenTargets, type FrozenTargets } from './frozen-targets.ts';
import { createHandoffExports, type HandoffExports } from './handoff-exports.ts';
import { createExportReader } from './export-targets.ts';
import { createPublicationDifferences } from './publication-differences.ts';
import { createPublications, type Publications } from './publications.ts';
import { createReviews, type Reviews } from './reviewer.ts';
import { createRepeatingContainers, type RepeatingContainers } from './repeating-containers.ts';
import { createRepeatedUnits, type RepeatedUnits } from './repeated-units.ts';
import { createRepeatedTargets, type RepeatedTargets } from './repeated-targets.ts';
import { createHandoffReader, type ReadHandoff } from './read-handoff.ts';
import { createRequalifiedTargets, type RequalifiedTargets } from './requalified-targets.ts';
import { createSupersededWordings } from './superseded-wording.ts';
import { createTaskBuilder, type TaskBuilder } from './task-builder.ts';
import { createTaskCounts } from './task-counts.ts';
import { createTaskUpdater, type TaskUpdater } from './task-updater.ts';
import { createTranslationReader, type TranslationReader } from './read-translations.ts';
import { createTargetStore } from './target-store.ts';
import { createWorkStatus, type ReadWorkStatus } from './work-status.ts';

/** The work on translations in one target language, in an open database. */
export interface TranslationWork {
  readonly builder: TaskBuilder;
  readonly leases: ChunkLeases;
  readonly updater: TaskUpdater;
  readonly reviews: Reviews;
  /** Stores evaluations. */
  readonly storeEvaluated: ReturnType<typeof createEvaluatedTargets>;
  /** Reads targets for files. */
  readonly exportTargets: ReturnType<typeof createExportReader>;
  readonly repetitions: RepeatedTargets;
  readonly repeated: RepeatedUnits;
  readonly containers: RepeatingContainers;
  readonly requalified: RequalifiedTargets;
  readonly markSuperseded: ReturnType<typeof createSupersededWordings>;
  readonly exports: HandoffExports;
  readonly frozen: FrozenTargets;
  readonly publications: Publications;
  /** Compares the texts of localized releases. */
  readonly comparePublications: ReturnType<typeof createPublicationDifferences>;
  readonly readTranslations: TranslationReader;
  readonly readHandoff: ReadHandoff;
  readonly readStatus: ReadWorkStatus;
}

export interface TranslationWorkOptions {
  readonly database: Database;
  readonly targetLanguage: string;
  /** Makes a ULID. */
  readonly createId: () => string;
}

/** Assembles the work in one target language. */
export function createTranslationWork({
  database,
  targetLanguage,
  createId,
}: TranslationWorkOptions): TranslationWork {
  const counts = createTaskCounts(database, targetLanguage);
  const targets = createTargetStore(database, targetLanguage, counts);
  const shared = { database, targetLanguage, targets, counts };
  const exports = createHandoffExports(database, targetLanguage);
  const repeated = createRepeatedUnits(database, targetLanguage);
  return {
    builder: createTaskBuilder({ ...shared, createId }),
    leases: createChunkLeases({ ...shared, createToken: createId }),
    updater: createTaskUpdater(shared),
    reviews: createReviews({ ...shared, createId }),
    storeEvaluated: createEvaluatedTargets(shared),
    exportTargets: createExportReader(database, targetLanguage, targets),
    repetitions: createRepeatedTargets({ ...shared, repeated }),
    repeated,
    containers: createRepeatingContainers(database, targetLanguage),
    requalified: createRequalifiedTargets(shared),
    markSuperseded: createSupersededWordings(shared),
    exports,
    frozen: createFrozenTargets(database, targetLanguage),
    publications: createPublications(shared),
    comparePublications: createPublicationDifferences(database, targetLanguage),
    readTranslations: createTranslationReader(shared),
    readHandoff: createHandoffReader({ ...shared, exports }),
    readStatus: createWorkStatus(database, targetLanguage),
  };
}
