import { z } from 'zod';
import { countText } from '../../../domain/count-text.ts';

/** The parts of the result of an import or export that people see. */
const Outcome = z.looseObject({
  counts: z.record(z.string(), z.number()).optional(),
  written: z.number().optional(),
  refused: z.number().optional(),
  sha256: z.string().optional(),
  dry_run: z.boolean().optional(),
  issues: z
    .array(z.looseObject({ line: z.number().optional(), id: z.string().optional(), message: z.string() }))
    .optional(),
  issues_left_out: z.number().optional(),
});

/** The result of an import or export as fields. Values of another version are left out. */
export function renderOutcome(result: unknown): readonly (readonly [string, string])[] {
  const parsed = Outcome.safeParse(result);
  if (!parsed.success) return [['result', JSON.stringify(result)]];
  const {
    counts,
    written,
    refused = 0,
    sha256,
    issues = [],
    issues_left_out: more = 0,
    dry_run,
  } = parsed.data;
  const counted = Object.entries(counts ?? {})
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name.replaceAll('_', ' ')}`);
  const fields: (readonly [string, string])[] = [];
  if (dry_run === true) fields.push(['dry run', 'nothing was changed']);
  if (counts !== undefined) fields.push(['entries', counted.length === 0 ? 'none' : counted.join(', ')]);
  if (written !== undefined)
    fields.push(['written', `${written}${refused === 0 ? '' : `, ${refused} refused`}`]);
  if (sha256 !== undefined) fields.push(['sha256', sha256]);
  for (const { line, id, message } of issues) {
    fields.push([line === undefined ? (id ?? 'issue') : `line ${line}`, message]);
  }
  if (more > 0)
    fields.push(['more', `${countText(more, 'further issue is', 'further issues are')} not listed`]);
  return fields;
}
