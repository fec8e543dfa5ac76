import { onTestFinished } from 'vitest';
import { openWorkDatabase } from '../../src/localization/translation/work/store/work-database.ts';
import type { Lease } from '../../src/localization/translation/work/leases/chunk-leases.ts';
import type { WorkerResult } from '../../src/localization/translation/work/leases/lease-results.ts';
import type { BuildResult } from '../../src/localization/translation/work/build/finish-build.ts';
import {
  createTranslationWork,
  type TranslationWork,
} from '../../src/localization/translation/work/translation-work.ts';
import type { ParseIndex } from '../../src/localization/parse/index/parse-index.ts';
import type { ReadUnitsAfter, UnitPlace } from '../../src/localization/parse/index/read/units-after.ts';
import type { Database } from '../../src/engine/database/sqlite-database.ts';
import { openTestIndex } from './index-release.ts';

/** The work in one target language with its parse index, for tests. */
export interface TestWork extends TranslationWork {
  readonly database: Database;
  readonly index: ParseIndex;
  /** Sets the time, in Unix seconds, at which the methods work. */
  at(now: number): TestWork;
}

/** Opens both databases; they close when the test ends. */
export function openTestWork(path = ':memory:'): TestWork {
  const database = openWorkDatabase(path);
  const index = openTestIndex();
  onTestFinished(() => {
    database.close();
    index.close();
  });
  // The work takes the first one for itself.
  let ids = -1;
  return workIn({ database, index }, () => `id${String((ids += 1)).padStart(6, '0')}`);
}

/** The work in open databases, as each process assembles it. */
export function workIn(
  { database, index }: { readonly database: Database; readonly index: ParseIndex },
  createId: () => string,
): TestWork {
  let time = 0;
  const options = { targetLanguage: 'zh-Hans', createId, now: () => time };
  const work: TestWork = {
    ...createTranslationWork(database, options),
    database,
    index,
    at: (now) => {
      time = now;
      return work;
    },
  };
  return work;
}

/** Builds the tasks of the reported release, with pages of `limit` units. */
export function buildTasks(work: TestWork, now: number, limit = 3): BuildResult {
  const { index } = work.at(now);
  const buildId = growBuild(work, index, { limit });
  const { event: _event, ...result } = work.finishBuild(buildId);
  while (work.cleanUp());
  return result;
}

/**
 * Begins to build the tasks of the reported release, or continues, up to where the build can be finished.
 *
 * @param options.unitsAfter gives other units than those of the index
 * @returns the id of the build
 */
export function growBuild(
  work: Pick<TranslationWork, 'beginBuild' | 'compareFiles' | 'addUnits' | 'passFiles'>,
  index: ParseIndex,
  { limit = 1000, unitsAfter = index.unitsAfter }: { limit?: number; unitsAfter?: ReadUnitsAfter } = {},
): number {
  const { release_id: releaseId, generation } = index.status();
  let build = work.beginBuild({ releaseId: String(releaseId), generation });
  const { buildId } = build;
  while (!build.isComplete) {
    const files = index.containersAfter({ after: build.comparedUntil, limit });
    for (const { from: first, last: lastDestination } of work.compareFiles({ buildId, page: files })) {
      for (let from: UnitPlace | null = first; from !== null;) {
        const page = unitsAfter({ from, limit, maxCharacters: 100_000, lastDestination });
        work.addUnits({ buildId, page });
        from = page.next;
      }
    }
    build = work.passFiles({ buildId, next: files.next });
  }
  return buildId;
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
