import {
  createIsolatedWorker,
  type IsolatedOutcome,
  type IsolatedWorker,
  type IsolatedWorkerOptions,
} from './isolated-worker.ts';

/** Does jobs in processes of their own, one at a time in each. */
interface IsolatedPool<Job, Piece, Result> {
  /** Starts the process of the first job. */
  prepare(): void;
  /**
   * Does a job as soon as a process is free; see {@link IsolatedWorker.run}. The next job in the queue has the process before
   * the caller continues, so that the process works while the caller stores.
   *
   * @returns how the job ended, and its time in seconds
   */
  run(
    ...job: Parameters<IsolatedWorker<Job, Piece, Result>['run']>
  ): Promise<IsolatedOutcome<Result> & { readonly seconds: number }>;
  /** Ends the processes. */
  close(): void;
}

/**
 * Creates a pool; its processes start with the first jobs.
 *
 * @param options.program the file of a program that calls `serveJobs`
 */
export function createIsolatedPool<Setup, Job, Piece, Result>({
  processes,
  ...options
}: IsolatedWorkerOptions<Setup> & { readonly processes: number }): IsolatedPool<Job, Piece, Result> {
  const workers = Array.from({ length: processes }, () =>
    createIsolatedWorker<Setup, Job, Piece, Result>(options),
  );
  const lend = createLender(workers);
  return {
    // The one that is lent first.
    prepare: () => workers.at(-1)?.prepare(),
    run: async (job, onPiece, signal) =>
      await lend(async (worker) => {
        const startedAt = options.clock.monotonic();
        const outcome = await worker.run(job, onPiece, signal);
        return { ...outcome, seconds: (options.clock.monotonic() - startedAt) / 1000 };
      }),
    close: () => {
      for (const worker of workers) worker.close();
    },
  };
}

/** Lends workers, all of them free now, the last one first. The next borrower in the queue has a worker before the last one continues. */
export function createLender<Worker>(
  workers: readonly Worker[],
): <T>(work: (worker: Worker) => Promise<T>) => Promise<T> {
  const idle = [...workers];
  const queue: ((worker: Worker) => void)[] = [];
  return async (work) => {
    const worker = idle.pop() ?? (await new Promise<Worker>((resolve) => queue.push(resolve)));
    try {
      return await work(worker);
    } finally {
      const next = queue.shift();
      if (next === undefined) idle.push(worker);
      else next(worker);
    }
  };
}
