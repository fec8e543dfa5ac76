import * as build from './build/task-builder.ts';
import * as leases from './leases/chunk-leases.ts';
import * as freeze from './publication/frozen-targets.ts';
import * as fileReview from './review/file-review.ts';
import * as taskCheck from './review/task-check.ts';
import type { Database } from '../../../engine/database/sqlite-database.ts';
import { findFreeChunk } from './leases/free-chunks.ts';
import { comparePublications } from './publication/publication-differences.ts';
import {
  addPublishedContainers,
  addPublishedTexts,
  beginPublication,
  cleanUpPublications,
  compareContainers,
  countDifferences,
  forgetPublication,
  hasPublication,
  holdDifferences,
  markPublished,
  unknownPatchKeys,
} from './publication/publications.ts';
import { addExport, exportTargets } from './read/exported-targets.ts';
import { handoff } from './read/read-handoff.ts';
import { inconsistentUnits } from './read/inconsistent-units.ts';
import { translations } from './read/read-translations.ts';
import { matchTargets, targetPlaces } from './read/search-targets.ts';
import { trustedTargets } from './read/trusted-targets.ts';
import { suggestedChunk } from './read/suggested-chunk.ts';
import { status } from './read/work-status.ts';
import { storeEvaluated } from './repetition/evaluated-targets.ts';
import { repetitionPage, storeRepetitions } from './repetition/repeated-targets.ts';
import {
  openUnits,
  repeatedUnits,
  withheldUnits,
  repeatingContainers,
  setRepeating,
} from './repetition/repeated-units.ts';
import {
  mustRequalify,
  requalifyPage,
  storeRequalified,
  tasksToRequalify,
} from './repetition/requalified-targets.ts';
import { markSuperseded } from './repetition/superseded-wording.ts';
import { removeRows, reviewPage, storeReviewJudgements } from './review/review-rows.ts';
import { applyReview, beginReview, endReview } from './review/reviewer.ts';
import { currentTasks } from './store/builds.ts';
import { sweepRepetitions, sweepRepetitionsAgain, wantsRepetitions } from './store/repetition-queue.ts';
import { countChosen, readTaskPage, type TaskPage, type TaskRequest } from './store/task-page.ts';
import { openWork, type Work, type WorkOptions } from './store/work.ts';
import { applyUpdate, examineUpdate } from './update/task-updater.ts';
import { undoTargets } from './update/undo-targets.ts';

/** Reads a page of tasks. Leases that have expired are taken back first. */
function tasks(work: Work, query: TaskRequest): TaskPage {
  leases.sweepLeases(work);
  return readTaskPage(work, query);
}

/** What can be done with the work, each with the work as its first argument. One that stores targets gives the `event` of it. */
const OPERATIONS = {
  ...build,
  ...leases,
  peekChunk: findFreeChunk,
  suggestedChunk,
  examineUpdate,
  applyUpdate,
  undoTargets,
  beginReview,
  reviewPage,
  storeReviewJudgements,
  applyReview,
  endReview,
  ...fileReview,
  ...taskCheck,
  storeEvaluated,
  currentTasks,
  wantsRepetitions,
  sweepRepetitions,
  sweepRepetitionsAgain,
  repetitionPage,
  storeRepetitions,
  openUnits,
  repeatedUnits,
  withheldUnits,
  repeatingContainers,
  setRepeating,
  tasksToRequalify,
  mustRequalify,
  requalifyPage,
  storeRequalified,
  markSuperseded,
  exportTargets,
  addExport,
  handoff,
  translations,
  targetPlaces,
  matchTargets,
  inconsistentUnits,
  trustedTargets,
  status,
  countChosen,
  tasks,
  ...freeze,
  beginPublication,
  forgetPublication,
  hasPublication,
  compareContainers,
  unknownPatchKeys,
  addPublishedTexts,
  addPublishedContainers,
  cleanUpPublications,
  markPublished,
  holdDifferences,
  countDifferences,
  comparePublications,
};

/** The operations of open work. */
export type TranslationWork = {
  readonly [Name in keyof typeof OPERATIONS]: (typeof OPERATIONS)[Name] extends (
    work: Work,
    ...rest: infer Rest
  ) => infer Result
    ? (...rest: Rest) => Result
    : never;
};

/** Begins the work in one target language in an open database. The collected targets of interrupted reviews are forgotten. */
export function createTranslationWork(database: Database, options: WorkOptions): TranslationWork {
  const work = openWork(database, options);
  removeRows(work, null);
  const operations: Readonly<Record<string, (work: Work, argument: never) => unknown>> = OPERATIONS;
  return Object.fromEntries(
    Object.entries(operations).map(([name, operation]) => [
      name,
      (argument: never) => operation(work, argument),
    ]),
  ) as unknown as TranslationWork;
}
