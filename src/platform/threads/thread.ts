import { basename } from 'node:path';
import { Worker, type ResourceLimits, type Transferable } from 'node:worker_threads';
import { callerBy, callsOver, receivedError, type CallerOf, type PortCalls } from './caller.ts';
import { callMethod, sentError, type ThreadStart } from './serve.ts';

/** A thread crashed, ended or was closed before it answered. */
export class ThreadError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ThreadError';
  }
}

/** The owner of a thread closed it before it answered. */
class ThreadClosedError extends ThreadError {}

/** Whether an error comes from a thread that its owner closed: it is no fault where nobody waits for the answer. */
export function isOfClosedThread(error: unknown): boolean {
  return error instanceof ThreadClosedError || (error instanceof Error && isOfClosedThread(error.cause));
}

/** A store that others call, in a worker thread of its own. */
export interface Thread<Store> {
  /** The thread starts with the first call, and again with the first call after a crash. */
  readonly calls: CallerOf<Store>;
  /** Ends the thread. Pending and later calls reject; pending ones when the thread has ended. */
  close(): Promise<void>;
}

/**
 * Makes a thread that serves a store. An idle thread does not keep the process alive.
 *
 * @param options.purpose completes "the thread that ...", for error messages
 * @param options.module exports `createStore(data)` and has no side effects
 * @param options.data argument of `createStore`
 * @param options.limits of the thread's heap. A heap that overflows ends this thread only
 * @param options.givesWay whether other threads and processes go first while all processors are busy: for work in bulk. Processes
 * that the thread starts give way, too
 */
export function openThread<Store extends object>(options: {
  readonly purpose: string;
  readonly module: URL;
  readonly data?: unknown;
  readonly limits: ResourceLimits;
  readonly givesWay?: boolean;
}): Thread<Store> {
  const { purpose, module, data, limits, givesWay = false } = options;
  let running: { readonly worker: Worker; readonly calls: PortCalls } | null = null;
  let isClosed = false;

  const start = (): PortCalls => {
    const worker = new Worker(new URL('./thread-worker.ts', import.meta.url), {
      // The system shows up to 15 characters of it, as in `top -H`.
      name: basename(module.pathname, '.ts'),
      workerData: { module: module.href, data, givesWay } satisfies ThreadStart,
      execArgv: [],
      resourceLimits: limits,
    });
    const calls = callsOver(worker);
    const fail = (why: string, cause?: unknown): void => {
      if (running?.worker !== worker) return;
      running = null;
      calls.fail(
        isClosed
          ? new ThreadClosedError(`the thread that ${purpose} was closed`, { cause })
          : new ThreadError(`the thread that ${purpose} ${why}`, { cause }),
      );
    };
    worker.on('error', (error) => {
      fail(`crashed: ${String(error)}`, error);
    });
    worker.on('exit', (code) => {
      fail(`ended with exit code ${code}`);
    });
    running = { worker, calls };
    return calls;
  };
  return {
    calls: callerBy<Store>(async (name, argument, callOptions) => {
      callOptions?.signal?.throwIfAborted();
      if (isClosed) throw new ThreadClosedError(`the thread that ${purpose} is closed`);
      return await (running?.calls ?? start()).call(name, argument, callOptions);
    }),
    close: async () => {
      isClosed = true;
      await running?.worker.terminate();
    },
  };
}

/**
 * Serves a store in this thread, for tests and simulations. The owner gives the store its clock and files. Arguments, results and
 * errors are copied as for a real thread.
 */
export function threadInProcess<Store extends object>(store: Store): Thread<Store> {
  let isClosed = false;
  return {
    calls: callerBy<Store>(async (name, argument, { signal, transfer = [] } = {}) => {
      signal?.throwIfAborted();
      if (isClosed) throw new ThreadClosedError('the thread is closed');
      const given: unknown = structuredClone(argument, { transfer: [...transfer] });
      const moved: Transferable[] = [];
      try {
        const result = await callMethod(store, name, given, {
          signal: signal ?? new AbortController().signal,
          isWanted: () => signal?.aborted !== true,
          transfer: (...buffers) => void moved.push(...buffers),
        });
        return structuredClone(result, { transfer: moved });
      } catch (error) {
        signal?.throwIfAborted();
        throw receivedError(sentError(error));
      }
    }),
    close: async () => {
      isClosed = true;
      await Promise.resolve();
    },
  };
}
