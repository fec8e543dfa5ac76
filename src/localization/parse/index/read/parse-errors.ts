import type { SQLOutputValue } from 'node:sqlite';
import type { z } from 'zod';
import type { ParseErrorsReport } from '../../../../contract/reports/report-parse.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import { LOCATION_COLUMNS, locationOf, textOf } from './content-reader.ts';
import { FOUND_ERRORS } from '../index-database.ts';
import { releasePage } from './release-page.ts';
import type { ReportedIndex } from './reported-index.ts';
import { locationFields } from './text-units.ts';
import { conditionOf, leafCondition, patternOf, type UnitQuery } from './unit-filter.ts';

export type ParseErrorsBody = z.output<typeof ParseErrorsReport.body>;

type ParseErrorItem = ParseErrorsBody['items'][number];

/** A page of `parse.errors`. It ends early when its names are long. */
export function readParseErrors(
  database: Database,
  index: ReportedIndex | null,
  query: UnitQuery,
): ParseErrorsBody {
  return releasePage<ParseErrorItem>(index, query, (reported, page) => {
    const matches = patternOf(query);
    const condition = conditionOf([
      ['destination', query.destination],
      ['field_path', query.field_path],
    ]);
    const location = leafCondition(query, 'found');
    const statement =
      database.prepare(`SELECT destination, parse_status, ${LOCATION_COLUMNS}, format, field_path, code, message, severity,
      first_seen
    FROM ${FOUND_ERRORS} WHERE index_id = ?${condition.sql}${location.sql} ORDER BY position, number`);
    let total = 0;
    for (const row of statement.iterate(reported.indexId, ...condition.values, ...location.values)) {
      if (!matches(String(row['destination']))) continue;
      total += 1;
      if (total > query.offset && !page.isFull) page.add(itemOf(row, reported));
    }
    return total;
  });
}

function itemOf(row: Record<string, SQLOutputValue>, { releaseId }: ReportedIndex): ParseErrorItem {
  return {
    release_id: releaseId,
    destination: String(row['destination']),
    ...locationFields(locationOf(row)),
    field_path: textOf(row['field_path']),
    code: String(row['code']),
    message: String(row['message']),
    severity: row['severity'] === 'warning' ? 'warning' : 'error',
    parse_status: row['parse_status'] as ParseErrorItem['parse_status'],
    first_seen: Number(row['first_seen']),
  };
}
