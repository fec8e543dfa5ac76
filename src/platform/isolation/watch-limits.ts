import { readFileSync } from 'node:fs';
import type { Clock } from '../process/clock.ts';

/** Why an isolated process did not finish a job. */
export interface IsolatedFailure {
  readonly code: 'deadline_exceeded' | 'memory_exceeded' | 'process_failed';
  readonly message: string;
}

interface WorkNames {
  /** The work as the subject of a sentence, such as `parsing`. */
  readonly work: string;
  readonly timeoutSetting: string;
  readonly memorySetting: string;
}

/** The bounds of one job. */
export interface JobLimits {
  readonly memoryBytes: number;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly names: WorkNames;
}

/** Time between two checks of the memory of the process. */
const MEMORY_CHECK_MS = 100;
const PAGE_BYTES = 4096;

/** Measures the time of a process, without the time that its owner takes for the pieces. */
interface Stopwatch {
  pause(): void;
  resume(): void;
  /** Milliseconds. */
  elapsed(): number;
}

/** Starts a stopwatch. */
export function createStopwatch(clock: Clock): Stopwatch {
  let measured = 0;
  let since: number | null = clock.monotonic();
  const elapsed = (): number => measured + (since === null ? 0 : clock.monotonic() - since);
  return {
    pause: () => {
      measured = elapsed();
      since = null;
    },
    resume: () => {
      since = clock.monotonic();
    },
    elapsed,
  };
}

/** Watches a process until the job is done. */
export function watchLimits(
  pid: number | undefined,
  { memoryBytes, timeoutMs, clock, names }: JobLimits,
  time: Stopwatch,
  signal: AbortSignal,
  fail: (failure: IsolatedFailure) => void,
): void {
  const watch = async (): Promise<void> => {
    while (!signal.aborted) {
      const left = timeoutMs - time.elapsed();
      if (left <= 0) {
        const limit = `${timeoutMs / 1000} seconds (${names.timeoutSetting})`;
        fail({ code: 'deadline_exceeded', message: `${names.work} took longer than ${limit}` });
        return;
      }
      if (residentBytes(pid) > memoryBytes) {
        const limit = `${Math.floor(memoryBytes / (1024 * 1024))} MiB (${names.memorySetting})`;
        fail({ code: 'memory_exceeded', message: `${names.work} needed more than ${limit}` });
        return;
      }
      await clock.sleep(Math.min(MEMORY_CHECK_MS, Math.max(1, left)), signal);
    }
  };
  // It rejects only when the job is done.
  watch().catch(() => undefined);
}

/** Resident memory of a process; 0 where the system does not tell. Source: proc_pid_statm(5). */
function residentBytes(pid: number | undefined): number {
  try {
    const [, resident = '0'] = readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ');
    return Number(resident) * PAGE_BYTES;
  } catch {
    return 0;
  }
}
