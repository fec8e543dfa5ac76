import { TaskError, type TaskContext, type TaskResult } from '../../../engine/tasks/task.ts';
import type { Lease } from '../work/leases/chunk-leases.ts';
import { countText } from '../../../domain/count-text.ts';
import { createChunkClaims, type ChunkClaims } from './chunk-claims.ts';
import { translateChunk, type DecidedEnd, type StopReason } from './translate-chunk.ts';
import { LeaseLostError, holdLease } from './held-lease.ts';
import type { RunContext } from '../run-context.ts';
import type { FailureReason } from './run-tally.ts';
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
  /** Why chunks have open units, by the place of the chunk; the last try counts. */
  readonly delays: Map<string, FailureReason>;
  /** Units of the chunks whose lease was lost. */
  lost: number;
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
  const stepUnits = provider.stepSize.units;
  const { lastTask, copied, ...open } = await thread.openUnits({ taskId, maxTasks, stepUnits });
  const total = open.units;
  const expected = { units: total, requests: provider.requestsPerUnit === 0 ? 0 : open.steps };
  context.log('info', expectation(expected), { provider: provider.name });
  provider.beginRun();
  provider.fallback?.beginRun();
  const state: RunState = {
    claims: createChunkClaims(world),
    total,
    passed: 0,
    stop: null,
    troubles: 0,
    delays: new Map(),
    lost: 0,
  };
  await workTogether(world, state, context);
  // Units that people hold, and those that got the target of an equal one, were in no chunk.
  if (state.stop === null) context.progress(total, total, 'units', 'translating');
  const repeated = await thread.repeatedUnits({ taskId, lastTask });
  // A new release begins the count of the copies again.
  const propagated = Math.max(0, repeated.copied - copied) + repeated.waiting;
  const { delayed, leased } = await thread.withheldUnits({
    taskId,
    lastTask,
    known: [...state.delays.keys()],
  });
  const judged = outcomeOf({
    tally,
    stop: state.stop,
    delays: [...state.delays.values()],
    left: tally.left(total, propagated),
    // Another run may have taken a part whose lease was lost.
    withheld: {
      failed: open.failedBefore,
      delayed,
      lost: state.lost,
      leased: Math.max(0, leased - state.lost),
    },
    repeated: propagated,
  });
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
  /** That ask for each unit once. */
  readonly requests: number;
}

function expectation({ units, requests }: ExpectedRequests): string {
  const begins = `the run begins with ${countText(units, 'open unit')}`;
  if (requests === 0) return `${begins}, and sends no request`;
  return `${begins}: about ${countText(requests, 'request')}, fewer where the Translation Memory has translations, and more where answers cannot be used`;
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
    if (isHeld) noteDelay(state, lease, decided);
    else state.lost += decided.left;
    noteStop(state, decided, Math.min(MOST_TROUBLES, settings.maxAttempts) * settings.concurrency);
  } catch (error) {
    await held.stop();
    if (error instanceof LeaseLostError || held.lost.reason instanceof LeaseLostError) {
      tally.chunk('lost');
      state.lost += lease.units.length;
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

/** Keeps why a chunk has open units that may be tried again. */
function noteDelay(
  { delays }: RunState,
  { taskSeq, number }: Lease,
  { delay, left }: DecidedEnd & { readonly left: number },
): void {
  const place = `${taskSeq}/${number}`;
  if (delay === null) delays.delete(place);
  else delays.set(place, { code: delay.code, units: left, message: delay.message });
}

/** Lets a run end when no other chunk can succeed, or when too many in a row met trouble of the provider. */
function noteStop(state: RunState, { stop, trouble }: DecidedEnd, mostTroubles: number): void {
  state.troubles = trouble === null ? 0 : state.troubles + 1;
  state.stop ??= stop ?? (state.troubles >= mostTroubles ? trouble : null);
  if (state.stop !== null) state.claims.close();
}
