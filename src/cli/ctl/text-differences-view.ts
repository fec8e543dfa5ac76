import { z } from 'zod';
import { textExcerpt, textTable } from '../../platform/terminal/text-table.ts';
import { CTL_EXITS, CtlFailure } from './ctl-exits.ts';

const SIDE = z.looseObject({ destination: z.string(), field_path: z.string(), source_text: z.string() });

/** The result of a task of `text-differences`. */
const RESULT = z.looseObject({
  from: z.string(),
  to: z.string(),
  available: z.boolean(),
  total: z.int(),
  items: z.array(z.looseObject({ change: z.string(), unit: SIDE.nullable(), previous: SIDE.nullable() })),
});

/** Longest text in a cell, characters. */
const MAX_TEXT = 40;

/**
 * Renders the differences between two releases.
 *
 * @param result of the task
 * @param offset number of differences before the first one of the result
 * @throws CtlFailure when the releases were not compared, and when this version cannot read the result
 */
export function renderDifferences(result: unknown, offset: number): string {
  const parsed = RESULT.safeParse(result);
  if (!parsed.success) {
    throw new CtlFailure(CTL_EXITS.unreachable, 'the daemon sent differences that this version cannot read');
  }
  const { from, to, available, total, items } = parsed.data;
  if (!available) {
    const advice = 'the index compares each release with the one that was indexed before it';
    throw new CtlFailure(CTL_EXITS.failed, `${to} was not compared with ${from}: ${advice}`);
  }
  if (total === 0) return `the text of ${to} is that of ${from}\n`;
  const rows = items.map(({ change, unit, previous }) => {
    const side = unit ?? previous;
    return [change, side?.destination ?? '', side?.field_path ?? '', shorten(previous), shorten(unit)];
  });
  const shown = offset + items.length;
  const more = total > shown ? `${total - shown} more; --offset ${shown} shows them\n` : '';
  return `${textTable(['CHANGE', 'DESTINATION', 'FIELD', 'BEFORE', 'AFTER'], rows)}${total} differences\n${more}`;
}

function shorten(side: { readonly source_text: string } | null): string {
  return side === null ? '-' : textExcerpt(side.source_text, MAX_TEXT);
}
