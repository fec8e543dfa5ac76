import { randomBytes } from 'node:crypto';
import type { GlobLists } from '../../../platform/config/glob-filter.ts';
import { systemClock, unixSeconds } from '../../../platform/process/clock.ts';
import { createUlidFactory } from '../../../platform/process/ids.ts';
import type { UnitsAfter } from '../../parse/index/units-after.ts';
import type { FoundTranslations, TranslationsRequest } from '../../parse/index/unit-translations.ts';
import type { EvaluatedTarget } from './evaluated-targets.ts';
import type { ExportedTarget, ExportQuery } from './export-targets.ts';
import { createReviewCalls, type ReviewCalls } from './review-calls.ts';
import type { ClaimRequest, Lease, OpenChunk } from './free-chunks.ts';
import type { ChunkEnd, StoredResults } from './chunk-leases.ts';
import type { WorkerResult } from './lease-results.ts';
import type { BuildResult } from './finish-build.ts';
import type { HandoffExport } from './handoff-exports.ts';
import { createPublicationCalls, type PublicationCalls } from './publication-calls.ts';
import { createRepetitionCalls, type RepetitionCalls } from './repetition-calls.ts';
import { createRequalifyCalls, type RequalifyCalls } from './requalify-calls.ts';
import type { Handoff } from './read-handoff.ts';
import type { Provenance } from './target-rows.ts';
import type { BuildProgress } from './task-builder.ts';
import { countOpenUnits, type OpenUnits } from './open-units.ts';
import type { RunTasks } from './repeated-units.ts';
import { readTaskPage, type TaskPage, type TaskQuery } from './task-page.ts';
import type { ExaminedUpdate, TaskUpdate, UpdateDone, UpdateRefusal } from './task-update.ts';
import { createTranslationWork } from './translation-work.ts';
import { createWorkHolder } from './work-holder.ts';
import type { WorkStatus } from './work-status.ts';

/** The functions of the thread that owns translation.db. A file that cannot be used gives an error with its own code. */
export interface TranslationCalls extends PublicationCalls, RepetitionCalls, RequalifyCalls, ReviewCalls {
  status(files: GlobLists): WorkStatus;
  beginBuild(release: { readonly releaseId: string; readonly generation: number }): BuildProgress;
  /** Adds the units of a page to a build. */
  addUnits(batch: { readonly buildId: number; readonly page: UnitsAfter }): BuildProgress;
  /** Writes the status of a bounded part of the tasks of a complete build. @returns whether there may be more */
  countTasks(buildId: number): boolean;
  /** Replaces the tasks of the release before. */
  finishBuild(buildId: number): BuildResult;
  /** Deletes a bounded part of the units of superseded tasks. @returns whether there may be more */
  cleanUp(argument: null): boolean;
  tasks(query: TaskQuery): TaskPage;
  handoff(files: GlobLists): Handoff;
  /** Reads the translations of the units of a page. */
  translations(request: TranslationsRequest): FoundTranslations;
  /** Leases a chunk; expired leases are taken back first. `null` when there is nothing to do. */
  claimChunk(request: ClaimRequest): Lease | null;
  /** Reads the chunk that a claim would lease, and changes nothing. */
  peekChunk(request: ClaimRequest): OpenChunk | null;
  /** Takes back the leases of an owner that an earlier process left behind. @returns how many */
  takeBack(owner: string): number;
  /** Counts what a run of workers would do. */
  openUnits(filter: { readonly taskId: string | null; readonly maxTasks: number }): OpenUnits;
  /** Counts the units that got, and that will get, the target of an equal unit. */
  repeatedUnits(tasks: RunTasks): { readonly copied: number; readonly waiting: number };
  /** @returns false when the lease was lost: the worker must stop and write nothing */
  heartbeat(lease: { readonly token: string; readonly leaseSeconds: number }): boolean;
  storeResults(batch: {
    readonly token: string;
    readonly results: readonly WorkerResult[];
    readonly provenance: Provenance;
  }): StoredResults;
  /** @returns false when the lease was lost */
  endLease(end: { readonly token: string; readonly outcome: ChunkEnd }): boolean;
  /** Makes the failed chunks of a task, or of all tasks, free again. @returns how many */
  reopenChunks(taskId: string | null): number;
  /** Says whether an update could be made, its findings aside. */
  examineUpdate(update: TaskUpdate): ExaminedUpdate | UpdateRefusal;
  /** Makes an update, all or nothing. */
  applyUpdate(update: TaskUpdate): UpdateDone | UpdateRefusal;
  /** Reads the targets of units for a file; `null` when the tasks are not those of the release and the generation. */
  exportTargets(query: ExportQuery): readonly (ExportedTarget | null)[] | null;
  /** Records a file that was written for translators. */
  addExport(written: HandoffExport): void;
  /** Stores what an evaluation found. @returns how many targets have its findings now */
  storeEvaluated(evaluated: readonly EvaluatedTarget[]): number;
  close(argument: null): void;
}

/** The file of the thread and the language of its targets. */
export interface TranslationThreadData {
  readonly path: string;
  readonly targetLanguage: string;
}

/** Creates the functions of the thread. */
export function createCalls({ path, targetLanguage }: TranslationThreadData): TranslationCalls {
  const createId = createUlidFactory({ clock: systemClock, randomBytes });
  const holder = createWorkHolder(path, systemClock, (database) =>
    createTranslationWork({ database, targetLanguage, createId }),
  );
  const now = (): number => unixSeconds(systemClock);
  return {
    ...createPublicationCalls((call) => holder.use(call), now),
    ...createRepetitionCalls((call) => holder.use(call), now),
    ...createRequalifyCalls((call) => holder.use(call), now),
    status: (files) => holder.use(({ readStatus }) => readStatus(now(), files)),
    beginBuild: ({ releaseId, generation }) =>
      holder.use(({ builder }) => builder.begin(releaseId, generation, now())),
    addUnits: ({ buildId, page }) => holder.use(({ builder }) => builder.add(buildId, page, now())),
    countTasks: (buildId) => holder.use(({ builder }) => builder.countTasks(buildId, now())),
    finishBuild: (buildId) => holder.use(({ builder }) => builder.finish(buildId, now())),
    cleanUp: () => holder.use(({ builder }) => builder.cleanUp()),
    tasks: (query) =>
      holder.use(({ leases }, database) => {
        leases.sweep(now());
        return readTaskPage(database, query);
      }),
    handoff: (files) => holder.use(({ readHandoff }) => readHandoff(files)),
    translations: (request) => holder.use(({ readTranslations }) => readTranslations(request, now())),
    claimChunk: (request) => holder.use(({ leases }) => leases.claim(request, now())),
    peekChunk: (request) => holder.use(({ leases }) => leases.peek(request, now())),
    takeBack: (owner) => holder.use(({ leases }) => leases.takeBack(owner, now())),
    openUnits: (filter) => holder.use(({ repeated }, database) => countOpenUnits(database, filter, repeated)),
    repeatedUnits: (tasks) =>
      holder.use(({ repeated }) => ({
        copied: repeated.copied(tasks),
        waiting: repeated.waiting(tasks, now()),
      })),
    heartbeat: ({ token, leaseSeconds }) =>
      holder.use(({ leases }) => leases.heartbeat(token, leaseSeconds, now())),
    storeResults: ({ token, results, provenance }) =>
      holder.use(({ leases }) => leases.store(token, results, provenance, now())),
    endLease: ({ token, outcome }) => holder.use(({ leases }) => leases.end(token, outcome, now())),
    reopenChunks: (taskId) => holder.use(({ leases }) => leases.reopen(taskId, now())),
    examineUpdate: (update) => holder.use(({ updater }) => updater.examine(update, now())),
    applyUpdate: (update) => holder.use(({ updater }) => updater.apply(update, now())),
    addExport: (written) => {
      holder.use(({ exports }) => {
        exports.add(written);
      });
    },
    exportTargets: (query) => holder.use(({ exportTargets }) => exportTargets(query)),
    ...createReviewCalls((call) => holder.use(({ reviews }) => call(reviews)), now),
    storeEvaluated: (evaluated) => holder.use(({ storeEvaluated }) => storeEvaluated(evaluated)),
    close: () => {
      holder.close();
    },
  };
}
