import {
  type ContainerOutcome,
  type ParsedUnit,
  keyPathParts,
  type PartLocation,
  SKIP_REASONS,
  type ParseIssue,
} from '../container/parsed-container.ts';
import { PARSE_ERROR_CODES } from '../../../contract/reports/parse-error-codes.ts';
import { unitIdText } from '../../unit-id-text.ts';
import { printable, textExcerpt, textTable } from '../../../platform/terminal/text-table.ts';
import { overviewFields, overviewText, type GameOverview } from './game-overview.ts';
import { countText } from '../../../domain/count-text.ts';

export interface ParsePrinter {
  /** @param isFirst whether they are the first units of their container */
  units(destination: string, units: readonly ParsedUnit[], isFirst: boolean): string;
  /** @param units the units that the container handed over, printed or not */
  outcome(destination: string, outcome: ContainerOutcome, units: number, isFirst: boolean): string;
  /** @param sourceScript the script in use where a rule names no other */
  summary(totals: ParseTotals, seconds: number, sourceScript: string): string;
  /** What a folder of a game has. @param suggested whether a file of rules was asked for */
  overview(overview: GameOverview, counted: 'TEXTS' | 'STRINGS', next: string): string;
}

export interface ParseTotals {
  containers: number;
  readonly byStatus: Record<ContainerOutcome['status'], number>;
  /** Units of containers that did not fail. */
  units: number;
  /** Units beyond the limit of units to print. */
  hidden: number;
  errors: number;
  warnings: number;
  readonly skipped: Record<string, number>;
}

export function emptyTotals(): ParseTotals {
  return {
    containers: 0,
    byStatus: { parsed: 0, partial: 0, unsupported: 0, failed: 0 },
    units: 0,
    hidden: 0,
    errors: 0,
    warnings: 0,
    skipped: {},
  };
}

/**
 * Adds a container to the totals.
 *
 * @param units the units that it handed over; those of a failed container do not count, because the index drops them
 */
export function addOutcome(totals: ParseTotals, outcome: ContainerOutcome, units: number): void {
  totals.containers += 1;
  totals.byStatus[outcome.status] += 1;
  if (outcome.status !== 'failed') totals.units += units;
  for (const { code } of outcome.issues) {
    if (PARSE_ERROR_CODES[code].severity === 'error') totals.errors += 1;
    else totals.warnings += 1;
  }
  for (const [reason, count] of Object.entries(outcome.skipped)) {
    totals.skipped[reason] = (totals.skipped[reason] ?? 0) + count;
  }
}

/** Prints one JSON object a line; `type` is `unit`, `error`, `container`, `overview` or `summary`. Fields are named as in the reports. */
export const jsonPrinter: ParsePrinter = {
  units: (destination, units) =>
    units
      .map((unit) =>
        line('unit', {
          unit_id: unitIdText(unit.unitId),
          ...location(destination, unit),
          field_path: unit.fieldPath,
          key_path: keyPathParts(unit.keyPath),
          source_text: unit.sourceText,
          speaker: unit.speaker,
          scene: unit.scene,
        }),
      )
      .join(''),
  outcome: (destination, { status, format, issues, skipped }, units) =>
    issues
      .map((issue) => {
        const { severity, meaning, nextStep } = PARSE_ERROR_CODES[issue.code];
        return line('error', {
          ...location(destination, issue),
          field_path: issue.fieldPath,
          code: issue.code,
          message: issue.message,
          severity,
          meaning,
          next_step: nextStep,
        });
      })
      .join('') +
    line('container', {
      destination,
      parse_status: status,
      format,
      units: status === 'failed' ? 0 : units,
      skipped,
    }),
  summary: ({ containers, byStatus, units, errors, warnings, skipped }, seconds) =>
    line('summary', {
      containers,
      by_parse_status: byStatus,
      units,
      errors,
      warnings,
      skipped,
      seconds: Number(seconds.toFixed(3)),
    }),
  overview: (overview) => line('overview', overviewFields(overview)),
};

function location(
  destination: string,
  { archiveEntry, pathId, classId, format }: PartLocation,
): Readonly<Record<string, unknown>> {
  return {
    destination,
    archive_entry: archiveEntry,
    // A number of JSON is not exact beyond 2^53 for most readers.
    path_id: pathId === null ? null : String(pathId),
    class_id: classId,
    format,
  };
}

function line(type: string, fields: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify({ type, ...fields })}\n`;
}

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
  summary: ({ containers, byStatus, units, hidden, errors, warnings, skipped }, seconds, sourceScript) => {
    const statuses = Object.entries(byStatus)
      .filter(([, count]) => count > 0)
      .map(([status, count]) => `${count} ${status}`);
    const notes = Object.entries(SKIP_REASONS)
      .filter(([reason]) => (skipped[reason] ?? 0) > 0)
      .map(
        ([reason, meaning]) =>
          `skipped ${reason} (${skipped[reason]}): ${meaning}${reason === 'no_source_script' ? scriptText(sourceScript) : ''}\n`,
      );
    const line = [
      countText(containers, 'container') + (statuses.length > 0 ? ` (${statuses.join(', ')})` : ''),
      countText(units, 'unit') + (hidden > 0 ? ` (${hidden} not shown)` : ''),
      countText(errors, 'error'),
      ...(warnings > 0 ? [countText(warnings, 'warning')] : []),
      `${seconds.toFixed(1)} s`,
    ];
    return `\n${notes.join('')}${line.join(', ')}\n`;
  },
  overview: overviewText,
};

/** A game in another language than the default one has almost only strings that are skipped. */
function scriptText(sourceScript: string): string {
  if (sourceScript === 'any') return '';
  return ` It is "${sourceScript}"; for a game in another language, set it in a file of rules (--rules); --suggest finds it.`;
}

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
