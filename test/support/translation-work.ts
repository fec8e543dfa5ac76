import { onTestFinished } from 'vitest';
import { openWorkDatabase } from '../../src/daemon/translation/work/work-database.ts';
import type { Lease } from '../../src/daemon/translation/work/free-chunks.ts';
import type { WorkerResult } from '../../src/daemon/translation/work/lease-results.ts';
import type { BuildResult } from '../../src/daemon/translation/work/finish-build.ts';
import {
  createTranslationWork,
  type TranslationWork,
} from '../../src/daemon/translation/work/translation-work.ts';
import type { ParseIndex } from '../../src/daemon/parse/index/parse-index.ts';
import type { Database } from '../../src/daemon/database/sqlite-database.ts';
import { openTestIndex } from './index-release.ts';

/** The work in one target language with its parse index, for tests. */
export interface TestWork extends TranslationWork {
  readonly database: Database;
  readonly index: ParseIndex;
}

/** Opens both databases; they close when the test ends. */
export function openTestWork(path = ':memory:'): TestWork {
  const database = openWorkDatabase(path);
  const index = openTestIndex();
  onTestFinished(() => {
    database.close();
    index.close();
  });
  let ids = 0;
  const createId = (): string => `id${String((ids += 1)).padStart(6, '0')}`;
  return { ...createTranslationWork({ database, targetLanguage: 'zh-Hans', createId }), database, index };
}

/** Builds the tasks of the reported release, with pages of `limit` units. */
export function buildTasks({ builder, index }: TestWork, now: number, limit = 3): BuildResult {
  const { release_id: releaseId, generation } = index.status();
  let progress = builder.begin(String(releaseId), generation, now);
  while (!progress.isComplete) {
    const page = index.unitsAfter({ from: progress.from, limit, maxCharacters: 10_000 });
    progress = builder.add(progress.buildId, page, now);
  }
  const result = builder.finish(progress.buildId, now);
  while (builder.cleanUp());
  return result;
}

/** A result of a worker for every unit of a lease. */
export function resultsOf(
  lease: Lease,
  text: (at: number) => string,
  source: (at: number) => string,
): WorkerResult[] {
  return lease.units.map((unit, at) => ({
    revision: unit.revision,
    judgedBy: { key: 'rules', generation: null },
    target: {
      unitId: unit.unitId,
      text: text(at),
      propagatedFrom: null,
      sourceText: source(at),
      sourceDigest: unit.sourceDigest,
      authorKind: 'machine',
      tokenId: null,
      provider: 'fixture',
      providerRunId: 'run-1',
      findings: [],
      qaIdentity: null,
    },
  }));
}

/** All rows of a statement. */
export function rowsOf(database: Database, sql: string): Record<string, unknown>[] {
  return database
    .prepare(sql)
    .all()
    .map((row) => ({ ...row }));
}
