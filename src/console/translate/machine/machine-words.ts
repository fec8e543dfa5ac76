/** What runs with a provider did and would use, in words; pure. */

import { isRecord } from '../../../domain/is-record.ts';
import type { Task } from '../../api/wire.ts';
import { isDryRun } from '../../state/tasks.ts';
import { count, counted, words } from '../../text/format.ts';

type Members = Readonly<Record<string, unknown>>;

/** A text that a run could not translate. */
interface FailedUnit {
  readonly task: string;
  readonly unit: string;
  readonly reason: string;
}

/** Whether a task is a run with a provider: no estimate, no trial of one line, and no suggestions for a person. */
export function isRun(task: Task): boolean {
  const { kind, args } = task;
  if (isDryRun(task) || args['suggest'] !== undefined || args['try_text'] !== undefined) return false;
  return kind === 'worker-run' || (kind === 'proofread' && args['provider'] !== undefined);
}

/** The part of a result that is about a provider: the whole of a translation, one member of a review. */
export function reportOf({ kind, result }: Task): Members {
  const report = result ?? {};
  if (kind !== 'proofread') return report;
  // A review that failed has nothing else.
  return isRecord(report['evaluation']) ? report['evaluation'] : report;
}

/** The outcomes whose names a person does not know. */
const OUTCOMES: Readonly<Record<string, string>> = {
  reused: 'from the memory',
  repaired: 'translated after a second request',
  propagated: 'repetitions',
};

/** What was done, such as `40 translated, 20 left`. */
export function doneText(task: Task): string {
  const report = reportOf(task);
  const { units } = report;
  if (isRecord(units)) {
    const parts = Object.entries(units).flatMap(([outcome, number]) =>
      typeof number === 'number' && number > 0 ? [`${count(number)} ${OUTCOMES[outcome] ?? outcome}`] : [],
    );
    return parts.length === 0 ? 'Nothing was open.' : parts.join(', ');
  }
  if (report['evaluated'] === undefined) return '';
  const found = `${counted(numberAt(report, 'findings'), 'finding')} in ${counted(numberAt(report, 'evaluated'), 'translation')}`;
  const kinds = isRecord(report['findings_by_kind']) ? Object.entries(report['findings_by_kind']) : [];
  return [found, ...kinds.map(([kind, number]) => `${String(number)} ${kind}`)].join(' · ');
}

/** What a run used or would use, such as `3 requests · 1,200 tokens · cost 0.02`. */
export function usageText(report: Members): string {
  const usage = isRecord(report['usage']) ? report['usage'] : {};
  const tokens = numberAt(usage, 'prompt_tokens') + numberAt(usage, 'answer_tokens');
  const cost = numberAt(usage, 'cost');
  return [
    counted(numberAt(usage, 'requests'), 'request'),
    ...(tokens > 0 ? [counted(tokens, 'token')] : [counted(numberAt(usage, 'characters'), 'character')]),
    ...(cost > 0 ? [`cost ${Number(cost.toPrecision(3))}`] : []),
  ].join(' · ');
}

/** Why texts are still open: the words of the provider, with the number of texts. */
export function reasonsOf(report: Members): readonly string[] {
  return listAt(report, 'reasons').map(
    ({ code, units, message }) => `${counted(Number(units), 'text')}: ${reasonText(code, message)}`,
  );
}

/** The texts that a provider did not translate; at most 50 are named. */
export function failedUnits(report: Members): readonly FailedUnit[] {
  return listAt(report, 'failed_units').map(({ task_id: task, unit_id: unit, code, message }) => ({
    task: String(task),
    unit: String(unit),
    reason: reasonText(code, message),
  }));
}

/** A code with what the provider said. */
export function reasonText(code: unknown, message: unknown): string {
  return `${words(String(code).replaceAll('_', ' '))} – ${String(message)}`;
}

/** A number of a result; 0 without one. */
export function numberAt(members: Members, name: string): number {
  const value = members[name];
  return typeof value === 'number' ? value : 0;
}

function listAt(members: Members, name: string): readonly Members[] {
  const value = members[name];
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
