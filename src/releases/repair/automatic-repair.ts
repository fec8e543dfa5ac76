import type { ReleaseParts } from '../release-parts.ts';
import { backoffMs, type BackoffOptions } from '../../platform/process/backoff.ts';
import { createLoop, type Loop } from '../../platform/process/loop.ts';
import { callOf } from '../../engine/tasks/job.ts';
import { DAMAGE_REPAIR_JOB } from '../jobs/release-jobs.ts';

/** Longest wait: the clock and the settings may change meanwhile. */
const LONGEST_WAIT_MS = 60_000;
/** Waits after tasks that failed before they tried everything that was due, for example on a full volume. */
const TASK_BACKOFF: BackoffOptions = { baseMs: 2000, capMs: LONGEST_WAIT_MS };

/**
 * Creates the background work that queues a repair whenever known damage is due for one. New damage is repaired immediately, and a
 * repair that failed is retried when its wait is over. All it knows is in the database, so it continues after a restart.
 */
export function createAutomaticRepair({
  attempts,
  damage,
  engine,
  clock,
  random,
  logger,
  configuration,
}: ReleaseParts): Loop {
  let failures = 0;
  let notBeforeMs = 0;

  const isDue = (nowMs: number): boolean => {
    const nextAtMs = attempts.nextAtMs();
    return nextAtMs !== null && nextAtMs <= nowMs;
  };

  engine.onFinished(({ kind, status }) => {
    if (kind !== DAMAGE_REPAIR_JOB.kind) return;
    const nowMs = clock.now();
    failures = status === 'failed' && isDue(nowMs) ? failures + 1 : 0;
    notBeforeMs = failures === 0 ? 0 : nowMs + backoffMs(failures, TASK_BACKOFF, random(), null);
    loop.wake();
  });

  /** Queues a repair that is due; returns the milliseconds until the next one can be due. */
  const queueDue = (): number => {
    const nowMs = clock.now();
    attempts.forgetOld(nowMs);
    const nextAtMs = configuration().automaticRepair ? attempts.nextAtMs() : null;
    if (nextAtMs === null) return LONGEST_WAIT_MS;
    const waitMs = Math.max(nextAtMs, notBeforeMs) - nowMs;
    if (waitMs > 0) return Math.min(waitMs, LONGEST_WAIT_MS);
    // While a repair runs this changes nothing; its end starts the next round.
    engine.submit({ ...callOf(DAMAGE_REPAIR_JOB, {}), dedupe: true });
    return LONGEST_WAIT_MS;
  };

  const loop = createLoop({
    clock,
    turn: queueDue,
    onFailure: (error) => {
      logger.error({ err: error }, 'a repair of known damage could not be queued; retrying');
      return LONGEST_WAIT_MS;
    },
  });

  damage.onDamage(() => {
    loop.wake();
  });
  return loop;
}
