import type { IsolatedAnswer, IsolatedRequest } from './isolated-messages.ts';
import { hasEnded, startProcess, type IsolatedProcess, type ProcessOptions } from './start-process.ts';
import { createStopwatch, watchLimits, type IsolatedFailure, type JobLimits } from './watch-limits.ts';

export type IsolatedOutcome<Result> =
  | { readonly kind: 'done'; readonly result: Result }
  | ({ readonly kind: 'failed' } & IsolatedFailure);

/** Takes the parts of a result, one call after the other; the process runs ahead by a bounded number of them. */
type TakePiece<Piece> = (piece: Piece) => void | Promise<void>;

export interface IsolatedWorker<Job, Piece, Result> {
  /** Starts the process, so that the first job does not wait for it. Does nothing where one runs. */
  prepare(): void;
  /**
   * Does one job. A process that crashes, exceeds its memory or its time costs only this job; the next one gets a new
   * process. A process that already did others may hold memory of theirs: a job that exceeds the memory in it is done
   * again in a new one, and only the pieces that were not handed over before reach `onPiece`. A job must give the same
   * pieces every time.
   *
   * @throws the reason of the signal; the error of `onPiece`
   */
  run(job: Job, onPiece: TakePiece<Piece>, signal: AbortSignal): Promise<IsolatedOutcome<Result>>;
  /** Ends the process. */
  close(): void;
}

export interface IsolatedWorkerOptions<Setup> extends ProcessOptions, JobLimits {
  readonly setup: Setup;
}

/** How V8 and Node say that memory could not be allocated. */
const OUT_OF_MEMORY = /heap out of memory|Allocation failed|allocation failed/;

/** Creates a worker; its process starts with the first job, or earlier when it is prepared. */
export function createIsolatedWorker<Setup, Job, Piece, Result>(
  options: IsolatedWorkerOptions<Setup>,
): IsolatedWorker<Job, Piece, Result> {
  let current: IsolatedProcess | null = null;

  const discard = (): void => {
    current?.child.kill('SIGKILL');
    current = null;
  };
  const processForJob = (): IsolatedProcess => {
    // A process that ended between two jobs is none of the next one's business.
    if (current !== null && hasEnded(current)) current = null;
    if (current === null) {
      current = startProcess(options);
      send<Setup, Job>(current, { kind: 'setup', setup: options.setup });
    }
    return current;
  };
  const runOnce = async (
    job: Job,
    onPiece: TakePiece<Piece>,
    signal: AbortSignal,
  ): Promise<{ readonly outcome: IsolatedOutcome<Result>; readonly isFresh: boolean }> => {
    signal.throwIfAborted();
    const active = processForJob();
    const isFresh = active.jobs === 0;
    active.jobs += 1;
    const end = (): void => {
      if (current === active) discard();
    };
    const attempt = { active, limits: options, end, onPiece };
    return { outcome: await runJob<Job, Piece, Result>(attempt, job, signal), isFresh };
  };

  return {
    prepare: () => void processForJob(),
    run: async (job, onPiece, signal) => {
      let handedOver = 0;
      const count: TakePiece<Piece> = async (piece) => {
        await onPiece(piece);
        handedOver += 1;
      };
      const { outcome, isFresh } = await runOnce(job, count, signal);
      if (isFresh || outcome.kind === 'done' || outcome.code !== 'memory_exceeded') return outcome;
      return (await runOnce(job, withoutFirst(handedOver, onPiece), signal)).outcome;
    },
    close: discard,
  };
}

interface Attempt<Piece> {
  readonly active: IsolatedProcess;
  readonly limits: JobLimits;
  readonly onPiece: TakePiece<Piece>;
  /** Ends the process. */
  readonly end: () => void;
}

async function runJob<Job, Piece, Result>(
  { active, limits, onPiece, end }: Attempt<Piece>,
  job: Job,
  signal: AbortSignal,
): Promise<IsolatedOutcome<Result>> {
  const watching = new AbortController();
  const time = createStopwatch(limits.clock);
  const { promise, resolve, reject } = Promise.withResolvers<IsolatedOutcome<Result>>();
  let stored = Promise.resolve();
  const fail = (failure: IsolatedFailure): void => {
    end();
    // A piece that is being handed over counts as handed over.
    stored.then(() => resolve({ kind: 'failed', ...failure }), reject);
  };
  const store = async (piece: Piece): Promise<void> => {
    // After an error, and after the end of the process, nobody wants the rest.
    if (watching.signal.aborted) return;
    time.pause();
    await onPiece(piece);
    time.resume();
    send<never, Job>(active, { kind: 'continue' });
  };
  const onMessage = (answer: IsolatedAnswer<Piece, Result>): void => {
    if (answer.kind === 'done') stored.then(() => resolve(answer), reject);
    else {
      stored = stored.then(async () => await store(answer.piece));
      stored.catch(reject);
    }
  };
  const onAbort = (): void => {
    reject(signal.reason as Error);
  };
  active.child.on('message', onMessage);
  active.onEnd = (how) => {
    const code = OUT_OF_MEMORY.test(how) ? 'memory_exceeded' : 'process_failed';
    fail({ code, message: `the process that did the work ended ${how}` });
  };
  signal.addEventListener('abort', onAbort, { once: true });
  watchLimits(active.child.pid, limits, time, watching.signal, fail);
  send<never, Job>(active, { kind: 'job', job, scratchDirectory: active.scratchDirectory });
  try {
    return await promise;
  } catch (error) {
    // The process is in the middle of a job that nobody waits for.
    end();
    throw error;
  } finally {
    watching.abort();
    active.child.off('message', onMessage);
    active.onEnd = () => undefined;
    signal.removeEventListener('abort', onAbort);
  }
}

function withoutFirst<Piece>(count: number, onPiece: TakePiece<Piece>): TakePiece<Piece> {
  let left = count;
  return async (piece) => {
    if (left === 0) await onPiece(piece);
    else left -= 1;
  };
}

/** A message that cannot be sent reaches a process that is ending; its exit reports that. */
function send<Setup, Job>({ child }: IsolatedProcess, request: IsolatedRequest<Setup, Job>): void {
  if (child.connected) child.send(request, () => undefined);
}
