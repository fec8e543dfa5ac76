import type { MetricObject } from 'prom-client';
import type { Clock } from '../../platform/process/clock.ts';
import { pause } from '../../platform/process/pause.ts';
import type { WorkerProcess } from './worker-process.ts';

/** Time limit of a worker for its answer, milliseconds: one that hangs must not hide the others. */
const ANSWER_MS = 2_000;

interface Collection {
  readonly waiting: Set<WorkerProcess>;
  readonly answers: (readonly MetricObject[])[];
  readonly done: () => void;
}

/** Asks the workers for their metrics. */
export class MetricsCollection {
  readonly #clock: Clock;
  readonly #open = new Map<number, Collection>();
  #lastId = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Asks all workers; resolves with the answers that arrive within the time limit. */
  async collect(workers: readonly WorkerProcess[]): Promise<readonly (readonly MetricObject[])[]> {
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve } = Promise.withResolvers<void>();
    const collection: Collection = { waiting: new Set(workers), answers: [], done: resolve };
    this.#open.set(id, collection);
    for (const worker of workers) worker.send({ kind: 'slipway:metrics', id });
    if (workers.length === 0) resolve();
    const enough = new AbortController();
    await Promise.race([promise, pause(this.#clock, ANSWER_MS, enough.signal)]);
    enough.abort();
    this.#open.delete(id);
    return collection.answers;
  }

  take(worker: WorkerProcess, id: number, metrics: readonly MetricObject[]): void {
    const collection = this.#open.get(id);
    if (collection?.waiting.delete(worker) !== true) return;
    collection.answers.push(metrics);
    if (collection.waiting.size === 0) collection.done();
  }

  forget(worker: WorkerProcess): void {
    for (const collection of this.#open.values()) {
      if (collection.waiting.delete(worker) && collection.waiting.size === 0) collection.done();
    }
  }
}
