import type { z } from 'zod';
import type { Answer } from '../../src/contract/operations/operation-definition.ts';
import { REPORTS, type ReportName } from '../../src/contract/reports/reports.ts';
import { ANSWER_EXAMPLES } from './example-answers.ts';
import { REPORT_EXAMPLES } from './example-reports.ts';
import { EXAMPLE } from './example-values.ts';

const EXAMPLES: ReadonlyMap<Answer, unknown> = new Map([
  ...ANSWER_EXAMPLES,
  ...(Object.keys(REPORTS) as ReportName[]).map((name): readonly [Answer, unknown] => [
    REPORTS[name].answer,
    {
      report: name,
      generated_at: EXAMPLE.at,
      daemon: { version: '0.1.0', boot_id: '2f1c0c5e-6a0b-4c53-9a39-5f1f3f0f9d11' },
      ...REPORT_EXAMPLES[name],
    },
  ]),
]);

/** The example of an answer, which the documents show and a test holds to its schema. */
export function exampleOf<A extends Answer>(answer: A): z.input<A['schema']> {
  if (!EXAMPLES.has(answer)) throw new Error('an answer has no example; add it beside the others');
  return EXAMPLES.get(answer) as z.input<A['schema']>;
}
