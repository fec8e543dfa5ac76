import { PARSE_ERROR_CODES } from '../../../contract/reports/parse-error-codes.ts';
import { printable, textExcerpt, textTable } from '../../../platform/terminal/text-table.ts';
import { countText } from '../../../domain/count-text.ts';
import { SKIP_REASONS, type ParsedUnit, type ParseIssue } from '../container/parsed-container.ts';
import type { ParsePrinter } from './parse-printer.ts';

const CELL_COLUMNS = 80;
const MESSAGE_COLUMNS = 1000;

const COLUMNS: readonly (readonly [string, (unit: ParsedUnit) => string])[] = [
  ['ENTRY', ({ archiveEntry }) => archiveEntry ?? ''],
  ['OBJECT', ({ pathId }) => (pathId === null ? '' : String(pathId))],
  ['FIELD', ({ fieldPath }) => fieldPath],
  ['FORMAT', ({ format }) => format],
  ['SPEAKER', ({ speaker }) => speaker ?? ''],
  ['TEXT', ({ sourceText }) => sourceText],
];

/** Prints containers with a table of their units for people; columns without a value are left out, long texts shortened. */
export const textPrinter: ParsePrinter = {
  units: (destination, units, isFirst) => heading(destination, isFirst) + indented(unitTable(units)),
  outcome: (destination, { status, format, issues, skipped }, units, isFirst) => {
    const counts = Object.entries(skipped).map(([reason, count]) => `${count} ${reason}`);
    const found = status === 'failed' ? 'no units are kept' : countText(units, 'unit');
    const line = [
      `${status}, format ${format}, ${found}`,
      ...(counts.length > 0 ? [`skipped: ${counts.join(', ')}`] : []),
    ];
    return heading(destination, isFirst) + indented([...issues.map(issueText), line.join('; ')].join('\n'));
  },
  summary: ({ containers, byStatus, units, hidden, errors, warnings, skipped }, seconds) => {
    const statuses = Object.entries(byStatus)
      .filter(([, count]) => count > 0)
      .map(([status, count]) => `${count} ${status}`);
    const notes = Object.entries(SKIP_REASONS)
      .filter(([reason]) => (skipped[reason] ?? 0) > 0)
      .map(([reason, meaning]) => `skipped ${reason} (${skipped[reason]}): ${meaning}\n`);
    const line = [
      countText(containers, 'container') + (statuses.length > 0 ? ` (${statuses.join(', ')})` : ''),
      countText(units, 'unit') + (hidden > 0 ? ` (${hidden} not shown)` : ''),
      countText(errors, 'error'),
      ...(warnings > 0 ? [countText(warnings, 'warning')] : []),
      `${seconds.toFixed(1)} s`,
    ];
    return `\n${notes.join('')}${line.join(', ')}\n`;
  },
};

function heading(destination: string, isFirst: boolean): string {
  return isFirst ? `${printable(destination)}\n` : '';
}

function unitTable(units: readonly ParsedUnit[]): string {
  const columns = COLUMNS.filter(([, cell]) => units.some((unit) => cell(unit) !== ''));
  return textTable(
    columns.map(([title]) => title),
    units.map((unit) => columns.map(([, cell]) => textExcerpt(cell(unit), CELL_COLUMNS))),
  );
}

function issueText({ code, message, archiveEntry, pathId, fieldPath }: ParseIssue): string {
  const { severity, meaning, nextStep } = PARSE_ERROR_CODES[code];
  const where = [
    archiveEntry === null ? [] : `entry ${archiveEntry}`,
    pathId === null ? [] : `object ${pathId}`,
    fieldPath === null ? [] : `field ${fieldPath}`,
  ].flat();
  const place = where.length === 0 ? '' : ` in ${where.join(', ')}`;
  return `${textExcerpt(`${severity} ${code}${place}: ${message}`, MESSAGE_COLUMNS)}\n  ${meaning} ${nextStep}`;
}

function indented(text: string): string {
  return text.trimEnd().replaceAll(/^/gm, '  ') + '\n';
}
