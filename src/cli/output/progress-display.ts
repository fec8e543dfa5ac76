import type { Clock } from '../../platform/process/clock.ts';

const TTY_INTERVAL_MS = 200;
const LOG_INTERVAL_MS = 5000;

/** Where progress is shown. */
export interface ProgressOutput {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

/** One line that says how far something is. */
export interface ProgressDisplay {
  /** Shows it, unless the last time was just now. */
  show(text: string): void;
  /** Takes the line away again. */
  end(): void;
}

/** Makes a line that is written over on a terminal, and a new line every few seconds elsewhere. */
export function createProgressDisplay(output: ProgressOutput, clock: Clock): ProgressDisplay {
  const terminal = output.isTTY === true;
  const interval = terminal ? TTY_INTERVAL_MS : LOG_INTERVAL_MS;
  let last = clock.monotonic();
  let open = false;
  return {
    show: (text) => {
      if (clock.monotonic() - last < interval) return;
      last = clock.monotonic();
      open = terminal;
      output.write(terminal ? `\r\u001b[K${text}` : `${text}\n`);
    },
    end: () => {
      if (open) output.write('\r\u001b[K');
      open = false;
    },
  };
}
