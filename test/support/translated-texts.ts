import { growBuild } from './translation-work.ts';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { onTestFinished } from 'vitest';
import type { ParseIndex } from '../../src/localization/parse/index/parse-index.ts';
import type {
  Judgement,
  TargetJudge,
  TextToJudge,
} from '../../src/localization/translation/judge/target-judge.ts';
import { createUnitSource, type UnitSource } from '../../src/localization/translation/judge/unit-source.ts';
import type { ReportedTask } from '../../src/localization/translation/work/store/task-page.ts';
import {
  containerKey,
  type Finding,
  type JudgedBy,
} from '../../src/localization/translation/work/store/target-rows.ts';
import type {
  TaskUpdate,
  UpdateDone,
  UpdateRefusal,
  UpdateResult,
} from '../../src/localization/translation/work/store/task-update.ts';
import {
  createStore,
  type TranslationStore,
  type TranslationThread,
} from '../../src/localization/translation/work/translation-worker.ts';
import { callerInProcess } from './caller-in-process.ts';
import { indexRelease, openTestIndex, sha256, unitIdOf } from './index-release.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** The texts of each file, by key. A file of a release is one task. */
export type TestTexts = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The row of a stored target. */
export interface TargetRow {
  readonly target_text: string;
  readonly state: string;
  readonly state_before: string | null;
  readonly revision: number;
  readonly propagated_from: Uint8Array | null;
  readonly findings: string;
}

/** A parse index and translation.db, whose thread runs in this one. */
export interface TranslatedTexts {
  readonly calls: TranslationStore;
  readonly thread: TranslationThread;
  readonly index: ParseIndex;
  readonly units: UnitSource;
  /** Indexes a release and builds its tasks. */
  build(releaseId: string, texts: TestTexts): void;
  /** Stores a target of a person, with the findings of a judge. */
  type(file: string, key: string, text: string, update?: TypedUpdate): UpdateDone | UpdateRefusal;
  target(file: string, key: string): TargetRow | null;
  tasks(): readonly ReportedTask[];
  rows(sql: string): Record<string, unknown>[];
  /** Changes rows as no call of the thread does. */
  run(sql: string): void;
}

/** An update, with what a test says about its one result. */
export type TypedUpdate = Partial<Omit<TaskUpdate, 'results'>> & { readonly result?: Partial<UpdateResult> };

/** The judgements beside a generation of the Glossary. */
export function judgedByGeneration(generation: number, wasProofread = false): JudgedBy {
  return { key: containerKey(`key-${generation}`, wasProofread), generation };
}

/** A finding that blocks. */
export function blockingFinding(check: string, origin: Finding['origin'] = 'target'): Finding {
  return {
    check,
    origin,
    severity: 'error',
    message: `found ${check}`,
    waivable: origin === 'target',
    source_span: null,
    target_span: null,
  };
}

/** A judge that asks a function for the findings of each text. */
export function judgeOf(
  findingsOf: (text: TextToJudge) => readonly Finding[],
  generation: () => number = () => 1,
): TargetJudge {
  return {
    judge: (texts, { wasProofread }) =>
      Promise.resolve({
        by: judgedByGeneration(generation(), wasProofread),
        judgements: texts.map((text): Judgement => ({
          findings: findingsOf(text),
          qaIdentity: `gqa1_${text.sourceText}_${text.targetText}`,
        })),
      }),
  };
}

/** Opens both databases in a new folder; they close when the test ends. */
export async function openTranslatedTexts(): Promise<TranslatedTexts> {
  const path = join(await temporaryDirectory(), 'translation.db');
  const calls = createStore({ path, targetLanguage: 'zh-Hans' });
  const index = openTestIndex();
  onTestFinished(() => {
    calls.close();
    index.close();
  });
  let current: TestTexts = {};
  const withDatabase = <T>(use: (database: DatabaseSync) => T): T => {
    const database = new DatabaseSync(path);
    try {
      return use(database);
    } finally {
      database.close();
    }
  };
  const rows: TranslatedTexts['rows'] = (sql) =>
    withDatabase((database) =>
      database
        .prepare(sql)
        .all()
        .map((row) => ({ ...row })),
    );
  const tasks = (): readonly ReportedTask[] => calls.tasks({ offset: 0, limit: 1000 }).items;
  return {
    calls,
    thread: callerInProcess(calls),
    index,
    units: createUnitSource((query) => Promise.resolve(index.unitsAfter(query))),
    build: (releaseId, texts) => {
      current = texts;
      indexRelease(
        index,
        releaseId,
        Object.entries(texts).map(([destination, units]) => ({
          destination,
          leaves: [{ units: Object.entries(units) }],
        })),
      );
      calls.finishBuild(growBuild(calls, index));
      while (calls.cleanUp());
    },
    type: (file, key, text, { result, ...update } = {}) => {
      const task = tasks().find(({ destination }) => destination === file);
      const sourceText = current[file]?.[key] ?? '';
      return calls.applyUpdate({
        ...EMPTY_UPDATE,
        taskId: task?.task_id ?? '',
        ...update,
        results: [
          {
            unitId: unitIdOf(file, key),
            sourceText,
            sourceDigest: sha256(sourceText),
            text,
            pointer: '/translation_results/0',
            findings: [],
            qaIdentity: `gqa1_${sourceText}_${text}`,
            judgedBy: judgedByGeneration(1),
            ...result,
          },
        ],
      });
    },
    target: (file, key) => {
      const id = unitIdOf(file, key).toString('hex');
      const [row] = rows(`SELECT * FROM target WHERE unit_id = x'${id}'`);
      return (row ?? null) as TargetRow | null;
    },
    tasks,
    rows,
    run: (sql) => {
      withDatabase((database) => {
        database.exec(sql);
      });
    },
  };
}

/** An update without results. */
export const EMPTY_UPDATE: Omit<TaskUpdate, 'taskId'> = {
  status: 'in_progress',
  results: [],
  failureReason: null,
  providerRunId: null,
  provider: null,
  judgedFor: null,
  override: null,
  workerId: null,
  leaseSeconds: null,
  reviewer: null,
  reason: null,
  force: false,
  tokenId: 'token-1',
  expect: [],
  waive: [],
  hold: [],
  isTrial: false,
};
