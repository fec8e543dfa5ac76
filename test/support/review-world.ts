import { growBuild } from './translation-work.ts';
import type { ReadUnitsAfter } from '../../src/localization/parse/index/read/units-after.ts';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import type { Caller } from '../../src/contract/actions/control-scopes.ts';
import { createStore as createMemoryStore } from '../../src/localization/memory/memory-worker.ts';
import {
  createTranslationMemory,
  type TranslationMemory,
} from '../../src/localization/memory/translation-memory.ts';
import { unitIdText } from '../../src/localization/unit-id-text.ts';
import type { Judging } from '../../src/localization/translation/judge/judging.ts';
import type { UnitsAfterPort } from '../../src/localization/translation/judge/unit-source.ts';
import { createUnitSource } from '../../src/localization/translation/judge/unit-source.ts';
import type { JudgeOptions, TargetJudge } from '../../src/localization/translation/judge/target-judge.ts';
import {
  createPublishing,
  type Publishing,
} from '../../src/localization/translation/publishing/publishing.ts';
import { createReview, type ReviewOptions } from '../../src/localization/translation/review/review.ts';
import {
  NO_PROVENANCE,
  containerKey,
  type AuthorKind,
  type Finding,
} from '../../src/localization/translation/work/store/target-rows.ts';
import type { ReportedTask } from '../../src/localization/translation/work/store/task-page.ts';
import { openWork } from '../../src/localization/translation/work/store/work.ts';
import { openWorkDatabase } from '../../src/localization/translation/work/store/work-database.ts';
import { refreshTasks } from '../../src/localization/translation/work/store/task-counts.ts';
import { putTarget } from '../../src/localization/translation/work/store/target-store.ts';
import {
  createStore,
  type TranslationStore,
} from '../../src/localization/translation/work/translation-worker.ts';
import { TaskError, type Task, type TaskContext, type TaskResult } from '../../src/engine/tasks/task.ts';
import { blake3OfText } from '../../src/platform/hashing/text-blake3.ts';
import { createSilentLogger } from '../../src/platform/logging/logging.ts';
import { unixSeconds } from '../../src/platform/process/clock.ts';
import { createProviderAccess } from '../../src/localization/translation/worker/provider-access.ts';
import {
  workerConfiguration,
  type WorkerConfiguration,
} from '../../src/localization/translation/worker/worker-config.ts';
import { createSecretMask } from '../../src/platform/logging/secret-mask.ts';
import { callerInProcess } from './caller-in-process.ts';
import { indexRelease, openTestIndex, unitIdOf, type ModelFile } from './index-release.ts';
import { createTestEngine } from './task-engine.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { partial } from './partial.ts';

/** The sources of two containers. */
export const REVIEW_SOURCES: Readonly<Record<string, readonly string[]>> = {
  'a.json': ['おはよう', 'さようなら', 'はい'],
  'b.json': ['いいえ', 'またね'],
};

const found = (origin: Finding['origin'], check: string, waivable: boolean): Finding => ({
  check,
  origin,
  severity: 'error',
  message: `found ${check}`,
  waivable,
  source_span: null,
  target_span: null,
});

/** A target with "BAD" has an error that nobody can waive, one with "HMM" an error that a reviewer can, "TERM" one of the Glossary. */
function markerJudge(heard: JudgeOptions[]): TargetJudge {
  return {
    judge: (texts, options) => {
      heard.push(options);
      return Promise.resolve({
        by: { key: containerKey('rules', options.wasProofread), generation: 7 },
        judgements: texts.map(({ sourceText, targetText }) => ({
          findings: [
            ...(targetText.includes('BAD') ? [found('target', 'placeholders', false)] : []),
            ...(targetText.includes('HMM') ? [found('target', 'tags', true)] : []),
            ...(targetText.includes('TERM') ? [found('glossary', 'term_missing', false)] : []),
          ],
          qaIdentity: `gqa1_${sourceText}_${targetText}`,
        })),
      });
    },
  };
}

/** Providers of a daemon without any of its own. */
const PROVIDERS: object = {
  libre: { kind: 'libretranslate', url: 'http://127.0.0.1:1', allowHosts: ['127.0.0.1'] },
};

/** Files of a model release. */
function filesOf(sources: Sources): ModelFile[] {
  return Object.entries(sources).map(([destination, texts]) => ({
    destination,
    leaves: [{ units: texts.map((text, at) => [`k${at}`, text] as const) }],
  }));
}

/** The id of a unit of {@link REVIEW_SOURCES}. */
export function reviewUnit(destination: string, at: number): string {
  return unitIdText(unitIdOf(destination, `k${at}`));
}

/** A target of a test. */
export interface StoredForTest {
  readonly text: string;
  readonly authorKind?: AuthorKind;
  readonly tokenId?: string | null;
  readonly state?: 'draft' | 'translated' | 'blocked';
  /** The unit whose target it repeats. */
  readonly propagatedFrom?: Uint8Array;
}

/** Texts by their container. */
type Sources = Readonly<Record<string, readonly string[]>>;

/** Reviews with their collaborators, for tests. */
export interface ReviewWorld {
  readonly calls: TranslationStore;
  readonly memory: TranslationMemory;
  /** How the judge was asked. */
  readonly judged: readonly JudgeOptions[];
  readonly unitsAfter: UnitsAfterPort;
  /** The work as localized releases use it. */
  readonly publishing: Publishing;
  /** The folder of exchanged files. */
  readonly exchange: string;
  /** Indexes a release and builds its tasks. */
  build(releaseId: string, sources?: Sources): Promise<void>;
  /** Indexes a release whose tasks are not built. */
  indexOnly(releaseId: string, sources: Sources): void;
  tasks(): readonly ReportedTask[];
  /** The current task of a container. */
  task(destination?: string): ReportedTask;
  rows(sql: string): Record<string, unknown>[];
  /** Stores targets as a translator does, past the action. */
  store(destination: string, targets: readonly (StoredForTest | null)[]): void;
  /** Calls the action. @returns its task */
  act(body: object, caller?: Caller): Promise<Task>;
  /** Reviews the task of a container. @returns the result */
  review(
    body: object,
    options?: { readonly destination?: string; readonly tokenId?: string },
  ): Promise<TaskResult>;
  /** Runs a queued job in this thread. @throws its TaskError */
  run(
    kind: string,
    args: Readonly<Record<string, unknown>>,
    progress?: TaskContext['progress'],
  ): Promise<TaskResult>;
  write(name: string, content: string | Uint8Array): Promise<void>;
  read(name: string): Promise<Buffer>;
  /** Ends a task as an operator does. */
  closeTask(taskId: string, status: 'skipped' | 'failed' | 'published', reason?: string): void;
  /** Everything that a refused call must not change. */
  everything(): readonly (readonly Record<string, unknown>[])[];
}

/** Reviews on a database of their own, with two tasks; a real Translation Memory, and a judge that finds markers. */
export async function openReviewWorld(
  overrides: Partial<Pick<ReviewOptions, 'memory' | 'judge'>> & {
    readonly fourEyes?: boolean;
    /** By name. Default: one that nobody answers for. */
    readonly providers?: object;
  } = {},
): Promise<ReviewWorld> {
  const directory = await temporaryDirectory();
  const path = join(directory, 'translation.db');
  const exchange = join(directory, 'exchange');
  await mkdir(exchange);
  const calls = createStore({ path, targetLanguage: 'zh-Hans' });
  const memoryCalls = createMemoryStore({
    main: join(directory, 'memory.db'),
    root: join(directory, 'memory'),
  });
  const index = openTestIndex();
  onTestFinished(() => {
    calls.close();
    memoryCalls.close();
    index.close();
  });
  const readUnits: ReadUnitsAfter = (query) => {
    const page = index.unitsAfter(query);
    const items = page.items.map((each) => ({ ...each, sourceDigest: blake3OfText(each.sourceText) }));
    return { ...page, items };
  };
  const unitsAfter: UnitsAfterPort = (query) => Promise.resolve(readUnits(query));
  const indexOnly = (releaseId: string, sources: Sources): void => {
    indexRelease(index, releaseId, filesOf(sources));
  };
  const build = async (releaseId: string, sources = REVIEW_SOURCES): Promise<void> => {
    indexOnly(releaseId, sources);
    calls.finishBuild(growBuild(calls, index, { unitsAfter: readUnits }));
    while (calls.cleanUp());
  };
  await build('r1');
  const { engine, clock } = createTestEngine();
  const judged: JudgeOptions[] = [];
  let ids = 0;
  const memory: TranslationMemory = createTranslationMemory({
    thread: callerInProcess(memoryCalls),
    clock,
    createId: () => `M${String((ids += 1)).padStart(4, '0')}`,
    penaltyOf: () => 0,
  });
  const configuration: WorkerConfiguration = z
    .strictObject(workerConfiguration)
    .parse({ providers: overrides.providers ?? PROVIDERS });
  const providers = createProviderAccess({
    configuration: () => configuration,
    dataDirectory: directory,
    clock,
    random: () => 0,
    secrets: createSecretMask(),
  });
  const review = createReview({
    providers,
    engine,
    thread: callerInProcess(calls),
    judge: overrides.judge ?? markerJudge(judged),
    units: createUnitSource(unitsAfter),
    unitsAfter,
    memory: overrides.memory ?? memory,
    languages: () => ({ sourceLanguage: 'ja', targetLanguage: 'zh-Hans' }),
    fourEyes: () => overrides.fourEyes ?? false,
    exchangeRoot: () => exchange,
    dataDirectory: directory,
    clock,
    logger: createSilentLogger(),
  });
  engine.jobs.register(...review.jobs);
  const judge = overrides.judge ?? markerJudge(judged);
  const units = createUnitSource(unitsAfter);
  const publishing = createPublishing({
    thread: callerInProcess(calls),
    judge,
    units,
    unitsAfter,
    judging: partial<Judging>({
      judge,
      units,
      judgedBy: () => Promise.resolve({ key: 'rules', generation: 7 }),
    }),
    exchangeRoot: () => exchange,
    dataDirectory: directory,
  });
  const tasks = (): readonly ReportedTask[] => calls.tasks({ offset: 0, limit: 100 }).items;
  const task = (destination = 'a.json'): ReportedTask => {
    const item = tasks().find((each) => each.destination === destination);
    if (item === undefined) throw new Error(`no task of ${destination}`);
    return item;
  };
  const rows = (sql: string): Record<string, unknown>[] => {
    const database = new DatabaseSync(path, { readOnly: true });
    const all = database.prepare(sql).all();
    database.close();
    return all.map((row) => ({ ...row }));
  };
  /** Stores targets as a translator does, past the action. */
  const store = (destination: string, targets: readonly (StoredForTest | null)[]): void => {
    const database = openWorkDatabase(path);
    const now = unixSeconds(clock);
    const work = openWork(database, { targetLanguage: 'zh-Hans', createId: () => 'id', now: () => now });
    for (const [at, target] of targets.entries()) {
      if (target === null) continue;
      const sourceText = REVIEW_SOURCES[destination]?.[at] ?? '';
      const { text, authorKind = 'person', tokenId = 'translator', state = 'translated' } = target;
      const { propagatedFrom = null } = target;
      putTarget(
        work,
        {
          unitId: unitIdOf(destination, `k${at}`),
          text,
          state,
          stateBefore: null,
          sourceText,
          sourceDigest: blake3OfText(sourceText),
          authorKind,
          tokenId,
          provider: null,
          providerRunId: null,
          findings: [],
          qaIdentity: null,
          propagatedFrom,
          updatedAt: now,
        },
        NO_PROVENANCE,
      );
    }
    refreshTasks(work);
    database.close();
  };
  const act = async (body: object, caller: Caller = { tokenId: 'reviewer', allow: null }) => {
    const request = { idempotencyKey: null, correlationId: 'c', caller };
    const [action] = review.actions;
    if (action === undefined) throw new Error('there is no action');
    return (await action.accept(body, request)).task;
  };
  /** Runs a queued job in this thread. @throws its TaskError */
  const run: ReviewWorld['run'] = async (kind, args, progress = () => undefined) => {
    const job = review.jobs.find((each) => each.kind === kind);
    if (job === undefined) throw new TaskError('unknown_job', kind);
    return await job.run({
      taskId: 't',
      kind,
      args: job.arguments.parse(args),
      attempt: 1,
      reviewer: null,
      reason: null,
      signal: new AbortController().signal,
      log: () => undefined,
      progress,
      commit: async (section) => await section(),
    });
  };
  return {
    calls,
    memory,
    judged,
    build,
    indexOnly,
    unitsAfter,
    publishing,
    tasks,
    task,
    rows,
    store,
    act,
    run,
    exchange,
    /** Ends a task as an operator does. */
    closeTask: (taskId: string, status: 'skipped' | 'failed' | 'published', reason?: string) => {
      const database = new DatabaseSync(path);
      database
        .prepare('UPDATE task SET stored_status = ?1, status = ?1, reason = ?3 WHERE task_id = ?2')
        .run(status, taskId, reason ?? null);
      database.close();
    },
    /** Reviews the task of a container. */
    review: async (body: object, { destination = 'a.json', tokenId = 'reviewer' } = {}) =>
      (await act({ task_id: task(destination).task_id, reviewer: 'Rin', ...body }, { tokenId, allow: null }))
        .result ?? {},
    write: async (name: string, content: string | Uint8Array) => {
      await writeFile(join(exchange, name), content);
    },
    read: async (name: string) => await readFile(join(exchange, name)),
    /** Everything that a refused call must not change. */
    everything: () =>
      [
        'task',
        'target',
        'target_history',
        'claim',
        'hold',
        'waiver',
        'glossary_override',
        'chunk',
        'proofread_container',
        'review_row',
      ].map((table) => rows(`SELECT * FROM ${table}`)),
  };
}
