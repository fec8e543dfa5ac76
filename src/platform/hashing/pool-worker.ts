import { MessageChannel, Worker, type MessagePort } from 'node:worker_threads';
import type { BlockJob, FileJob, HashAnswer, HashWorkerData, StageJob } from './hash-protocol.ts';

/** A job that was given to the pool and has not settled yet. */
export interface PendingJob {
  readonly message: FileJob | StageJob | BlockJob;
  settle(answer: HashAnswer): void;
  fail(error: Error): void;
}

/** One more than the block at work, so that the next one is there when it is done. */
const MAX_BLOCKS = 2;

/** MiB. A hash worker holds next to nothing; without a limit its heap grows as if it had the machine to itself. */
const HEAP_LIMITS = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 64 };

/** While one waits for the disk, the next is hashed. */
const MAX_STAGED = 4;

/** One worker thread with the jobs it was given: one file or a few that are staged, and a few blocks. */
export class PoolWorker {
  readonly #worker: Worker;
  readonly #urgent: MessagePort;
  readonly #abort = new Int32Array(new SharedArrayBuffer(4));
  readonly #jobs = new Map<number, PendingJob>();
  #file: number | null = null;
  readonly #staged = new Set<number>();
  #alive = true;

  /**
   * @param onFree called when it can take another job
   * @param onEnd called once, when the thread has ended and its jobs were failed
   */
  constructor(onFree: () => void, onEnd: (worker: PoolWorker) => void) {
    const { port1, port2 } = new MessageChannel();
    const data: HashWorkerData = { urgent: port2, abort: this.#abort };
    this.#urgent = port1;
    this.#worker = new Worker(new URL('./hash-worker.ts', import.meta.url), {
      workerData: data,
      transferList: [port2],
      execArgv: [],
      resourceLimits: HEAP_LIMITS,
    });
    // An idle pool must not keep the process alive; a job does.
    this.#worker.unref();
    this.#urgent.unref();
    this.#worker.on('message', (answer: HashAnswer) => {
      const job = this.#jobs.get(answer.id);
      this.#forget(answer.id);
      job?.settle(answer);
      onFree();
    });
    const end = (error: Error): void => {
      if (!this.#alive) return;
      this.#alive = false;
      this.#urgent.close();
      for (const job of this.#jobs.values()) job.fail(error);
      this.#jobs.clear();
      onEnd(this);
    };
    this.#worker.on('error', (error) => {
      end(new Error('a hash worker crashed', { cause: error }));
    });
    this.#worker.on('exit', (code) => {
      end(new Error(`a hash worker ended with ${code}`));
    });
  }

  /** Jobs it has. */
  get load(): number {
    return this.#jobs.size;
  }

  /** Whether it can take a job of this kind now. */
  takes(kind: PendingJob['message']['kind']): boolean {
    if (!this.#alive) return false;
    if (kind === 'file') return this.#file === null && this.#staged.size === 0;
    if (kind === 'stage') return this.#file === null && this.#staged.size < MAX_STAGED;
    return this.#jobs.size - this.#staged.size - (this.#file === null ? 0 : 1) < MAX_BLOCKS;
  }

  /** Gives it a job that it {@link takes}. */
  give(job: PendingJob): void {
    this.#jobs.set(job.message.id, job);
    this.#worker.ref();
    if (job.message.kind === 'block') {
      this.#urgent.postMessage(job.message);
      return;
    }
    if (job.message.kind === 'stage') {
      this.#staged.add(job.message.id);
      this.#worker.postMessage(job.message, [job.message.buffer]);
      return;
    }
    this.#file = job.message.id;
    this.#worker.postMessage(job.message);
  }

  /** Makes it stop at this file after the read it is at, when it is at it. */
  abortFile(id: number): void {
    if (this.#file === id) Atomics.store(this.#abort, 0, id);
  }

  /** Ends the thread; its jobs fail. */
  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }

  #forget(id: number): void {
    this.#jobs.delete(id);
    this.#staged.delete(id);
    if (this.#file === id) this.#file = null;
    if (this.#jobs.size === 0) this.#worker.unref();
  }
}
