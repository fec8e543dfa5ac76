/** Members that a daemon of the previous version leaves out of a report, filled in once for all pages; pure. */

import type { Report, ReportName } from '../api/wire.ts';

type Fields = Readonly<Record<string, unknown>>;
type Fill = (report: Fields) => Fields;

/** The values of members that are missing, of the rows of a list. */
function inItems(missing: Fields): Fill {
  return (report) => ({ ...report, items: rowsOf(report['items'], (row) => ({ ...missing, ...row })) });
}

const FILLS: { readonly [N in ReportName]?: Fill } = {
  'parse.text_units': (report) => ({
    ...report,
    items: rowsOf(report['items'], (unit) => {
      const translation = unit['translation'];
      if (typeof translation !== 'object' || translation === null) return unit;
      return { ...unit, translation: { waivers: [], hold: null, claim: null, ...translation } };
    }),
  }),
  'schedule.list': inItems({ replaced_by: null }),
  'task.status': (report) => ({ course: [], ...report }),
};

/**
 * The report with all members that its pages read.
 *
 * @param answer as it came; an answer of another kind stays as it is, for the page to say so
 */
export function fillReport<N extends ReportName>(name: N, answer: unknown): Report<N> {
  const fill = FILLS[name];
  const isReport = typeof answer === 'object' && answer !== null;
  return (fill === undefined || !isReport ? answer : fill(answer as Fields)) as Report<N>;
}

function rowsOf(rows: unknown, fill: (row: Fields) => Fields): unknown {
  return Array.isArray(rows) ? rows.map((row) => fill(row as Fields)) : rows;
}
