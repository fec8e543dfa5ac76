import type { ParseWorker } from '../process/parse-worker.ts';

/** Lends workers to containers. */
export interface WorkerPool {
  /**
   * Works with a worker as soon as one is free. The next container in the queue has the worker before the caller continues,
   * so that its process parses while this thread stores.
   */
  use<T>(work: (worker: ParseWorker) => Promise<T>): Promise<T>;
}

/** @param workers all of them free */
export function createWorkerPool(workers: readonly ParseWorker[]): WorkerPool {
  const idle = [...workers];
  const queue: ((worker: ParseWorker) => void)[] = [];
  return {
    use: async (work) => {
      const worker = idle.pop() ?? (await new Promise<ParseWorker>((resolve) => queue.push(resolve)));
      try {
        return await work(worker);
      } finally {
        const next = queue.shift();
        if (next === undefined) idle.push(worker);
        else next(worker);
      }
    },
  };
}
