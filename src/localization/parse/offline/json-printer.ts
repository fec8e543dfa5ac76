import { PARSE_ERROR_CODES } from '../../../contract/reports/parse-error-codes.ts';
import { keyPathParts, type PartLocation } from '../container/parsed-container.ts';
import { unitIdText } from '../../unit-id-text.ts';
import type { ParsePrinter } from './parse-printer.ts';

/** Prints one JSON object a line; `type` is `unit`, `error`, `container` or `summary`. Fields are named as in the reports. */
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
