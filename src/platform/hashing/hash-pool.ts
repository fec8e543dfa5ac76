import { BLOCK_BYTES } from '../../domain/release/blocks.ts';
import type { CallerOf } from '../threads/caller.ts';
import { openThread, type Thread } from '../threads/thread.ts';
import { blake3Implementation } from './blake3.ts';
import { STAGED_MAX_BYTES, type HashPool } from './digests.ts';
import type { HashStore } from './hash-worker.ts';

/** MiB. A hash thread holds next to nothing; without a limit its heap grows as if it had the machine to itself. */
const HEAP_LIMITS = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 64 };
/** Milliseconds without work after which the threads end; each keeps 8 MiB. */
const IDLE_MS = 15_000;
/** Staged files that one thread is given: the one at work and the next ones. */
const MAX_STAGED = 4;

type JobKind = 'file' | 'stage' | 'blocks';

/**
 * Makes a pool of worker threads that hash. Threads start when they are needed, and end when nobody needs them for a while; an idle
 * pool does not keep the process alive.
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
      const job = { fd, blocks, extra, crc64: true, fromDisk: false };
      const { crc64, ...rest } = await scheduler.run('file', signal, (calls) => calls.file(job, { signal }));
      if (crc64 === undefined) throw new Error('a hash thread left out the CRC-64');
      return { ...rest, crc64 };
    },
    hashContent: async (fd, { blocks, fromDisk }, signal) => {
      const job = { fd, blocks, extra: [], crc64: false, fromDisk };
      const found = await scheduler.run('file', signal, (calls) => calls.file(job, { signal }));
      return { size: found.size, blake3: found.blake3, blocks: found.blocks };
    },
    stageFile: async (path, buffer, length, { extra, signal }) => {
      if (!Number.isInteger(length) || length < 0 || length > Math.min(buffer.byteLength, STAGED_MAX_BYTES)) {
        throw new RangeError(`not a file of at most ${STAGED_MAX_BYTES} bytes in its buffer: ${length}`);
      }
      return await scheduler.run('stage', signal, (calls) =>
        calls.stage({ path, buffer, length, extra }, { signal, transfer: [buffer] }),
      );
    },
    hashBlocks: async (fd, span, signal) => {
      const { start, end } = span;
      if (!Number.isSafeInteger(start) || start < 0 || start % BLOCK_BYTES !== 0 || !(end > start)) {
        throw new RangeError(`not a span that begins at a block: [${start}, ${end})`);
      }
      return await scheduler.run('blocks', signal, (calls) => calls.blocks({ fd, span }, { signal }));
    },
    close: async () => await scheduler.close(),
  };
}

interface Slot {
  thread: Thread<HashStore>;
  readonly jobs: Record<JobKind, number>;
}

interface Turn {
  readonly kind: JobKind;
  readonly resolve: (slot: Slot) => void;
  readonly reject: (error: unknown) => void;
}

class HashScheduler {
  readonly #slots: readonly Slot[];
  readonly #queue: Turn[] = [];
  #isClosed = false;
  #idle: NodeJS.Timeout | undefined;

  constructor(threads: number) {
    this.#slots = Array.from({ length: threads }, () => ({
      thread: openHashThread(),
      jobs: { file: 0, stage: 0, blocks: 0 },
    }));
  }

  async run<T>(
    kind: JobKind,
    signal: AbortSignal | undefined,
    call: (calls: CallerOf<HashStore>) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted();
    if (this.#isClosed) throw closedError();
    const { thread, jobs } = this.#takeSlot(kind) ?? (await this.#waitForSlot(kind, signal));
    try {
      return await call(thread.calls);
    } finally {
      jobs[kind] -= 1;
      this.#dispatch();
      this.#endWhenIdle();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#idle);
    for (const { reject } of this.#queue.splice(0)) reject(closedError());
    await Promise.all(this.#slots.map(async ({ thread }) => await thread.close()));
  }

  #endWhenIdle(): void {
    clearTimeout(this.#idle);
    if (this.#isClosed || this.#slots.some((slot) => loadOf(slot) > 0)) return;
    this.#idle = setTimeout(() => {
      for (const slot of this.#slots.filter((each) => loadOf(each) === 0)) {
        void slot.thread.close();
        slot.thread = openHashThread();
      }
    }, IDLE_MS).unref();
  }

  /** A slot for a job that finds room and overtakes nobody. */
  #takeSlot(kind: JobKind): Slot | null {
    if (this.#queue.length > 0) return null;
    const slot = this.#slotFor(kind);
    if (slot !== null) slot.jobs[kind] += 1;
    return slot;
  }

  async #waitForSlot(kind: JobKind, signal: AbortSignal | undefined): Promise<Slot> {
    const { promise, resolve, reject } = Promise.withResolvers<Slot>();
    const turn = { kind, resolve, reject };
    this.#queue.push(turn);
    const leave = (): void => {
      const at = this.#queue.indexOf(turn);
      if (at >= 0) this.#queue.splice(at, 1);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', leave, { once: true });
    try {
      return await promise;
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  #dispatch(): void {
    for (let turn = this.#queue[0]; turn !== undefined; turn = this.#queue[0]) {
      const slot = this.#slotFor(turn.kind);
      if (slot === null) return;
      this.#queue.shift();
      slot.jobs[turn.kind] += 1;
      turn.resolve(slot);
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

function openHashThread(): Thread<HashStore> {
  return openThread<HashStore>({
    purpose: 'hashes files',
    module: new URL('./hash-worker.ts', import.meta.url),
    limits: HEAP_LIMITS,
  });
}

function hasRoom({ file, blocks, stage }: Slot['jobs'], kind: JobKind): boolean {
  return file + blocks === 0 && stage < (kind === 'stage' ? MAX_STAGED : 1);
}

function loadOf({ jobs }: Slot): number {
  return jobs.file + jobs.blocks + jobs.stage;
}

function closedError(): Error {
  return new Error('the hash pool is closed');
}
