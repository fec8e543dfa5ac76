import type { Database } from '../../database/sqlite-database.ts';
import type { ReadColumns } from './column-reader.ts';
import type { ContextFilter } from './context-filter.ts';
import type { RowBuffer } from './row-buffer.ts';
import type { StatementCache } from './statement-cache.ts';

/** How many units of a release follow units of the previous one, and how; how many are new, and how many it lost. */
export interface CarryOverCounts {
  same: number;
  moved: number;
  unique: number;
  changed: number;
  new: number;
  removed: number;
}

/** A file of which the text is not as it was: the sides are of the previous release and of this one. */
export interface ChangedContainer {
  readonly old: ContainerSide | null;
  readonly now: ContainerSide | null;
}

/** A file in one release. */
export interface ContainerSide {
  readonly position: number;
  readonly contentId: number;
  readonly units: number;
}

/** A carry-over in progress. */
export interface Comparison {
  readonly database: Database;
  readonly indexId: number;
  /** A release has many files, and SQLite's memory of a statement is freed with the next garbage collection only. */
  readonly prepare: StatementCache;
  readonly rows: RowBuffer;
  readonly readColumns: ReadColumns;
  /** The contexts of the units that are left over. */
  readonly contexts: ContextFilter;
  readonly counts: CarryOverCounts;
}
