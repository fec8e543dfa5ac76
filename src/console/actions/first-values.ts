/** The values that nearly everyone would fill in alike, action by action. */

import type { ConsoleContract } from '../../contract/console/console-contract.ts';
import type { Values } from '../forms/form-model.ts';
import type { ActionRequest, App } from '../state/app.ts';
import { readReport } from '../state/read-report.ts';

const DAY_SECONDS = 86_400;
const TIMES = ['every_seconds', 'delay_seconds', 'next_run_unix_seconds'];

/** Members of the body that a form begins with. @param now Unix seconds */
export function firstBody(
  { action, body = {} }: ActionRequest,
  { jobs }: ConsoleContract,
  now: number,
): Readonly<Record<string, unknown>> {
  switch (action) {
    case 'schedule-add': {
      // Without a time the daemon refuses a schedule, so the form begins with one.
      const repeat = TIMES.some((name) => name in body) ? {} : { every_seconds: DAY_SECONDS };
      return { group: Object.values(jobs)[0]?.groups[0] ?? 'res', ...repeat };
    }
    case 'translation-glossary-add':
      return { source: { source_kind: 'manual', observed_unix_seconds: Math.floor(now) } };
    default:
      return {};
  }
}

/** Values from a report, for fields that are still empty when it arrives. @throws ApiFailure */
export async function reportedValues(app: App, { action }: ActionRequest): Promise<Values> {
  if (action !== 'translation-glossary-add') return {};
  const { pairs } = await readReport(app, 'translation.glossary.summary');
  const [pair] = pairs;
  if (pair === undefined || pairs.length > 1) return {};
  return { source_language: pair.source_language, target_language: pair.target_language };
}
