import { fork } from 'node:child_process';
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import process from 'node:process';

/** A process that does nothing, as the peer of one that works: its stalls are those of the machine. */
export interface IdleProcess {
  /** Ends the process. @returns the longest stall of its event loop since its start, in seconds */
  stop(): Promise<number>;
}

/** As the daemon measures itself. */
const RESOLUTION_MS = 10;

/** Starts an idle process. */
export async function startIdleProcess(): Promise<IdleProcess> {
  const child = fork(import.meta.filename);
  await once(child, 'message');
  return {
    stop: async () => {
      child.send('end');
      const [seconds] = (await once(child, 'message')) as [number];
      child.disconnect();
      return seconds;
    },
  };
}

if (import.meta.main) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  process.on('message', () => process.send?.(delay.max / 1e9));
  process.send?.('ready');
}
