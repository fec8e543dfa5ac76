import type { Clock } from '../../../platform/process/clock.ts';
import { createCarriedReader } from './carried-units.ts';
import { copyContent, type UnitIdOf } from './content-copier.ts';
import { createContentReader } from './content-reader.ts';
import { createContentWriter, type ContentWriter } from './content-writer.ts';
import { createIndexCleanup, dropUnfinished, type IndexCleanup } from './index-cleanup.ts';
import { openIndexDatabase } from './index-database.ts';
import type { MissingContents, ReleaseFiles } from './index-rows.ts';
import { statusOf, type IndexStatus } from './index-status.ts';
import { readParseErrors, type ParseErrorsBody } from './parse-errors.ts';
import { completeRelease } from './release-completion.ts';
import { beginRelease } from './release-run.ts';
import { readReportedIndex, type ReportedIndex } from './reported-index.ts';
import { readTextUnits, type TextUnitsPage } from './text-units.ts';
import { readDifferences, type DifferencesQuery, type UnitDifferences } from './unit-differences.ts';
import type { UnitQuery } from './unit-filter.ts';
import { createUnitsAfterReader, type ReadUnitsAfter } from './units-after.ts';
import { createPageFinder } from './unit-segments.ts';

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
  /** Begins to index a release; see {@link beginRelease}. */
  begin(release: ReleaseFiles): MissingContents;
  /** Makes the content of a file from another file's; see {@link copyContent}. */
  copy(indexId: number, position: number): Generator<void, boolean>;
  /** Carries units over and switches reports to this release; see {@link completeRelease}. */
  complete(indexId: number): Generator<void, ReportedIndex>;
  status(): IndexStatus;
  textUnits(query: UnitQuery): TextUnitsPage;
  errors(query: UnitQuery): ParseErrorsBody;
  /** Pages through the units of the reported release; see {@link createUnitsAfterReader}. */
  readonly unitsAfter: ReadUnitsAfter;
  /** Differences between two releases; see {@link readDifferences}. */
  differences(query: DifferencesQuery): UnitDifferences | null;
  close(): void;
}

export interface ParseIndexOptions {
  /** The database file. */
  readonly path: string;
  readonly clock: Clock;
  readonly unitIdOf: UnitIdOf;
  /** Finds the placeholders in a text. */
  readonly placeholdersOf: (text: string) => readonly string[];
}

/**
 * Opens the parse index. A damaged file is set aside, and an empty one takes its place.
 *
 * @throws DatabaseError when the file cannot be opened or written
 */
export function openParseIndex({ path, clock, unitIdOf, placeholdersOf }: ParseIndexOptions): ParseIndex {
  const { database, rebuilt } = openIndexDatabase(path, new Date(clock.now()));
  dropUnfinished(database);
  const reader = createContentReader(database);
  const writer = createContentWriter(database, clock);
  const cleanup = createIndexCleanup(database);
  const pages = {
    reader,
    findPage: createPageFinder(database, reader),
    readCarried: createCarriedReader(database),
    placeholdersOf,
  };
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
    copy: (indexId, position) => copyContent({ database, reader, writer, unitIdOf }, indexId, position),
    complete: (indexId) => completeRelease(database, clock, indexId),
    status: () => statusOf(reported()),
    textUnits: (query) => readTextUnits(pages, reported(), query),
    errors: (query) => readParseErrors(database, reported(), query),
    unitsAfter: createUnitsAfterReader(database),
    differences: (query) => readDifferences(database, reader, query),
    close: () => {
      database.close();
    },
  };
}
