/** Milliseconds without a new record until the index begins: it would take time from those who write. */
const QUIET_MS = 2000;
/** Milliseconds until it begins although records still arrive. */
const LONGEST_MS = 30_000;

/**
 * Indexes the texts of new records after they were written, while the thread has nothing else to do.
 *
 * @param step indexes some records, for some tens of milliseconds; gives whether there may be more. It may throw: then the next
 *   change tries again.
 */
export function createTextIndexing(step: () => boolean): {
  changed(): void;
  /** Ends the work; records that are left are indexed by the next start. */
  stop(): void;
} {
  let timer: NodeJS.Timeout | null = null;
  let changedSince: number | null = null;

  const wait = (milliseconds: number): void => {
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(work, milliseconds).unref();
  };
  const work = (): void => {
    timer = null;
    changedSince = null;
    try {
      // A timer lets the calls that have arrived run before the next step.
      if (step()) wait(0);
    } catch {
      // The file cannot be used now. The next write and the upkeep name the reason.
    }
  };
  return {
    changed: () => {
      changedSince ??= performance.now();
      wait(Math.max(0, Math.min(QUIET_MS, changedSince + LONGEST_MS - performance.now())));
    },
    stop: () => {
      if (timer !== null) clearTimeout(timer);
      timer = null;
    },
  };
}
