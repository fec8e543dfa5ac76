/** Lends workers to jobs. */
export interface WorkerPool<Worker> {
  /**
   * Works with a worker as soon as one is free. The next job in the queue has the worker before the caller continues, so
   * that its process works while this thread stores.
   */
  use<T>(work: (worker: Worker) => Promise<T>): Promise<T>;
}

/** @param workers all of them free */
export function createWorkerPool<Worker>(workers: readonly Worker[]): WorkerPool<Worker> {
  const idle = [...workers];
  const queue: ((worker: Worker) => void)[] = [];
  return {
    use: async (work) => {
      const worker = idle.pop() ?? (await new Promise<Worker>((resolve) => queue.push(resolve)));
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
