/** The course of a task as steps with their speed; pure. */

import type { Report, Task } from '../api/wire.ts';
import { type ProgressSample, secondsLeft, speedsOf, meanRate } from '../charts/throughput.ts';
import type { Step } from '../components/stepper.tsx';
import { isActive } from '../state/tasks.ts';
import { count, duration, textBytes } from '../text/format.ts';

export type TaskStatus = Report<'task.status'>;
type CoursePhase = NonNullable<TaskStatus['course']>[number];

/** The mean reaches this far back, so that the time left does not jump, seconds. */
const RECENT_SECONDS = 20;

/** An amount of a unit: `12 MiB`, `3 entries`. */
export function amount(value: number, unit: string): string {
  return unit === 'bytes' ? textBytes(value) : `${count(Math.round(value))} ${unit}`;
}

/** A speed of a unit: `12 MiB/s`. */
export function speedText(rate: number, unit: string): string {
  if (unit === 'bytes') return `${textBytes(Math.round(rate))}/s`;
  return `${rate < 10 ? rate.toFixed(1) : count(Math.round(rate))} ${unit}/s`;
}

/** The samples of one phase for the curve. */
export function samplesOf({ phase, samples }: CoursePhase): readonly ProgressSample[] {
  return samples.map(({ at, done }) => ({ at, done, phase }));
}

/** The phase whose speed says most: the one that took longest. */
export function mainPhase(course: readonly CoursePhase[]): CoursePhase | null {
  const seconds = ({ samples }: CoursePhase): number => (samples.at(-1)?.at ?? 0) - (samples[0]?.at ?? 0);
  return course.reduce<CoursePhase | null>(
    (longest, phase) => (longest === null || seconds(phase) > seconds(longest) ? phase : longest),
    null,
  );
}

/** The phases of a task, the last one with how the task goes or ended. */
export function taskSteps({ task, course }: TaskStatus): readonly Step[] {
  return course.map((phase, index) => {
    const isLast = index === course.length - 1;
    const state = isLast ? stateOf(task) : 'done';
    return { key: `${index} ${phase.phase}`, text: phase.phase, state, detail: detailOf(phase, state) };
  });
}

function stateOf(task: Task): Step['state'] {
  if (isActive(task)) return task.status === 'queued' ? 'stopped' : 'now';
  if (task.status === 'succeeded') return 'done';
  return task.status === 'failed' ? 'failed' : 'stopped';
}

function detailOf(phase: CoursePhase, state: Step['state']): string {
  const { unit, total, samples } = phase;
  const done = samples.at(-1)?.done ?? 0;
  const speeds = speedsOf(samplesOf(phase));
  const rate = meanRate(speeds, state === 'now' ? RECENT_SECONDS : Infinity);
  const left = state === 'now' ? secondsLeft({ done, total }, speeds, RECENT_SECONDS) : null;
  const of = state === 'done' || total === null ? '' : ` of ${amount(total, unit)}`;
  const spent = (samples.at(-1)?.at ?? 0) - (samples[0]?.at ?? 0);
  return [
    // A phase reports its amount at intervals, so one that is done says how much there was.
    state === 'done' && total !== null ? amount(total, unit) : `${amount(done, unit)}${of}`,
    rate === null || rate === 0 ? null : speedText(rate, unit),
    state === 'now'
      ? left === null
        ? null
        : `about ${duration(left)} left`
      : spent < 1
        ? 'in under 1 s'
        : `in ${duration(spent)}`,
  ]
    .filter((part) => part !== null)
    .join(' · ');
}
