import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { messageOf } from '../../../platform/errors.ts';
import { errorCode } from '../../../platform/files/error-code.ts';
import type { ReadPlace } from '../../../exchange/units/unit-record.ts';
import { printable, textExcerpt } from '../../../platform/terminal/text-table.ts';
import type { CtlContext } from '../ctl-context.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';
import { textOption } from '../ctl-options.ts';

/** Lines about single units that a terminal gets; a report has them all. */
const SHOWN_LINES = 30;
const LINE_COLUMNS = 400;

interface UnitLine extends ReadPlace {
  readonly text: string;
}

/** The first lines about units, and how many more there are. */
export function unitLines({ args }: CtlContext, path: string, lines: readonly UnitLine[]): string {
  const shown = lines
    .slice(0, SHOWN_LINES)
    .map(
      ({ line, sheet, text }) =>
        `${printable([path, ...(sheet === undefined ? [] : [sheet]), line].join(':'))}: ${textExcerpt(text, LINE_COLUMNS)}\n`,
    );
  const more = lines.length - SHOWN_LINES;
  const report = textOption(args, 'report') ?? '--report FILE';
  return `${shown.join('')}${more > 0 ? `... and ${more} more; ${report} has all\n` : ''}`;
}

/** Writes the complete report to the file of `--report`, one JSON object a line. @throws CtlFailure */
export async function writeUnitReport({ args }: CtlContext, rows: readonly object[]): Promise<void> {
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
