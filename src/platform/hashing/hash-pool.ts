import { BLOCK_SIZE } from '../../domain/release/blocks.ts';
import { createThread, type CallOptions, type Thread } from '../threads/thread.ts';
import { blake3Implementation } from './blake3.ts';
import type { HashPool } from './digests.ts';
import type { HashCalls } from './hash-worker.ts';
import { bufferOf } from '../buffer-of.ts';

/** MiB. A hash thread holds next to nothing; without a limit its heap grows as if it had the machine to itself. */
const HEAP_LIMITS = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 64 };
/** Blocks that one thread is given: the one at work and the next. */
const MAX_BLOCKS = 2;
/** Staged files that one thread is given: the one at work and the next ones. */
const MAX_STAGED = 4;

type JobKind = keyof HashCalls;

/**
 * Makes a pool of worker threads that hash. Threads start when they are needed and stay; an idle pool does not keep the
 * process alive. Blocks overtake files, also a file that is being hashed, so that a client never waits for a scrub.
 *
 * @param options.threads most threads, at least 1
 */
export function createHashPool(options: { readonly threads: number }): HashPool {
  if (!Number.isInteger(options.threads) || options.threads < 1) {
    throw new RangeError(`a hash pool needs at least one thread, not ${options.threads}`);
  }
  const scheduler = new HashScheduler(options.threads);
  return {
    implementation: blake3Implementation,
    hashFile: async (fd, { blocks, extra }, signal) => {
      const { crc64, ...rest } = await scheduler.run('file', { fd, blocks, extra, crc64: true }, { signal });
      if (crc64 === undefined) throw new Error('a hash thread left out the CRC-64');
      return { ...rest, crc64 };
    },
    hashContent: async (fd, { blocks, span }, signal) => {
      const job = { fd, blocks, extra: [], crc64: false, span };
      const found = await scheduler.run('file', job, { signal });
      return { size: found.size, blake3: found.blake3, blocks: found.blocks };
    },
    stageFile: async (path, buffer, length, { extra, signal }) => {
      if (!Number.isInteger(length) || length < 0 || length > Math.min(buffer.byteLength, BLOCK_SIZE)) {
        throw new RangeError(`not a file of at most ${BLOCK_SIZE} bytes in its buffer: ${length}`);
      }
      return await scheduler.run('stage', { path, buffer, length, extra }, { signal, transfer: [buffer] });
    },
    hashBlock: async (fd, start, end) => {
      if (!Number.isSafeInteger(start) || start < 0 || end < start || end - start > BLOCK_SIZE) {
        throw new RangeError(`not a span of at most ${BLOCK_SIZE} bytes: [${start}, ${end})`);
      }
      const { bytes, blake3 } = await scheduler.run('block', { fd, start, end }, {});
      return { bytes: bufferOf(bytes), blake3 };
    },
    close: async () => {
      await scheduler.close();
    },
  };
}

/** A thread with the numbers of its jobs. */
interface Slot {
  readonly thread: Thread<HashCalls>;
  readonly jobs: Record<JobKind, number>;
}

/** A job that waits for a slot. */
interface Turn {
  readonly kind: JobKind;
  readonly resolve: (slot: Slot) => void;
  readonly reject: (error: unknown) => void;
}

class HashScheduler {
  readonly #slots: readonly Slot[];
  readonly #blocks: Turn[] = [];
  /** Files and staged files, in the order of arrival. */
  readonly #files: Turn[] = [];
  #isClosed = false;

  constructor(threads: number) {
    this.#slots = Array.from({ length: threads }, () => ({
      thread: createThread<HashCalls>({
        purpose: 'hashes files',
        module: new URL('./hash-worker.ts', import.meta.url),
        limits: HEAP_LIMITS,
      }),
      jobs: { file: 0, stage: 0, block: 0 },
    }));
  }

  async run<Kind extends JobKind>(
    kind: Kind,
    job: Parameters<HashCalls[Kind]>[0],
    options: CallOptions,
  ): Promise<Awaited<ReturnType<HashCalls[Kind]>>> {
    options.signal?.throwIfAborted();
    if (this.#isClosed) throw closedError();
    const { thread, jobs } = this.#takeSlot(kind) ?? (await this.#waitForSlot(kind, options.signal));
    try {
      return await thread.call(kind, job, options);
    } finally {
      jobs[kind] -= 1;
      this.#dispatch();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { reject } of [...this.#files.splice(0), ...this.#blocks.splice(0)]) reject(closedError());
    await Promise.all(this.#slots.map(async ({ thread }) => await thread.close()));
  }

  /** A slot for a job that finds room and overtakes nobody. */
  #takeSlot(kind: JobKind): Slot | null {
    if (this.#queueOf(kind).length > 0) return null;
    const slot = this.#slotFor(kind);
    if (slot !== null) slot.jobs[kind] += 1;
    return slot;
  }

  async #waitForSlot(kind: JobKind, signal: AbortSignal | undefined): Promise<Slot> {
    const { promise, resolve, reject } = Promise.withResolvers<Slot>();
    const turn = { kind, resolve, reject };
    const queue = this.#queueOf(kind);
    queue.push(turn);
    const leave = (): void => {
      const at = queue.indexOf(turn);
      if (at >= 0) queue.splice(at, 1);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', leave, { once: true });
    try {
      return await promise;
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  #queueOf(kind: JobKind): Turn[] {
    return kind === 'block' ? this.#blocks : this.#files;
  }

  #dispatch(): void {
    for (const queue of [this.#blocks, this.#files]) {
      for (let turn = queue[0]; turn !== undefined; turn = queue[0]) {
        const slot = this.#slotFor(turn.kind);
        if (slot === null) break;
        queue.shift();
        slot.jobs[turn.kind] += 1;
        turn.resolve(slot);
      }
    }
  }

  /** The slot with the fewest jobs that has room; the first of them, so that no more threads start than are needed. */
  #slotFor(kind: JobKind): Slot | null {
    let best: Slot | null = null;
    for (const slot of this.#slots) {
      if (hasRoom(slot.jobs, kind) && (best === null || loadOf(slot) < loadOf(best))) best = slot;
    }
    return best;
  }
}

function hasRoom({ file, stage, block }: Slot['jobs'], kind: JobKind): boolean {
  if (kind === 'block') return block < MAX_BLOCKS;
  return file === 0 && stage < (kind === 'stage' ? MAX_STAGED : 1);
}

function loadOf({ jobs }: Slot): number {
  return jobs.file + jobs.stage + jobs.block;
}

function closedError(): Error {
  return new Error('the hash pool is closed');
}
