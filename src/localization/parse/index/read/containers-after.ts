import { createHash } from 'node:crypto';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import { readReportedIndex } from './reported-index.ts';

/** A file with text in the reported release. */
export interface ContainerText {
  readonly destination: string;
  readonly units: number;
  /** See {@link contentKeyOf}. */
  readonly contentKey: Uint8Array;
}

export interface ContainersAfter {
  /** `null` before the first release. */
  readonly releaseId: string | null;
  readonly generation: number;
  /** Units of the whole release. */
  readonly total: number;
  readonly items: readonly ContainerText[];
  /** The file after which the next answer begins; `null` at the end. */
  readonly next: string | null;
}

export interface ContainersQuery {
  /** The last file of the answer before; empty at the beginning. */
  readonly after: string;
  readonly limit: number;
}

/** Pages through the files with text of the reported release, in their order. */
export type ReadContainersAfter = (query: ContainersQuery) => ContainersAfter;

export function createContainersAfterReader(database: Database): ReadContainersAfter {
  const page = database.prepare(`SELECT destination, units, ${CONTENT_KEY_COLUMNS}
    FROM container JOIN content USING (content_id)
    WHERE index_id = ? AND destination > ? AND units > 0 ORDER BY destination LIMIT ?`);
  return ({ after, limit }) => {
    const index = readReportedIndex(database);
    if (index === null) return { releaseId: null, generation: 0, total: 0, items: [], next: null };
    const items = page.all(index.indexId, after, limit).map((row) => ({
      destination: String(row['destination']),
      units: Number(row['units']),
      contentKey: contentKeyOf(row),
    }));
    const { releaseId, generation, totals } = index;
    const next = items.length < limit ? null : (items.at(-1)?.destination ?? null);
    return { releaseId, generation, total: totals.units, items, next };
  };
}

/** The columns of `container` and `content` that {@link contentKeyOf} reads. */
export const CONTENT_KEY_COLUMNS =
  'content_id, container.blake3, container.destination_key, container.rules_digest, parser_version';

const KEY_BYTES = 16;

/**
 * The key of what a parse run read from a file. Files with one key have the same units with the same ids, in every release. A file
 * that is parsed again gets another key. The digests are for an index that was lost and built again, which counts from 1.
 */
export function contentKeyOf(row: Record<string, unknown>): Uint8Array {
  const [blake3, rules] = [row['blake3'] as Uint8Array, row['rules_digest'] as Uint8Array];
  return createHash('sha256')
    .update(blake3)
    .update(rules)
    .update(JSON.stringify([row['content_id'], row['destination_key'], row['parser_version']]))
    .digest()
    .subarray(0, KEY_BYTES);
}
