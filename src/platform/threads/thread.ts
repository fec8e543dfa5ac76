import { Worker, type ResourceLimits, type Transferable } from 'node:worker_threads';
import type { ThreadAnswer, ThreadCalls, ThreadRequest, ThreadStart } from './thread-protocol.ts';

/** A thread crashed, ended or was closed before it answered. */
export class ThreadError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ThreadError';
  }
}

export interface CallOptions {
  /** Cancels the call. */
  readonly signal?: AbortSignal | undefined;
  /** Buffers and ports of the argument that are moved to the thread instead of copied. */
  readonly transfer?: readonly Transferable[];
}

/** A worker thread that answers calls. */
export interface Thread<Calls extends ThreadCalls<Calls>> {
  /**
   * Calls a function in the thread, which starts when it does not run. A cancelled call settles when its function has
   * ended, so that the caller can then release what it lent to the thread.
   *
   * @throws ThreadError when the thread crashed or was closed; the error of the function; the signal's reason
   */
  call<Name extends keyof Calls & string>(
    name: Name,
    argument: Parameters<Calls[Name]>[0],
    options?: CallOptions,
  ): Promise<Awaited<ReturnType<Calls[Name]>>>;
  /** Ends the thread. Pending and later calls reject; pending ones when the thread has ended. */
  close(): Promise<void>;
}

export interface ThreadOptions {
  /** Completes "the thread that ...", for error messages. */
  readonly purpose: string;
  /** A module that exports `createCalls(data)`. */
  readonly module: URL;
  /** Argument of `createCalls`. */
  readonly data?: unknown;
  /** Of the thread's heap. A heap that overflows ends this thread only. */
  readonly limits: ResourceLimits;
  /**
   * Whether other threads and processes go first while all processors are busy: for work in bulk. Processes that the thread
   * starts give way, too. Default: false.
   */
  readonly givesWay?: boolean;
}

interface PendingCall {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Makes a thread that starts with its first call, and again with the first call after a crash. An idle thread does not
 * keep the process alive.
 */
export function createThread<Calls extends ThreadCalls<Calls>>(options: ThreadOptions): Thread<Calls> {
  const { purpose, module, data, limits, givesWay = false } = options;
  const pending = new Map<number, PendingCall>();
  let worker: Worker | null = null;
  let isClosed = false;
  let lastId = 0;

  const failPending = (ended: Worker, why: string, cause?: unknown): void => {
    if (worker !== ended) return;
    worker = null;
    const text = isClosed ? 'was closed' : why;
    const error = new ThreadError(`the thread that ${purpose} ${text}`, { cause });
    for (const { reject } of pending.values()) reject(error);
    pending.clear();
  };

  const start = (): Worker => {
    const started = new Worker(new URL('./thread-worker.ts', import.meta.url), {
      workerData: { module: module.href, data, givesWay } satisfies ThreadStart,
      execArgv: [],
      resourceLimits: limits,
    });
    started.on('message', (answer: ThreadAnswer) => {
      const call = pending.get(answer.id);
      if (answer.kind === 'result') call?.resolve(answer.value);
      else call?.reject(errorOf(answer));
    });
    started.on('error', (error) => {
      failPending(started, `crashed: ${String(error)}`, error);
    });
    started.on('exit', (code) => {
      failPending(started, `ended with exit code ${code}`);
    });
    return started;
  };

  return {
    call: async (name, argument, { signal, transfer } = {}) => {
      signal?.throwIfAborted();
      if (isClosed) throw new ThreadError(`the thread that ${purpose} is closed`);
      lastId += 1;
      const id = lastId;
      const active = (worker ??= start());
      active.postMessage({ kind: 'call', id, name, argument } satisfies ThreadRequest, transfer);
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      pending.set(id, { resolve, reject });
      active.ref();
      const cancel = (): void => {
        active.postMessage({ kind: 'cancel', id } satisfies ThreadRequest);
      };
      signal?.addEventListener('abort', cancel, { once: true });
      try {
        return (await promise) as never;
      } catch (error) {
        signal?.throwIfAborted();
        throw error;
      } finally {
        signal?.removeEventListener('abort', cancel);
        pending.delete(id);
        if (pending.size === 0) worker?.unref();
      }
    },
    close: async () => {
      isClosed = true;
      await worker?.terminate();
    },
  };
}

function errorOf({ message, stack, code }: Extract<ThreadAnswer, { kind: 'error' }>): Error {
  const error = new Error(message);
  return Object.assign(error, stack === undefined ? {} : { stack }, code === null ? {} : { code });
}
