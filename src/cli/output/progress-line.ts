import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import { textBytes } from '../../domain/text-bytes.ts';

/** A task's progress as the daemon reports it. */
export type Progress = NonNullable<ReportBodyOf<'task.status'>['task']['progress']>;

const WIDTH = 28;

/** The part that is done, as an integer of percent; `null` while nobody knows how much there is. */
export function percentOf({ done, total }: Progress): number | null {
  return total === null || total === 0 ? null : Math.floor((100 * Math.min(done, total)) / total);
}

/** Renders progress as one line: `download [######------]  42 %  120.0 MiB of 280.0 MiB`. */
export function renderProgress(progress: Progress): string {
  const { done, total, unit, phase } = progress;
  const amount = (value: number): string => (unit === 'bytes' ? textBytes(value) : `${value} ${unit}`);
  const percent = percentOf(progress);
  if (total === null || percent === null) return `${phase} ${amount(done)}`;
  const filled = Math.round((percent / 100) * WIDTH);
  const bar = `${'#'.repeat(filled)}${'-'.repeat(WIDTH - filled)}`;
  const reached = unit === 'bytes' ? amount(done) : String(done);
  return `${phase.padEnd(10)} [${bar}] ${String(percent).padStart(3)} %  ${reached} of ${amount(total)}`;
}
