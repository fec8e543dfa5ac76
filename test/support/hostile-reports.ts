import { exampleOf } from '../../scripts/reference/examples.ts';
import { REPORTS, type ReportName } from '../../src/contract/reports/reports.ts';

/** Texts that would do harm as markup, as an address, as a template or as a control character. */
export const ATTACKS = [
  '<img src=x onerror=alert(1)>',
  '<script>alert(2)</script>',
  '"><svg/onload=alert(3)>',
  "javascript:alert(4)//'",
  '{{constructor.constructor("alert(5)")()}}',
  '</td></table><iframe srcdoc="<script>parent.alert(6)</script>">',
  '\u202eevil\u0000\u0007 \u2028 😀',
  'שלום \u2067مرحبا\u2069 \u200f\u061c',
];

/** All of them in one text. */
export const HOSTILE = ATTACKS.join(' ');

/** All of them in one text of more than 10,000 characters, most of which no line can break. */
export const LONG_HOSTILE = `${HOSTILE} ${'W'.repeat(10_000)}`;

/** Free objects, whose keys other programs write. */
const FREE_OBJECTS: ReadonlySet<string> = new Set(['args', 'result', 'fields']);

/**
 * The example of a report in which every text is hostile that the contract leaves free: not the names of states, and no ids of a
 * fixed form.
 *
 * @throws Error if no text of the report could be changed
 */
export function hostileReport(name: ReportName): object {
  const { answer } = REPORTS[name];
  const { schema } = answer;
  const body = structuredClone(exampleOf(answer)) as Container;
  let changed = 0;
  const change = (owner: Container, key: string): void => {
    const before = owner[key];
    for (const text of [LONG_HOSTILE, HOSTILE]) {
      owner[key] = text;
      if (schema.safeParse(body).success) {
        changed += 1;
        return;
      }
    }
    owner[key] = before;
  };
  const visit = (owner: Container): void => {
    for (const [key, value] of Object.entries(owner)) {
      if (typeof value === 'string') change(owner, key);
      else if (typeof value === 'object' && value !== null) {
        if (FREE_OBJECTS.has(key) && !Array.isArray(value)) owner[key] = { [HOSTILE]: LONG_HOSTILE };
        else visit(value as Container);
      }
    }
  };
  visit(body);
  if (changed === 0) throw new Error(`${name} has no free text`);
  return body;
}

/** An object or an array, by its keys. */
type Container = Record<string, unknown>;
