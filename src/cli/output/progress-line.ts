import { textBytes } from '../../platform/terminal/text-table.ts';

/** A task's progress as the daemon reports it. */
export interface Progress {
  readonly done: number;
  readonly total: number | null;
  readonly unit: string;
  readonly phase: string;
}

const WIDTH = 28;

/** Renders progress as one line: `download [######------]  42 %  120.0 MiB of 280.0 MiB`. */
export function renderProgress(progress: Progress): string {
  const { done, total, unit, phase } = progress;
  const amount = (value: number): string => (unit === 'bytes' ? textBytes(value) : `${value} ${unit}`);
  if (total === null || total === 0) return `${phase} ${amount(done)}`;
  const share = Math.min(1, done / total);
  const filled = Math.round(share * WIDTH);
  const bar = `${'#'.repeat(filled)}${'-'.repeat(WIDTH - filled)}`;
  const reached = unit === 'bytes' ? amount(done) : String(done);
  return `${phase.padEnd(10)} [${bar}] ${String(Math.floor(share * 100)).padStart(3)} %  ${reached} of ${amount(total)}`;
}
