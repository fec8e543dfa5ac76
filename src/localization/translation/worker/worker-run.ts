import { TaskError, type TaskContext, type TaskResult } from '../../../engine/tasks/task.ts';
import type { Lease } from '../work/leases/chunk-leases.ts';
import { createChunkClaims, type ChunkClaims } from './chunk-claims.ts';
import { translateChunk, type DecidedEnd, type StopReason } from './translate-chunk.ts';
import { LeaseLostError, holdLease } from './held-lease.ts';
import type { RunContext } from '../run-context.ts';
import type { RunWorld } from './run-world.ts';

interface WorkerContext extends RunContext {
  readonly log: TaskContext['log'];
}

interface RunState {
  readonly claims: ChunkClaims;
  readonly total: number;
  /** Units of the chunks whose work has ended. */
  passed: number;
  stop: StopReason | null;
  /** Chunks in a row that failed because the provider has trouble. */
  troubles: number;
}

/** Chunks in a row that may fail because of the provider before the run gives up. */
const MOST_TROUBLES = 10;

/**
 * Translates open units until there are no more, the run is cancelled, a cap is reached, or the provider cannot be used.
 *
 * @returns the counts and the usage of the run
 * @throws TaskError with the code of the provider's failure, and the counts as its details; the reason of the signal
 */
export async function runWorkers(world: RunWorld, context: WorkerContext): Promise<TaskResult> {
  const { thread, settings, tally } = world;
  await thread.takeBack(settings.owner);
  if (settings.force) await thread.reopenChunks(settings.taskId);
  const { taskId, maxTasks } = settings;
  const { units: total, lastTask, copied } = await thread.openUnits({ taskId, maxTasks });
  const state: RunState = { claims: createChunkClaims(world), total, passed: 0, stop: null, troubles: 0 };
  const failed = new AbortController();
  const signal = AbortSignal.any([context.signal, failed.signal]);
  const work = async (): Promise<void> => {
    try {
      for (;;) {
        const lease = await state.claims.next(signal);
        if (lease === null) return;
        await workOn(world, state, lease, context, signal);
      }
    } catch (error) {
      // The other workers release their leases, too.
      failed.abort(error);
      throw error;
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: settings.concurrency }, work));
  context.signal.throwIfAborted();
  const rejected = ended.find(({ status }) => status === 'rejected');
  if (rejected?.status === 'rejected') throw failed.signal.reason as Error;
  // Units that people hold, and those that got the target of an equal one, were in no chunk.
  if (state.stop === null) context.progress(total, total, 'units', 'translating');
  const repeated = await thread.repeatedUnits({ taskId, lastTask });
  // A new release begins the count of the copies again.
  const propagated = Math.max(0, repeated.copied - copied) + repeated.waiting;
  return resultOf(world, state.stop, tally.report(total, propagated));
}

function resultOf({ settings, provider }: RunWorld, stop: StopReason | null, report: object): TaskResult {
  const result = {
    provider: provider.name,
    model: provider.model,
    worker_id: settings.owner,
    dry_run: false,
    ...report,
    stopped: stop === null ? null : stop.code,
  };
  if (stop === null || stop.code === 'cap_reached') return result;
  throw new TaskError(stop.code, stop.message, { details: result });
}

async function workOn(
  world: RunWorld,
  state: RunState,
  lease: Lease,
  context: WorkerContext,
  signal: AbortSignal,
): Promise<void> {
  const { thread, settings, clock, tally } = world;
  const held = holdLease(lease, { thread, clock, leaseSeconds: settings.leaseSeconds });
  try {
    const work = AbortSignal.any([signal, held.lost]);
    const decided = await translateChunk(world, lease, { work, lost: held.lost });
    const { end } = decided;
    if (end.kind === 'retry' || end.kind === 'failed') {
      context.log('warn', `part ${lease.number} of the task could not be translated: ${end.reason}`, {
        translation_task_id: lease.taskId,
        attempt: lease.attempt,
      });
    }
    await held.stop();
    const isHeld = await thread.endLease({ token: lease.token, outcome: end });
    tally.chunk(isHeld ? CHUNK_COUNTS[end.kind] : 'lost');
    tally.unit(lease.taskId, 'failed', decided.failedUnits);
    if (end.kind === 'retry' && isHeld) state.claims.retry(lease, end.nextAttemptAt);
    else state.passed += decided.units;
    noteStop(state, decided, Math.max(MOST_TROUBLES, 2 * settings.concurrency));
  } catch (error) {
    await held.stop();
    if (error instanceof LeaseLostError || held.lost.reason instanceof LeaseLostError) {
      tally.chunk('lost');
      context.log(
        'warn',
        `the lease on part ${lease.number} of the task was lost; nothing more was written`,
        {
          translation_task_id: lease.taskId,
        },
      );
      return;
    }
    tally.chunk('cancelled');
    await thread.endLease({ token: lease.token, outcome: { kind: 'cancelled' } }).catch(() => undefined);
    throw error;
  } finally {
    context.progress(Math.min(state.passed, state.total), state.total, 'units', 'translating');
  }
}

const CHUNK_COUNTS = {
  done: 'done',
  left: 'left',
  retry: 'retried',
  failed: 'failed',
  cancelled: 'cancelled',
} as const;

/** Lets a run end when no other chunk can succeed, or when too many in a row met trouble of the provider. */
function noteStop(state: RunState, { stop, trouble }: DecidedEnd, mostTroubles: number): void {
  state.troubles = trouble === null ? 0 : state.troubles + 1;
  state.stop ??= stop ?? (state.troubles >= mostTroubles ? trouble : null);
  if (state.stop !== null) state.claims.close();
}
