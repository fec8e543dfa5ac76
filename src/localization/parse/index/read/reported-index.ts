import type { SQLOutputValue } from 'node:sqlite';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import type { CarryOverCounts } from '../carry/comparison.ts';

/** Named as in the reports. */
export interface IndexTotals {
  readonly containers: number;
  readonly by_parse_status: Readonly<Record<string, number>>;
  readonly by_format: Readonly<Record<string, number>>;
  readonly units: number;
  readonly errors: number;
  readonly warnings: number;
  readonly errors_by_code: Readonly<Record<string, number>>;
  readonly skipped: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly bytes: number;
  readonly carry_over: (CarryOverCounts & { readonly previous_release_id: string }) | null;
}

export interface ReportedIndex {
  readonly indexId: number;
  readonly releaseId: string;
  readonly previousIndexId: number | null;
  /** Grows whenever reports change to another index. */
  readonly generation: number;
  /** Unix seconds. */
  readonly indexedAt: number;
  readonly parserVersion: string;
  readonly rulesDigest: Uint8Array;
  readonly totals: IndexTotals;
}

/** The index that reports show: the one that was completed last. `null` before the first. */
export function readReportedIndex(database: Database): ReportedIndex | null {
  return toIndex(
    database
      .prepare(`SELECT * FROM release_index WHERE state = 'complete' ORDER BY generation DESC LIMIT 1`)
      .get(),
  );
}

export function readIndexOf(database: Database, releaseId: string): ReportedIndex | null {
  return toIndex(
    database
      .prepare(`SELECT * FROM release_index WHERE state = 'complete' AND release_id = ?`)
      .get(releaseId),
  );
}

function toIndex(row: Record<string, SQLOutputValue> | undefined): ReportedIndex | null {
  if (row === undefined) return null;
  const previous = row['previous_index_id'];
  return {
    indexId: Number(row['index_id']),
    releaseId: String(row['release_id']),
    previousIndexId: typeof previous === 'number' ? previous : null,
    generation: Number(row['generation']),
    indexedAt: Number(row['indexed_at']),
    parserVersion: String(row['parser_version']),
    rulesDigest: row['rules_digest'] as Uint8Array,
    totals: JSON.parse(String(row['totals'])) as IndexTotals,
  };
}
