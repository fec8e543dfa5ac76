import type { GlobLists } from '../../../platform/config/glob-filter.ts';
import type { Database } from '../../../engine/database/sqlite-database.ts';
import type { FoundTranslations, TranslationsRequest } from '../../parse/index/read/unit-translations.ts';
import { createTaskBuilder, type TaskBuilder } from './build/task-builder.ts';
import { createChunkLeases, type ChunkLeases } from './leases/chunk-leases.ts';
import { createFrozenTargets, type FrozenTargets } from './publication/frozen-targets.ts';
import { createPublicationDifferences, type ComparedTexts } from './publication/publication-differences.ts';
import { createPublications, type Publications } from './publication/publications.ts';
import { createExportReader, type ExportTargets } from './read/export-targets.ts';
import { createHandoffExports, type HandoffExports } from './read/handoff-exports.ts';
import { createHandoffReader, type Handoff } from './read/read-handoff.ts';
import { createTranslationReader } from './read/read-translations.ts';
import { createWorkStatus, type WorkStatus } from './read/work-status.ts';
import { createEvaluatedTargets, type EvaluatedTargets } from './repetition/evaluated-targets.ts';
import { createRepeatedTargets, type RepeatedTargets } from './repetition/repeated-targets.ts';
import { createRepeatedUnits, type RepeatedUnits } from './repetition/repeated-units.ts';
import { createRepeatingContainers, type RepeatingContainers } from './repetition/repeating-containers.ts';
import { createRequalifiedTargets, type RequalifiedTargets } from './repetition/requalified-targets.ts';
import { createSupersededWordings, type SupersededWordings } from './repetition/superseded-wording.ts';
import { createReviews, type Reviews } from './review/reviewer.ts';
import { readTaskPage, type TaskPage, type TaskQuery } from './store/task-page.ts';
import { createWorkTools } from './store/work-tools.ts';
import { createTaskUpdater, type TaskUpdater } from './update/task-updater.ts';

/** The work on translations in one target language, in an open database. A method that stores targets says in `event` what has changed. */
export interface TranslationWork
  extends
    TaskBuilder,
    ChunkLeases,
    TaskUpdater,
    Reviews,
    EvaluatedTargets,
    RepeatedTargets,
    RepeatedUnits,
    RepeatingContainers,
    RequalifiedTargets,
    SupersededWordings,
    ExportTargets,
    HandoffExports,
    FrozenTargets,
    Publications,
    ComparedTexts {
  /** @param files the files that a localized release has */
  status(files: GlobLists): WorkStatus;
  tasks(query: TaskQuery): TaskPage;
  /** Reads what can be handed to translators. @param files as for {@link status}; blocked units of other files are last */
  handoff(files: GlobLists): Handoff;
  /** Reads the translations of the units of a page. */
  translations(request: TranslationsRequest): FoundTranslations;
}

/** Assembles the work in one target language. */
export function createTranslationWork(
  database: Database,
  options: {
    readonly targetLanguage: string;
    readonly createId: () => string;
    /** Unix seconds. */
    readonly now: () => number;
  },
): TranslationWork {
  const tools = createWorkTools(database, options);
  const leases = createChunkLeases(tools);
  const repeated = createRepeatedUnits(tools);
  const exports = createHandoffExports(tools);
  return {
    ...createTaskBuilder(tools),
    ...leases,
    ...createTaskUpdater(tools),
    ...createReviews(tools),
    ...createEvaluatedTargets(tools),
    ...createRepeatedTargets(tools, repeated.note),
    ...repeated.counts,
    ...createRepeatingContainers(tools),
    ...createRequalifiedTargets(tools),
    ...createSupersededWordings(tools),
    ...createExportReader(tools),
    ...exports,
    ...createFrozenTargets(tools),
    ...createPublications(tools),
    ...createPublicationDifferences(tools),
    status: createWorkStatus(tools),
    tasks: (query) => {
      leases.sweepLeases();
      return readTaskPage(database, query);
    },
    handoff: createHandoffReader(tools, exports),
    translations: createTranslationReader(tools),
  };
}
