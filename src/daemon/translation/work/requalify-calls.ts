import type { JudgedBy } from './judged-by.ts';
import type { RequalifiedBatch, RequalifiedCounts, RequalifyPage } from './requalified-targets.ts';
import type { SupersededPart, SupersededQuery } from './superseded-wording.ts';
import type { TranslationWork } from './translation-work.ts';

/** The functions of the thread for judging stored targets again. */
export interface RequalifyCalls {
  /** How many tasks have targets that were judged by other rules or another Glossary. */
  tasksToRequalify(key: string): number;
  /** Whether there is such a task. */
  mustRequalify(key: string): boolean;
  requalifyPage(from: { readonly by: JudgedBy; readonly fromTask: number }): RequalifyPage | null;
  /** @returns `null` when other tasks replaced those of the page */
  storeRequalified(batch: RequalifiedBatch): RequalifiedCounts | null;
  /** Marks targets that came from a superseded record of the Translation Memory. */
  markSuperseded(query: SupersededQuery): SupersededPart;
}

/** Creates the functions. @param use opens the database when it is needed */
export function createRequalifyCalls(
  use: <T>(call: (work: TranslationWork) => T) => T,
  now: () => number,
): RequalifyCalls {
  return {
    tasksToRequalify: (key) => use(({ requalified }) => requalified.waiting(key)),
    mustRequalify: (key) => use(({ requalified }) => requalified.isWaiting(key)),
    requalifyPage: ({ by, fromTask }) => use(({ requalified }) => requalified.page(by, fromTask)),
    storeRequalified: (batch) => use(({ requalified }) => requalified.store(batch, now())),
    markSuperseded: (query) => use(({ markSuperseded }) => markSuperseded(query, now())),
  };
}
