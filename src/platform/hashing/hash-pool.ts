import { BLOCK_SIZE } from '../../domain/release/blocks.ts';
import { blake3Implementation } from './blake3.ts';
import type { HashPool } from './digests.ts';
import type { BlockJob, FileJob, HashAnswer, StageJob } from './hash-protocol.ts';
import { PoolWorker, type PendingJob } from './pool-worker.ts';

const MAX_JOB_ID = 2 ** 31 - 1;

/**
 * Makes a pool of worker threads that hash. Threads start when they are needed and stay; an idle pool does not keep the
 * process alive. Blocks overtake files, also the file that a worker is at, so that what a client waits for is never behind
 * a scrub.
 *
 * @param options.threads most threads, at least 1
 */
export function createHashPool(options: { readonly threads: number }): HashPool {
  if (!Number.isInteger(options.threads) || options.threads < 1) {
    throw new RangeError(`a hash pool needs at least one thread, not ${options.threads}`);
  }
  const pool = new Pool(options.threads);
  return {
    implementation: blake3Implementation,
    hashFile: async (fd, { blocks, extra }, signal) => {
      const { crc64, ...rest } = await pool.file({ kind: 'file', fd, blocks, extra, crc64: true }, signal);
      if (crc64 === undefined) throw new Error('a hash worker left out the CRC-64');
      return { ...rest, crc64 };
    },
    hashContent: async (fd, { blocks, span }, signal) => {
      const found = await pool.file({ kind: 'file', fd, blocks, extra: [], crc64: false, span }, signal);
      return { size: found.size, blake3: found.blake3, blocks: found.blocks };
    },
    stageFile: async (path, buffer, length, { extra, signal }) => {
      if (!Number.isInteger(length) || length < 0 || length > Math.min(buffer.byteLength, BLOCK_SIZE)) {
        throw new RangeError(`not a file of at most ${BLOCK_SIZE} bytes in its buffer: ${length}`);
      }
      const answer = await pool.stage({ kind: 'stage', path, buffer, length, extra }, signal);
      return { digests: answer.result, buffer: answer.buffer };
    },
    hashBlock: async (fd, start, end) => {
      if (!Number.isSafeInteger(start) || start < 0 || end < start || end - start > BLOCK_SIZE) {
        throw new RangeError(`not a span of at most ${BLOCK_SIZE} bytes: [${start}, ${end})`);
      }
      const { bytes, blake3 } = await pool.block({ kind: 'block', fd, start, end });
      return { bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), blake3 };
    },
    close: async () => {
      await pool.close();
    },
  };
}

type AnswerOf<K extends HashAnswer['kind']> = Extract<HashAnswer, { readonly kind: K }>;

class Pool {
  readonly #threads: number;
  readonly #workers = new Set<PoolWorker>();
  readonly #files: PendingJob[] = [];
  readonly #blocks: PendingJob[] = [];
  #lastId = 0;
  #closed = false;

  constructor(threads: number) {
    this.#threads = threads;
  }

  async file(job: Omit<FileJob, 'id'>, signal?: AbortSignal): Promise<AnswerOf<'file'>['result']> {
    const answer = await this.#runFile({ ...job, id: this.#nextId() }, signal);
    if (answer.kind === 'file') return answer.result;
    signal?.throwIfAborted();
    throw answerError(answer);
  }

  async stage(job: Omit<StageJob, 'id'>, signal?: AbortSignal): Promise<AnswerOf<'staged'>> {
    const answer = await this.#runFile({ ...job, id: this.#nextId() }, signal);
    if (answer.kind === 'staged') return answer;
    throw answerError(answer);
  }

  async block(job: Omit<BlockJob, 'id'>): Promise<AnswerOf<'block'>['result']> {
    const answer = await this.#run({ ...job, id: this.#nextId() }, this.#blocks);
    if (answer.kind === 'block') return answer.result;
    throw answerError(answer);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const job of [...this.#files.splice(0), ...this.#blocks.splice(0)]) job.fail(closedError());
    await Promise.all(Array.from(this.#workers, async (worker) => await worker.terminate()));
  }

  async #runFile(message: FileJob | StageJob, signal?: AbortSignal): Promise<HashAnswer> {
    signal?.throwIfAborted();
    const onAbort = (): void => {
      this.#abort(message.id, signal?.reason);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      return await this.#run(message, this.#files);
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async #run(message: FileJob | StageJob | BlockJob, queue: PendingJob[]): Promise<HashAnswer> {
    if (this.#closed) throw closedError();
    const { promise, resolve, reject } = Promise.withResolvers<HashAnswer>();
    queue.push({ message, settle: resolve, fail: reject });
    this.#dispatch();
    return await promise;
  }

  #dispatch(): void {
    this.#dispatchQueue(this.#blocks);
    this.#dispatchQueue(this.#files);
  }

  #dispatchQueue(queue: PendingJob[]): void {
    for (let job = queue[0]; job !== undefined; job = queue[0]) {
      const worker = this.#workerFor(job.message.kind);
      if (worker === null) return;
      queue.shift();
      worker.give(job);
    }
  }

  #workerFor(kind: PendingJob['message']['kind']): PoolWorker | null {
    let best: PoolWorker | null = null;
    for (const worker of this.#workers) {
      if (worker.takes(kind) && (best === null || worker.load < best.load)) best = worker;
    }
    if ((best === null || best.load > 0) && this.#workers.size < this.#threads && !this.#closed) {
      best = new PoolWorker(
        () => {
          this.#dispatch();
        },
        (ended) => {
          // Replaced by the next dispatch that needs a thread.
          this.#workers.delete(ended);
          this.#dispatch();
        },
      );
      this.#workers.add(best);
    }
    return best;
  }

  #abort(id: number, reason: unknown): void {
    const queued = this.#files.findIndex((job) => job.message.id === id);
    if (queued >= 0) {
      this.#files.splice(queued, 1)[0]?.fail(reason instanceof Error ? reason : new Error(String(reason)));
      return;
    }
    // The promise settles once the worker has let go of the descriptor: until then the caller keeps it open.
    for (const worker of this.#workers) worker.abortFile(id);
  }

  #nextId(): number {
    this.#lastId = this.#lastId >= MAX_JOB_ID ? 1 : this.#lastId + 1;
    return this.#lastId;
  }
}

function answerError(answer: HashAnswer): Error {
  if (answer.kind !== 'failed') return new Error(`a hash worker answered "${answer.kind}"`);
  return Object.assign(new Error(answer.message), answer.code === null ? {} : { code: answer.code });
}

function closedError(): Error {
  return new Error('the hash pool is closed');
}
