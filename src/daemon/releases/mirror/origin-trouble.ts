import type { Clock } from '../../../platform/process/clock.ts';
import { callOf } from '../../tasks/job.ts';
import type { TaskEngine } from '../../tasks/task-engine.ts';
import { SYNC_JOB } from '../jobs/release-jobs.ts';

/** Milliseconds without a look that succeeds, after which a sync is queued. */
const LONG_MS = 30_000;

/**
 * Why the origin of an edge cannot be followed. When that lasts, it queues one sync, which fails for the same reason: the state of the
 * service tells a failed sync on every surface.
 */
export interface OriginTrouble {
  /** The reason; `null` while the origin can be followed. */
  message(): string | null;
  /** Notes that a look failed. */
  note(message: string): void;
  /** Notes that a look succeeded. */
  end(): void;
}

/** Creates it without trouble. */
export function createOriginTrouble({
  engine,
  clock,
}: {
  readonly engine: Pick<TaskEngine, 'submit' | 'historyOf'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}): OriginTrouble {
  let trouble: { readonly message: string; readonly since: number; readonly isTold: boolean } | null = null;
  return {
    message: () => trouble?.message ?? null,
    note: (message) => {
      const since = trouble?.since ?? clock.monotonic();
      const isKnown = trouble?.isTold === true || engine.historyOf(SYNC_JOB.kind).consecutiveFailures > 0;
      const isLong = clock.monotonic() - since >= LONG_MS;
      if (isLong && !isKnown) engine.submit({ ...callOf(SYNC_JOB, {}), dedupe: true });
      trouble = { message, since, isTold: isKnown || isLong };
    },
    end: () => {
      trouble = null;
    },
  };
}
