import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { messageOf } from '../../../platform/errors.ts';
import { errorCode } from '../../../platform/files/error-code.ts';
import { printable } from '../../../platform/terminal/text-table.ts';
import type { CtlContext } from '../ctl-context.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';
import { textOption } from '../ctl-options.ts';

/** Lines about single units that a terminal gets; a report has them all. */
const SHOWN_LINES = 30;
const SHOWN_CHARACTERS = 400;

/** A line about a unit: where it is in the file, and what is to be said. */
export interface UnitLine {
  readonly line: number;
  readonly text: string;
}

/** Shows the first lines about units, and says how many more there are. */
export function showUnitLines(
  { stdout, args }: Pick<CtlContext, 'stdout' | 'args'>,
  path: string,
  lines: readonly UnitLine[],
): void {
  for (const { line, text } of lines.slice(0, SHOWN_LINES)) {
    stdout.write(`${printable(path)}:${line}: ${printable(text).slice(0, SHOWN_CHARACTERS)}\n`);
  }
  const more = lines.length - SHOWN_LINES;
  if (more <= 0) return;
  const report = textOption(args, 'report');
  stdout.write(`... and ${more} more; ${report === undefined ? '--report FILE has' : `${report} has`} all\n`);
}

/** Writes the complete report to the file of `--report`, one JSON object a line. @throws CtlFailure */
export async function writeUnitReport(
  { args }: Pick<CtlContext, 'args'>,
  rows: readonly object[],
): Promise<void> {
  const path = textOption(args, 'report');
  if (path === undefined) return;
  const lines = function* (): Generator<string> {
    for (const row of rows) yield `${JSON.stringify(row)}\n`;
  };
  try {
    await pipeline(lines(), createWriteStream(path));
  } catch (error) {
    if (errorCode(error) === null) throw error;
    const message = `cannot write the report ${path}: ${messageOf(error)}`;
    throw new CtlFailure(CTL_EXITS.failed, message, { cause: error });
  }
}
