import type { Statement } from '../../engine/database/checked-rows.ts';
import { foldDestination } from '../../domain/release/destination.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import { TaskError } from '../../engine/tasks/task.ts';
import type { UpstreamEntry } from '../../upstream/upstream.ts';
import { manifestEntryOf, type CatalogEntryRow, type KnownEntryRow } from '../records/entry-row.ts';
import { allRows, oneRow, PAGE_ROWS, prepareAll, type SqlDatabase } from '../records/sql.ts';
import type { ManifestEntry } from '../../domain/release/manifest.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';

export interface Unresolved {
  readonly entries: number;
  readonly bytes: number;
  readonly unknownSizes: number;
}

/** The entries of catalogs, written in batches and read in pages, so that no whole catalog is ever in memory. */
export interface CatalogEntries {
  /**
   * Adds a batch in one transaction. An entry that is listed again with the same facts counts once. One that states the same size and
   * digests as an entry of that destination in the revision `before` gets its object.
   *
   * @returns the number of entries that were added
   * @throws DoubleEntryError when one is listed again with other facts
   */
  add(revisionId: number, entries: readonly UpstreamEntry[], before: number | null): number;
  /** Adds a batch of entries whose objects are known. Throws DoubleEntryError. */
  addRows(revisionId: number, rows: readonly CatalogEntryRow[]): void;
  /**
   * Copies all entries to a revision that has none, a page at a time.
   *
   * @param to `withObjects: false` leaves out which objects are known; `folders` replaces the beginning of all locators
   * @returns the entries of each page
   */
  copyRows(
    revisionId: number,
    to: {
      readonly revisionId: number;
      readonly withObjects: boolean;
      readonly folders?: { readonly before: string; readonly after: string };
    },
  ): AsyncGenerator<number>;
  replaceRows(revisionId: number, rows: readonly CatalogEntryRow[]): void;
  /** Replaces the entries at these destinations in a revision that nobody reads yet; `null` removes one. */
  changeRows(
    revisionId: number,
    changes: ReadonlyArray<{ readonly destination: string; readonly row: CatalogEntryRow | null }>,
  ): void;
  /** Forgets the objects of entries that were found damaged, so that they are fetched again. */
  forgetDamaged(revisionId: number): void;
  entry(revisionId: number, destination: string): CatalogEntryRow | null;
  /**
   * Entries in manifest order, a page at a time. `unresolved` selects those whose object is not known: the page of a range without any is
   * empty.
   */
  pages(revisionId: number, which: 'all' | 'unresolved'): AsyncGenerator<readonly CatalogEntryRow[]>;
  /** The entries whose object is not known, or is not one of the revision `other`. The page of a range without any is empty. */
  pagesBeside(revisionId: number, other: number | null): AsyncGenerator<readonly CatalogEntryRow[]>;
  /** All entries in manifest order with the facts of their objects, a page at a time. */
  knownPages(revisionId: number): AsyncGenerator<readonly KnownEntryRow[]>;
  rows(revisionId: number, which: 'all' | 'unresolved'): AsyncGenerator<CatalogEntryRow>;
  resolve(revisionId: number, destination: string, blake3: Blake3Hex | null): void;
  unresolved(revisionId: number): Unresolved;
  /** Groups of destinations that a case-insensitive file system cannot keep apart, at most `limit`. */
  caseConflicts(revisionId: number, limit: number): readonly string[];
  /** Deletes the entries of a revision that nobody reads and that is deleted next. */
  dropEntries(revisionId: number): Promise<void>;
}

const COPIED_COLUMNS = `destination, source, media_type, stated_size, stated_blake3, stated_sha256, stated_md5,
  stated_crc32`;
const ENTRY_COLUMNS = `${COPIED_COLUMNS}, locator, blake3`;

const NOTHING_UNRESOLVED: Unresolved = { entries: 0, bytes: 0, unknownSizes: 0 };

export function createCatalogEntries(database: SqlDatabase): CatalogEntries {
  const statements = prepareAll(database, SQL);

  const insert = createInsert(database);
  const addRows: CatalogEntries['addRows'] = (revisionId, rows) =>
    void insert(revisionId, rows, null, () => false);
  const entryOf: CatalogEntries['entry'] = (revisionId, destination) =>
    oneRow(statements.entry, { revision_id: revisionId, destination });

  async function* pagesOf<Row extends KnownEntryRow | CatalogEntryRow>(
    statement: Statement,
    of: { readonly revision_id: number; readonly other?: number | null },
  ): AsyncGenerator<readonly Row[]> {
    let after = '';
    for (;;) {
      // The end of the page is found first: a page that ends after so many selected rows could read the whole revision for them.
      const range = { revision_id: of.revision_id, after, limit: PAGE_ROWS };
      const last = oneRow<{ last: string | null }>(statements.lastOfPage, range)?.last ?? null;
      if (last === null) return;
      yield allRows<Row>(statement, { ...of, after, last });
      after = last;
      await nextTurn();
    }
  }
  const pages: CatalogEntries['pages'] = (revisionId, which) =>
    pagesOf(which === 'all' ? statements.pageAll : statements.pageUnresolved, { revision_id: revisionId });

  return {
    ...createCopying(database, addRows),
    add: (revisionId, entries, before) =>
      insert(revisionId, entries.map(rowOf), before, (row) => {
        const held = entryOf(revisionId, row.destination);
        return held !== null && statesTheSame(held, row);
      }),
    addRows,
    entry: entryOf,
    pages,
    pagesBeside: (revisionId, other) => pagesOf(statements.pageBeside, { revision_id: revisionId, other }),
    knownPages: (revisionId) => pagesOf(statements.pageKnown, { revision_id: revisionId }),
    rows: async function* rows(revisionId, which) {
      for await (const page of pages(revisionId, which)) yield* page;
    },
    resolve: (revisionId, destination, blake3) =>
      void statements.resolve.run({ revision_id: revisionId, destination, blake3 }),
    unresolved: (revisionId) =>
      oneRow<Unresolved>(statements.unresolved, { revision_id: revisionId }) ?? NOTHING_UNRESOLVED,
    caseConflicts: (revisionId, limit) =>
      allRows<{ names: string }>(statements.caseConflicts, { revision_id: revisionId, limit }).map(
        (row) => row.names,
      ),
    dropEntries: async (revisionId) => {
      for (;;) {
        const rows = { revision_id: revisionId, limit: WRITTEN_ROWS };
        // The revision itself is deleted durably after its entries.
        const { changes } = database.transaction(() => statements.drop.run(rows), { durable: false });
        if (Number(changes) === 0) return;
        await nextTurn();
      }
    },
  };
}

/** Creates what adds entries; those that state what an entry of the revision `before` states get its object. Returns the number added. */
function createInsert(database: SqlDatabase) {
  const statements = prepareAll(database, INSERT_SQL);
  return (
    revisionId: number,
    rows: readonly CatalogEntryRow[],
    before: number | null,
    isRepeat: (row: CatalogEntryRow) => boolean,
  ): number => {
    let added = 0;
    const section = (): void => {
      let bytes = 0;
      for (const row of rows) {
        const folded = foldDestination(row.destination);
        const { changes } = statements.insertEntry.run({
          ...row,
          revision_id: revisionId,
          folded: folded === row.destination ? null : folded,
          before,
        });
        if (Number(changes) === 0) {
          if (isRepeat(row)) continue;
          throw new DoubleEntryError(row.destination);
        }
        added += 1;
        bytes = Math.min(bytes + (row.stated_size ?? 0), Number.MAX_SAFE_INTEGER);
      }
      statements.count.run({ revision_id: revisionId, entries: added, bytes });
    };
    // Nobody reads a revision before it is complete, and that is written durably.
    database.transaction(section, { durable: false });
    return added;
  };
}

/** A catalog that lists a destination twice with different facts. */
export class DoubleEntryError extends TaskError {
  readonly destination: string;

  /** @param facts what both entries say, where that is known */
  constructor(destination: string, facts: readonly string[] = []) {
    const listed =
      facts.length === 0 ? 'more than once' : `twice with different facts: ${facts.join(', and ')}`;
    super(
      'destination_duplicate',
      `the catalog lists the destination ${JSON.stringify(destination)} ${listed}; correct it upstream`,
      { details: { destination } },
    );
    this.destination = destination;
  }
}

const FACTS = ['stated_size', 'stated_blake3', 'stated_sha256', 'stated_md5', 'stated_crc32'] as const;

/** Whether two entries of one destination say the same. Without a digest, they do only when their bytes are in the same place. */
function statesTheSame(one: CatalogEntryRow, other: CatalogEntryRow): boolean {
  if (FACTS.some((fact) => one[fact] !== other[fact])) return false;
  return one.locator === other.locator || FACTS.slice(1).some((digest) => one[digest] !== null);
}

/**
 * Entries written in one transaction. Most of the time goes to the index by object, whose pages are in another order: each of them is
 * written once in a transaction. This many takes about a tenth of a second.
 */
export const WRITTEN_ROWS = 5000;

/** Creates the copying of entries, which never leave SQLite: there can be a million, and most columns are only handed on. */
function createCopying(database: SqlDatabase, addRows: CatalogEntries['addRows']) {
  const statements = prepareAll(database, COPY_SQL);
  return {
    copyRows: async function* copyRows(
      from: number,
      {
        revisionId: to,
        withObjects,
        folders = { before: '', after: '' },
      }: Parameters<CatalogEntries['copyRows']>[1],
    ) {
      const place = { skipped: folders.before.length + 1, folder: folders.after };
      let after = '';
      for (;;) {
        const query = { from, after, limit: WRITTEN_ROWS };
        const page = oneRow<CopiedPage>(statements.page, query);
        const last = page?.last ?? null;
        if (page === null || last === null) return;
        const { entries, bytes } = page;
        // Nobody reads a revision before it is complete, and that is written durably.
        database.transaction(
          () => {
            statements.copy.run({ from, after, last, to, with_objects: Number(withObjects), ...place });
            statements.count.run({ revision_id: to, entries, bytes });
          },
          { durable: false },
        );
        yield entries;
        after = last;
        await nextTurn();
      }
    },
    changeRows: (revisionId: number, changes: Parameters<CatalogEntries['changeRows']>[1]): void => {
      // As for copied pages.
      database.transaction(
        () => {
          const gone = changes.flatMap(({ destination }) => {
            const place = { revision_id: revisionId, destination };
            return oneRow<{ stated_size: number | null }>(statements.remove, place) ?? [];
          });
          const bytes = gone.reduce((sum, { stated_size: size }) => sum + (size ?? 0), 0);
          statements.count.run({ revision_id: revisionId, entries: -gone.length, bytes: -bytes });
          addRows(
            revisionId,
            changes.flatMap(({ row }) => row ?? []),
          );
        },
        { durable: false },
      );
    },
    forgetDamaged: (revisionId: number) => void statements.forgetDamaged.run({ revision_id: revisionId }),
    replaceRows: (revisionId: number, rows: readonly CatalogEntryRow[]): void => {
      // As for copied pages.
      database.transaction(
        () => {
          for (const { media_type: _type, ...row } of rows) {
            const place = { revision_id: revisionId, destination: row.destination };
            const before = oneRow<{ stated_size: number | null }>(statements.size, place);
            statements.replace.run({ ...row, revision_id: revisionId });
            const bytes = (row.stated_size ?? 0) - (before?.stated_size ?? 0);
            statements.count.run({ revision_id: revisionId, entries: 0, bytes });
          }
        },
        { durable: false },
      );
    },
  };
}

interface CopiedPage {
  readonly last: string | null;
  readonly entries: number;
  readonly bytes: number;
}

function rowOf(entry: UpstreamEntry): CatalogEntryRow {
  return {
    destination: entry.destination,
    source: 'official',
    media_type: null,
    stated_size: entry.size,
    stated_blake3: entry.digests.blake3 ?? null,
    stated_sha256: entry.digests.sha256 ?? null,
    stated_md5: entry.digests.md5 ?? null,
    stated_crc32: entry.digests.crc32 ?? null,
    locator: entry.locator,
    blake3: null,
  };
}

// Sizes that upstream states may have a sum that JavaScript cannot hold.
const COUNT = `UPDATE catalog_revision SET entry_count = entry_count + :entries,
    stated_bytes = min(stated_bytes + :bytes, ${Number.MAX_SAFE_INTEGER})
    WHERE revision_id = :revision_id`;

const COPY_SQL = {
  page: `SELECT max(destination) AS last, count(*) AS entries, coalesce(sum(stated_size), 0) AS bytes FROM
    (SELECT destination, stated_size FROM catalog_entry WHERE revision_id = :from AND destination > :after
      ORDER BY destination LIMIT :limit)`,
  copy: `INSERT INTO catalog_entry (revision_id, folded, ${ENTRY_COLUMNS})
    SELECT :to, folded, ${COPIED_COLUMNS}, :folder || substr(locator, :skipped), iif(:with_objects, blake3, NULL)
    FROM catalog_entry WHERE revision_id = :from AND destination > :after AND destination <= :last ORDER BY destination`,
  size: 'SELECT stated_size FROM catalog_entry WHERE revision_id = :revision_id AND destination = :destination',
  replace: `UPDATE catalog_entry SET source = :source, stated_size = :stated_size, stated_blake3 = :stated_blake3,
      stated_sha256 = :stated_sha256, stated_md5 = :stated_md5, stated_crc32 = :stated_crc32, locator = :locator,
      blake3 = :blake3 WHERE revision_id = :revision_id AND destination = :destination`,
  remove:
    'DELETE FROM catalog_entry WHERE revision_id = :revision_id AND destination = :destination RETURNING stated_size',
  forgetDamaged: `UPDATE catalog_entry SET blake3 = NULL WHERE revision_id = :revision_id
    AND blake3 IN (SELECT blake3 FROM known_object WHERE sound = 0)`,
  count: COUNT,
} as const;

const INSERT_SQL = {
  insertEntry: `INSERT INTO catalog_entry (revision_id, folded, ${ENTRY_COLUMNS})
    VALUES (:revision_id, :folded, :destination, :source, :media_type, :stated_size, :stated_blake3, :stated_sha256,
      :stated_md5, :stated_crc32, :locator, coalesce(:blake3, (SELECT b.blake3 FROM catalog_entry b
        WHERE b.revision_id = :before AND b.destination = :destination AND b.stated_size IS :stated_size
          AND b.stated_blake3 IS :stated_blake3 AND b.stated_sha256 IS :stated_sha256
          AND b.stated_md5 IS :stated_md5 AND b.stated_crc32 IS :stated_crc32
          AND (coalesce(:stated_blake3, :stated_sha256) IS NOT NULL
            OR (:stated_size IS NOT NULL AND coalesce(:stated_md5, :stated_crc32) IS NOT NULL)))))
    ON CONFLICT DO NOTHING`,
  count: COUNT,
} as const;

const IN_PAGE = 'revision_id = :revision_id AND destination > :after AND destination <= :last';

const SQL = {
  entry: `SELECT ${ENTRY_COLUMNS} FROM catalog_entry WHERE revision_id = :revision_id AND destination = :destination`,
  lastOfPage: `SELECT max(destination) AS last FROM (SELECT destination FROM catalog_entry
    WHERE revision_id = :revision_id AND destination > :after ORDER BY destination LIMIT :limit)`,
  pageAll: `SELECT ${ENTRY_COLUMNS} FROM catalog_entry WHERE ${IN_PAGE} ORDER BY destination`,
  pageKnown: `SELECT destination, source, media_type, o.blake3, size, crc64, blocks, verified_at
    FROM catalog_entry LEFT JOIN known_object o USING (blake3) WHERE ${IN_PAGE} ORDER BY destination`,
  pageUnresolved: `SELECT ${ENTRY_COLUMNS} FROM catalog_entry WHERE ${IN_PAGE} AND blake3 IS NULL ORDER BY destination`,
  pageBeside: `SELECT ${ENTRY_COLUMNS} FROM catalog_entry e WHERE ${IN_PAGE} AND (blake3 IS NULL OR NOT EXISTS
      (SELECT 1 FROM catalog_entry o WHERE o.blake3 = e.blake3 AND o.revision_id = :other))
    ORDER BY destination`,
  resolve:
    'UPDATE catalog_entry SET blake3 = :blake3 WHERE revision_id = :revision_id AND destination = :destination',
  unresolved: `SELECT count(*) AS entries, coalesce(sum(stated_size), 0) AS bytes,
      count(*) - count(stated_size) AS unknownSizes
    FROM catalog_entry WHERE revision_id = :revision_id AND blake3 IS NULL`,
  caseConflicts: `SELECT group_concat(destination, ', ') AS names FROM catalog_entry WHERE revision_id = :revision_id
    GROUP BY coalesce(folded, destination) HAVING count(*) > 1 LIMIT :limit`,
  drop: `DELETE FROM catalog_entry WHERE revision_id = :revision_id AND destination IN
    (SELECT destination FROM catalog_entry WHERE revision_id = :revision_id LIMIT :limit)`,
} as const;

/**
 * The manifest entries of a revision, in manifest order, built from the objects that the database knows.
 *
 * @param onVerifiedAt called for every entry with the time of the last hash of its object, Unix seconds
 * @throws TaskError `release_incomplete` (retryable) at the first entry whose object is not known
 */
export async function* manifestEntries(
  catalogs: CatalogEntries,
  revisionId: number,
  onVerifiedAt: (seconds: number) => void = () => undefined,
): AsyncGenerator<ManifestEntry> {
  for await (const page of catalogs.knownPages(revisionId)) {
    for (const row of page) {
      if (row.blake3 === null) {
        throw new TaskError(
          'release_incomplete',
          `the object of ${JSON.stringify(row.destination)} is not known; run sync to fetch it`,
          { retryable: true, details: { destination: row.destination } },
        );
      }
      onVerifiedAt(row.verified_at);
      yield manifestEntryOf(row);
    }
  }
}
