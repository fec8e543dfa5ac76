/** A task's progress as the daemon reports it. */
export interface Progress {
  readonly done: number;
  readonly total: number | null;
  readonly unit: string;
  readonly phase: string;
}

const WIDTH = 28;

/** Renders progress as one line: `download [######------]  42 %  120 MB of 280 MB`. */
export function renderProgress(progress: Progress): string {
  const { done, total, unit, phase } = progress;
  const amount = (value: number): string =>
    unit === 'bytes' ? `${(value / 1e6).toFixed(1)} MB` : `${value} ${unit}`;
  if (total === null || total === 0) return `${phase} ${amount(done)}`;
  const share = Math.min(1, done / total);
  const filled = Math.round(share * WIDTH);
  const bar = `${'#'.repeat(filled)}${'-'.repeat(WIDTH - filled)}`;
  const reached = unit === 'bytes' ? amount(done) : String(done);
  return `${phase.padEnd(10)} [${bar}] ${String(Math.floor(share * 100)).padStart(3)} %  ${reached} of ${amount(total)}`;
}
