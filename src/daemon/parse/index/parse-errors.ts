import type { z } from 'zod';
import type { ParseErrorsReport } from '../../../contract/reports/report-parse.ts';
import type { Database } from '../../database/sqlite-database.ts';
import { LOCATION_COLUMNS, locationOf, textOf } from './content-reader.ts';
import type { ReportedIndex } from './reported-index.ts';
import { locationFields } from './text-units.ts';
import { conditionOf, leafCondition, patternOf, type UnitQuery } from './unit-filter.ts';

/** The body of `parse.errors`. */
export type ParseErrorsBody = z.output<typeof ParseErrorsReport.body>;

type ParseErrorItem = ParseErrorsBody['items'][number];

/** A page of `parse.errors`. */
export function readParseErrors(
  database: Database,
  index: ReportedIndex | null,
  query: UnitQuery,
): ParseErrorsBody {
  const { offset, limit } = query;
  const page = { total: 0, offset, limit };
  if (index === null) return { release_id: null, generation: 0, ...page, items: [] };
  const matches = patternOf(query);
  const condition = conditionOf([
    ['destination', query.destination],
    ['field_path', query.field_path],
  ]);
  const location = leafCondition(query, 'parse_error');
  const statement =
    database.prepare(`SELECT destination, parse_status, ${LOCATION_COLUMNS}, parse_error.format,
      field_path, code, message, severity, first_seen
    FROM container JOIN content USING (content_id) JOIN parse_error USING (content_id)
    WHERE index_id = ?${condition.sql}${location.sql} ORDER BY position, number`);
  const items: ParseErrorItem[] = [];
  for (const row of statement.iterate(index.indexId, ...condition.values, ...location.values)) {
    if (!matches(String(row['destination']))) continue;
    page.total += 1;
    if (page.total <= offset || items.length === limit) continue;
    items.push({
      release_id: index.releaseId,
      destination: String(row['destination']),
      ...locationFields(locationOf(row)),
      field_path: textOf(row['field_path']),
      code: String(row['code']),
      message: String(row['message']),
      severity: row['severity'] === 'warning' ? 'warning' : 'error',
      parse_status: row['parse_status'] as ParseErrorItem['parse_status'],
      first_seen: Number(row['first_seen']),
    });
  }
  return { release_id: index.releaseId, generation: index.generation, ...page, items };
}
