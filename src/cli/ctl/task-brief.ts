import { isRecord } from '../../domain/is-record.ts';
import { countNoun } from '../../domain/count-noun.ts';
import { runBrief } from '../../domain/translation/run-brief.ts';
import { namedRelease } from '../../domain/release/named-release.ts';
import { textExcerpt } from '../../platform/terminal/text-table.ts';
import { percentOf, type Progress } from '../output/progress-line.ts';
import type { ReportOf } from './reports.ts';

/** A task as task.status and task.list give it. */
export type TaskView = ReportOf<'task.status'>['task'];

interface OutcomeWords {
  readonly progress: (progress: Progress) => string;
  readonly result: (result: NonNullable<TaskView['result']>) => string;
}

/** Describes how a task goes or ended; empty when there is nothing to say yet. */
export function describeOutcome(task: TaskView, words: OutcomeWords): string {
  const run = runBrief(task.result);
  if (run !== null) return run;
  if (task.failure_code !== null) return `${task.failure_code}: ${task.failure_reason ?? ''}`;
  if (task.status === 'running' && task.progress !== null) return words.progress(task.progress);
  if (task.cancel_requested_at !== null) return `cancelled: ${task.cancel_reason ?? 'no reason given'}`;
  return task.result === null ? '' : words.result(task.result);
}

const BRIEF_MAX = 100;
/** The same in a wide list, which has room for the message of a failure. */
const WIDE_MAX = 1000;
const SHOWN_COUNTS = 3;

const BRIEF: OutcomeWords = { progress: progressBrief, result: resultBrief };

/** Describes a task in a few words for a list: how it goes or ended, which schedule started it, and why. */
export function briefOf(task: TaskView, { wide }: { wide: boolean }): string {
  const { reason, schedule_id: schedule } = task;
  const facts = [describeOutcome(task, BRIEF), schedule === null ? '' : `schedule ${schedule}`, reason ?? ''];
  return textExcerpt(facts.filter((fact) => fact !== '').join('; ') || '-', wide ? WIDE_MAX : BRIEF_MAX);
}

function progressBrief(progress: Progress): string {
  const { phase, total, unit } = progress;
  const percent = percentOf(progress);
  if (percent === null) return phase;
  return unit === 'bytes' ? `${phase}: ${percent} %` : `${phase}: ${percent} % of ${total} ${unit}`;
}

/** Such as `r90: 333 containers, 140 parsed`; an import counts in an object of its own. The whole result is in `task show`. */
function resultBrief(result: Readonly<Record<string, unknown>>): string {
  const { counts: outcomes, issues_left_out: _unlisted, ...others } = result;
  const members = Object.entries(isRecord(outcomes) ? { ...outcomes, ...others } : others);
  const marks = members.flatMap(([name, value]) => (value === true ? [name.replaceAll('_', ' ')] : []));
  const counts = members.flatMap(([name, value]) => {
    const noun = typeof value === 'number' || typeof value === 'bigint' ? countNoun(name, value) : null;
    return noun === null ? [] : [{ isZero: Number(value) === 0, text: `${String(value)} ${noun}` }];
  });
  const done = counts.filter(({ isZero }) => !isZero);
  // When nothing was to do, one count says so.
  const shown = done.length > 0 ? done.slice(0, SHOWN_COUNTS) : counts.slice(0, marks.length > 0 ? 0 : 1);
  const facts = [...marks, ...shown.map(({ text }) => text)].join(', ');
  return [namedRelease(result) ?? '', facts].filter((part) => part !== '').join(': ');
}
