import { TaskError, type TaskContext, type TaskResult } from '../../../engine/tasks/task.ts';
import type { Lease } from '../work/leases/chunk-leases.ts';
import { countText } from '../../../domain/count-text.ts';
import { createChunkClaims, type ChunkClaims } from './chunk-claims.ts';
import { translateChunk, type DecidedEnd, type StopReason } from './translate-chunk.ts';
import { LeaseLostError, holdLease } from './held-lease.ts';
import type { RunContext } from '../run-context.ts';
import { outcomeOf } from './run-outcome.ts';
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
  lastTrouble: StopReason | null;
  /** Units of the chunks that met trouble and were not tried again yet, by the place of the chunk. */
  readonly troubled: Map<string, number>;
}

/** Chunks in a row, for each that is worked on together, that may fail because of the provider before the run gives up; fewer with a smaller `max_attempts`. */
const MOST_TROUBLES = 3;

/**
 * Translates open units until there are no more, the run is cancelled, a cap is reached, or the provider cannot be used.
 *
 * @returns the counts, the usage and the outcome of the run
 * @throws TaskError with the code of the provider's failure, and the counts as its details; the reason of the signal
 */
export async function runWorkers(world: RunWorld, context: WorkerContext): Promise<TaskResult> {
  const { thread, settings, tally, provider } = world;
  await thread.takeBack(settings.owner);
  if (settings.force) await thread.reopenChunks(settings.taskId);
  const { taskId, maxTasks } = settings;
  const { units: total, lastTask, copied, failedBefore } = await thread.openUnits({ taskId, maxTasks });
  const expected = expectedRequests(world, total);
  context.log('info', expectation(total, expected), { provider: provider.name });
  provider.beginRun();
  provider.fallback?.beginRun();
  const state: RunState = {
    claims: createChunkClaims(world),
    total,
    passed: 0,
    stop: null,
    troubles: 0,
    lastTrouble: null,
    troubled: new Map(),
  };
  await workTogether(world, state, context);
  // Units that people hold, and those that got the target of an equal one, were in no chunk.
  if (state.stop === null) context.progress(total, total, 'units', 'translating');
  const repeated = await thread.repeatedUnits({ taskId, lastTask });
  // A new release begins the count of the copies again.
  const propagated = Math.max(0, repeated.copied - copied) + repeated.waiting;
  const units = [...state.troubled.values()].reduce((sum, some) => sum + some, 0);
  const trouble = { reason: state.lastTrouble, units };
  const judged = outcomeOf({ tally, stop: state.stop, trouble, failedBefore, repeated: propagated });
  return resultOf(world, state.stop, { ...judged, ...tally.report(total, propagated), expected });
}

/** Works on chunks together. When one worker fails, the others release their leases, too. */
async function workTogether(world: RunWorld, state: RunState, context: WorkerContext): Promise<void> {
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
      failed.abort(error);
      throw error;
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: world.settings.concurrency }, work));
  context.signal.throwIfAborted();
  const rejected = ended.find(({ status }) => status === 'rejected');
  if (rejected?.status === 'rejected') throw failed.signal.reason as Error;
}

interface ExpectedRequests {
  readonly units: number;
  readonly requests: number;
  /** If every request failed. */
  readonly most_requests: number;
}

/** The requests that a run needs at most when all of them succeed, and when none does. */
function expectedRequests(
  { provider: { stepSize, requestsPerUnit } }: RunWorld,
  units: number,
): ExpectedRequests {
  const requests = requestsPerUnit === 0 ? 0 : Math.ceil(units / stepSize.units);
  return { units, requests, most_requests: requests + units * requestsPerUnit };
}

function expectation(total: number, { requests, most_requests: most }: ExpectedRequests): string {
  const units = countText(total, 'open unit');
  if (most === 0) return `the run begins with ${units}, and sends no request`;
  return `the run begins with ${units}: about ${countText(requests, 'request')} without those that the Translation Memory saves, and never more than ${most}`;
}

type JudgedReport = ReturnType<typeof outcomeOf> & Readonly<Record<string, unknown>>;

function resultOf(
  { settings, provider }: RunWorld,
  stop: StopReason | null,
  { outcome, reasons, ...report }: JudgedReport,
): TaskResult {
  const result = {
    outcome,
    provider: provider.name,
    model: provider.model,
    worker_id: settings.owner,
    dry_run: false,
    reasons,
    ...report,
    stopped: stop === null ? null : stop.code,
  };
  const [first] = reasons;
  if (stop !== null && stop.code !== 'cap_reached')
    throw new TaskError(stop.code, stop.message, { details: result });
  if (outcome !== 'failed' || first === undefined || stop !== null) return result;
  throw new TaskError(first.code, first.message, { details: result });
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
    tally.failed(lease.taskId, decided.failed);
    if (decided.retryAt !== null && isHeld) state.claims.retry(lease, decided.retryAt);
    else state.passed += decided.units;
    noteTrouble(state, lease, decided);
    noteStop(state, decided, Math.min(MOST_TROUBLES, settings.maxAttempts) * settings.concurrency);
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

/** Keeps which chunks wait for the provider. */
function noteTrouble(
  state: RunState,
  { taskSeq, number }: Lease,
  { trouble, units }: DecidedEnd & { readonly units: number },
): void {
  const place = `${taskSeq}/${number}`;
  if (trouble === null) state.troubled.delete(place);
  else state.troubled.set(place, units);
  state.lastTrouble = trouble ?? state.lastTrouble;
}

/** Lets a run end when no other chunk can succeed, or when too many in a row met trouble of the provider. */
function noteStop(state: RunState, { stop, trouble }: DecidedEnd, mostTroubles: number): void {
  state.troubles = trouble === null ? 0 : state.troubles + 1;
  state.stop ??= stop ?? (state.troubles >= mostTroubles ? trouble : null);
  if (state.stop !== null) state.claims.close();
}
