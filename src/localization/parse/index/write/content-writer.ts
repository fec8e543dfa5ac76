import type { Database } from '../../../../engine/database/sqlite-database.ts';
import { unixSeconds, type Clock } from '../../../../platform/process/clock.ts';
import {
  isSamePart,
  SOURCE_DIGEST_BYTES,
  UNIT_ID_BYTES,
  type ParsedUnit,
  type PartLocation,
} from '../../container/parsed-container.ts';
import type { ContentOutcome, FoundError } from '../index-rows.ts';

export const MAX_BATCH_ROWS = 1000;

/** Stores the text of containers. A content becomes visible when it is finished. */
export interface ContentWriter {
  /**
   * Begins the content of one file. The rows of an earlier, unfinished attempt for this file are dropped.
   *
   * @returns the id of the content
   * @throws RangeError when the release is not being indexed or has no such position
   */
  start(indexId: number, position: number): number;
  /**
   * Appends units in the order of reports, and errors. One transaction.
   *
   * @throws RangeError for more than {@link MAX_BATCH_ROWS} rows, ids or digests of a wrong size, or a content that is not begun
   */
  append(contentId: number, units: readonly ParsedUnit[], errors?: readonly FoundError[]): void;
  finish(contentId: number, outcome: ContentOutcome): void;
  /** Forgets the contents that are not finished; appending to them fails from now on. */
  abandon(): void;
}

interface OpenContent {
  readonly indexId: number;
  readonly position: number;
  units: number;
  errors: number;
  warnings: number;
  leaf: OpenLeaf | null;
}

interface OpenLeaf extends PartLocation {
  readonly firstOrdinal: number;
}

/** @param clock says when an error was first seen */
export function createContentWriter(database: Database, clock: Clock): ContentWriter {
  const open = new Map<number, OpenContent>();
  const statements = prepareStatements(database);
  const { appendUnits, appendErrors } = createAppender(database, clock);
  const contentOf = (contentId: number): OpenContent => {
    const content = open.get(contentId);
    if (content === undefined) throw new RangeError(`content ${contentId} is not being written`);
    return content;
  };

  return {
    start: (indexId, position) =>
      database.transaction(() => {
        for (const [contentId, other] of open) {
          if (other.indexId !== indexId || other.position !== position) continue;
          statements.drop.run(contentId);
          open.delete(contentId);
        }
        const row = statements.start.get(indexId, position);
        if (row === undefined) {
          throw new RangeError(`index ${indexId} is not being built or has no file at position ${position}`);
        }
        const contentId = Number(row['content_id']);
        open.set(contentId, { indexId, position, units: 0, errors: 0, warnings: 0, leaf: null });
        return contentId;
      }),
    append: (contentId, units, errors = []) => {
      if (units.length > MAX_BATCH_ROWS || errors.length > MAX_BATCH_ROWS) {
        throw new RangeError(`a batch holds at most ${MAX_BATCH_ROWS} units and as many errors`);
      }
      // The counts move on only when the transaction was committed.
      const content = { ...contentOf(contentId) };
      database.transaction(() => {
        appendUnits(contentId, content, units);
        appendErrors(contentId, content, errors);
      });
      open.set(contentId, content);
    },
    finish: (contentId, { parseStatus, format, skipped, seconds, bytes, isReusable }) => {
      const { indexId, position, units, errors, warnings } = contentOf(contentId);
      database.transaction(() => {
        const json = JSON.stringify(skipped);
        const reusable = Number(isReusable);
        if (reusable === 1) statements.release.run(contentId);
        const counts = [units, errors, warnings] as const;
        statements.finish.run(parseStatus, format, ...counts, json, seconds, bytes, reusable, contentId);
        statements.assign.run(contentId, indexId, position);
      });
      open.delete(contentId);
    },
    abandon: () => open.clear(),
  };
}

function createAppender(database: Database, clock: Clock) {
  const insertUnit = database.prepare('INSERT INTO unit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const insertLeaf = database.prepare(`INSERT INTO leaf VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET units = excluded.units`);
  const insertError = database.prepare('INSERT INTO parse_error VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const appendUnits = (contentId: number, content: OpenContent, units: readonly ParsedUnit[]): void => {
    for (const unit of units) {
      if (content.leaf === null || !isSamePart(content.leaf, unit)) {
        if (content.leaf !== null) storeLeaf(contentId, content, content.leaf);
        const { archiveEntry, pathId, classId, format } = unit;
        content.leaf = { archiveEntry, pathId, classId, format, firstOrdinal: content.units };
      }
      checkSizes(unit);
      const { unitId, sourceDigest, fieldPath, keyPath, sourceText, speaker, scene } = unit;
      const ordinal = content.units;
      insertUnit.run(
        contentId,
        ordinal,
        unitId,
        sourceDigest,
        fieldPath,
        keyPath,
        sourceText,
        speaker,
        scene,
      );
      content.units += 1;
    }
    if (content.leaf !== null) storeLeaf(contentId, content, content.leaf);
  };
  const storeLeaf = (contentId: number, { units }: OpenContent, leaf: OpenLeaf): void => {
    const { firstOrdinal, archiveEntry, pathId, classId, format } = leaf;
    insertLeaf.run(contentId, firstOrdinal, units - firstOrdinal, archiveEntry, pathId, classId, format);
  };
  const appendErrors = (contentId: number, content: OpenContent, errors: readonly FoundError[]): void => {
    const now = unixSeconds(clock);
    for (const found of errors) {
      const {
        archiveEntry,
        pathId,
        classId,
        fieldPath,
        format,
        code,
        message,
        severity,
        firstSeen = now,
      } = found;
      insertError.run(
        contentId,
        content.errors + content.warnings,
        archiveEntry,
        pathId,
        classId,
        fieldPath,
        format,
        code,
        message,
        severity,
        firstSeen,
      );
      if (severity === 'error') content.errors += 1;
      else content.warnings += 1;
    }
  };
  return { appendUnits, appendErrors } as const;
}

function prepareStatements(database: Database) {
  return {
    start:
      database.prepare(`INSERT INTO content (state, blake3, destination_key, parser_version, rules_digest)
      SELECT 'building', blake3, destination_key, parser_version, container.rules_digest
      FROM container JOIN release_index USING (index_id)
      WHERE index_id = ? AND position = ? AND state = 'indexing' RETURNING content_id`),
    drop: database.prepare(`UPDATE content SET state = 'dropped' WHERE content_id = ?`),
    /** A content with the same key that another attempt finished meanwhile stays, but is not used again. */
    release: database.prepare(`UPDATE content SET is_reusable = 0
      FROM content AS finished WHERE finished.content_id = ? AND content.state = 'complete' AND content.is_reusable = 1
        AND content.blake3 = finished.blake3 AND content.destination_key = finished.destination_key
        AND content.parser_version = finished.parser_version AND content.rules_digest = finished.rules_digest`),
    finish:
      database.prepare(`UPDATE content SET state = 'complete', parse_status = ?, format = ?, units = ?, errors = ?, warnings = ?,
      skipped = ?, seconds = ?, bytes = ?, is_reusable = ? WHERE content_id = ?`),
    assign: database.prepare('UPDATE container SET content_id = ? WHERE index_id = ? AND position = ?'),
  } as const;
}

function checkSizes({ unitId, sourceDigest }: ParsedUnit): void {
  if (unitId.length !== UNIT_ID_BYTES || sourceDigest.length !== SOURCE_DIGEST_BYTES) {
    throw new RangeError(
      `a unit id has ${UNIT_ID_BYTES} bytes and a source digest ${SOURCE_DIGEST_BYTES}, not ${unitId.length} and ${sourceDigest.length}`,
    );
  }
}
