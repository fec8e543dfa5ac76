import { cutLine } from '../../platform/terminal/columns.ts';
import type { Clock } from '../../platform/process/clock.ts';

const TTY_INTERVAL_MS = 200;
const LOG_INTERVAL_MS = 10_000;

/** Where a command writes text. */
export interface TextOutput {
  write(text: string): unknown;
}

/** Where progress is shown. */
export interface ProgressOutput extends TextOutput {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** One line that says how far something is. */
export interface ProgressDisplay {
  /**
   * Shows it, unless the last time was just now.
   *
   * @param phase of the work; a new one is shown immediately
   */
  show(text: string, phase?: string): void;
  end(): void;
}

/** Makes a line that is written over on a terminal, and elsewhere a new line every few seconds and for each phase. */
export function createProgressDisplay(output: ProgressOutput, clock: Clock): ProgressDisplay {
  const terminal = output.isTTY === true;
  const interval = terminal ? TTY_INTERVAL_MS : LOG_INTERVAL_MS;
  let last = clock.monotonic();
  let shownPhase: string | undefined;
  let open = false;
  return {
    show: (text, phase = shownPhase) => {
      if (phase === shownPhase && clock.monotonic() - last < interval) return;
      shownPhase = phase;
      last = clock.monotonic();
      open = terminal;
      output.write(terminal ? `\r\u001b[K${fitted(text, output)}` : `${text}\n`);
    },
    end: () => {
      if (open) output.write('\r\u001b[K');
      open = false;
    },
  };
}

/** Shows how far some work is, and takes the line away when the work has ended. */
export async function withProgress<T>(
  { stderr, clock }: { stderr: ProgressOutput; clock: Clock },
  work: (display: ProgressDisplay) => Promise<T>,
): Promise<T> {
  const display = createProgressDisplay(stderr, clock);
  try {
    return await work(display);
  } finally {
    display.end();
  }
}

/** A line that wraps cannot be written over: each update would leave a row behind. */
function fitted(text: string, { columns = 0 }: ProgressOutput): string {
  // A terminal of an unknown width says 0.
  return columns > 1 ? cutLine(text, columns - 1) : text;
}
