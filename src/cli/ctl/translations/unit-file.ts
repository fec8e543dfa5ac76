import { createUnitReader } from '../../../exchange/units/unit-formats.ts';
import type { ReadPlace, ReadResult, UnitLanguages } from '../../../exchange/units/unit-record.ts';
import { printable } from '../../../platform/terminal/text-table.ts';
import type { CtlArguments } from '../ctl-options.ts';
import { fileFormat } from '../exchange/exchange-options.ts';
import { readLocalFile } from '../read-local-file.ts';

/** A file of units that was read to its end. */
export interface UnitFile {
  readonly path: string;
  /** Of its bytes, hexadecimal. */
  readonly sha256: string;
  readonly languages: Partial<UnitLanguages>;
  readonly results: readonly ReadResult[];
  /** What was left out of the file. */
  readonly notices: readonly string[];
}

const BOUNDS = {
  maxBytes: 512 * 1024 * 1024,
  maxItems: 200_000,
  items: 'units',
  advice: 'export and import parts of it with --destination or --task',
} as const;

/** Reads a file of units to its end. @throws CtlFailure for a file that cannot be read, is refused, or is beyond the bounds */
export async function readUnitFile(path: string, args: CtlArguments): Promise<UnitFile> {
  const format = fileFormat(path, args, 'units');
  const reader = createUnitReader(format);
  const { items, sha256 } = await readLocalFile(path, reader, BOUNDS);
  return { path, sha256, languages: reader.languages(), results: items, notices: reader.notices?.() ?? [] };
}

/** What was left out of a file, as a line for people. */
export function noticeLine(notice: string): string {
  return `note: ${printable(notice)}\n`;
}

/** What was found about the units of a file, in the order of its sheets and lines. */
export function inFileOrder<Found extends ReadPlace>(
  found: readonly Found[],
  { results }: UnitFile,
): Found[] {
  const sheets = [...new Set(results.map(({ sheet }) => sheet))];
  const orders = new Map(sheets.map((sheet, order) => [sheet, order]));
  const orderOf = ({ sheet }: Found): number => orders.get(sheet) ?? 0;
  return found.toSorted((left, right) => orderOf(left) - orderOf(right) || left.line - right.line);
}
