import type { Clock } from '../../../platform/process/clock.ts';
import { createCarriedReader, createEachSegment, createPageFinder } from './read/unit-segments.ts';
import { copyContent } from './write/content-copier.ts';
import { createContentReader } from './read/content-reader.ts';
import { createContentWriter, type ContentWriter } from './write/content-writer.ts';
import {
  createIndexCleanup,
  dropUnfinished,
  type IndexCleanup,
  beginRelease,
} from './write/index-cleanup.ts';
import { openIndexDatabase } from './index-database.ts';
import type { MissingContents, ReleaseFiles } from './index-rows.ts';
import { statusOf, type IndexStatus } from './index-status.ts';
import { readParseErrors, type ParseErrorsBody } from './read/parse-errors.ts';
import { completeRelease } from './write/release-completion.ts';
import { readReportedIndex, type ReportedIndex } from './read/reported-index.ts';
import { readTextUnits, readUnitsAt, type TextUnitsPage } from './read/text-units.ts';
import { createUnitScan, type NamedPlace, type ScannedUnits, type UnitScan } from './read/unit-search.ts';
import { readDifferences, type DifferencesQuery, type UnitDifferences } from './read/unit-differences.ts';
import type { UnitQuery } from './read/unit-filter.ts';
import { createContainersAfterReader, type ReadContainersAfter } from './read/containers-after.ts';
import { createUnitsAfterReader, type ReadUnitsAfter } from './read/units-after.ts';

/**
 * The text units of releases, in an own database. Every call blocks; generators pause after bounded work, so that a thread
 * can answer queries between. Reports show the release that was completed last. Errors of SQLite reach the caller, which
 * names them by `storageFailureOf`; a call that failed changed nothing.
 */
export interface ParseIndex extends ContentWriter, IndexCleanup {
  /** Why the file was replaced by an empty one when it was opened; `null` when it was sound or missing. */
  readonly rebuilt: string | null;
  /** Runs calls that store something in one transaction. The section must not wait for anything. */
  transaction<T>(section: () => T): T;
  begin(release: ReleaseFiles): MissingContents;
  copy(indexId: number, position: number): Generator<void, boolean>;
  complete(indexId: number): Generator<void, ReportedIndex>;
  status(): IndexStatus;
  textUnits(query: UnitQuery): TextUnitsPage;
  scanUnits(scan: UnitScan): ScannedUnits;
  unitsAt(named: { readonly places: readonly NamedPlace[]; readonly query: UnitQuery }): TextUnitsPage;
  errors(query: UnitQuery): ParseErrorsBody;
  readonly containersAfter: ReadContainersAfter;
  readonly unitsAfter: ReadUnitsAfter;
  differences(query: DifferencesQuery): UnitDifferences | null;
  close(): void;
}

/**
 * Opens the parse index. A damaged file is set aside, and an empty one takes its place.
 *
 * @param path the file; `:memory:` in tests
 * @throws DatabaseError when the file cannot be opened or written
 */
export function openParseIndex(path: string, clock: Clock): ParseIndex {
  const { database, rebuilt } = openIndexDatabase(path, new Date(clock.now()));
  dropUnfinished(database);
  const reader = createContentReader(database);
  const writer = createContentWriter(database, clock);
  const cleanup = createIndexCleanup(database);
  const readCarried = createCarriedReader(database);
  const eachSegment = createEachSegment(database);
  const findPage = createPageFinder(database, reader, eachSegment);
  const pages = { database, reader, findPage, readCarried };
  const scanUnits = createUnitScan(database, eachSegment);
  const reported = (): ReportedIndex | null => readReportedIndex(database);
  return {
    rebuilt,
    transaction: (section) => database.transaction(section),
    begin: (release) => {
      const missing = beginRelease(database, release);
      writer.abandon();
      return missing;
    },
    ...writer,
    ...cleanup,
    copy: (indexId, position) => copyContent({ database, reader, writer }, indexId, position),
    complete: (indexId) => completeRelease(database, clock, indexId),
    status: () => statusOf(reported()),
    textUnits: (query) => readTextUnits(pages, reported(), query),
    scanUnits: (scan) => scanUnits(reported(), scan),
    unitsAt: (named) => readUnitsAt(pages, reported(), named),
    errors: (query) => readParseErrors(database, reported(), query),
    containersAfter: createContainersAfterReader(database),
    unitsAfter: createUnitsAfterReader(database, reader, readCarried),
    differences: (query) => readDifferences(database, reader, query),
    close: () => {
      database.close();
    },
  };
}
