import { receiveMessageOnPort, type MessagePort, type Transferable } from 'node:worker_threads';
import { errorCode } from '../files/error-code.ts';

/** What a method of a store gets beside its argument. */
export interface CallContext {
  /** Aborted when the caller cancels the call. A method that works without a break calls {@link isWanted} instead. */
  readonly signal: AbortSignal;
  /**
   * For work that blocks the thread: runs the calls and cancellations that have arrived meanwhile, then returns `false`
   * when this call was cancelled.
   */
  readonly isWanted: () => boolean;
  /** Moves a buffer of the result to the caller instead of copying it. */
  readonly transfer: (...buffers: readonly Transferable[]) => void;
}

/** A message to a store. */
export type StoreRequest =
  | { readonly kind: 'call'; readonly id: number; readonly name: string; readonly argument: unknown }
  | { readonly kind: 'cancel'; readonly id: number };

/** A message from a store: one for each call. */
export type StoreAnswer =
  | { readonly kind: 'result'; readonly id: number; readonly value: unknown }
  | ({ readonly kind: 'error'; readonly id: number } & SentError);

/** An error on its way: it loses its class; its message, stack and `code` are kept. */
export interface SentError {
  readonly message: string;
  readonly stack: string | undefined;
  readonly code: string | null;
}

/**
 * Answers the calls that arrive at a port with the methods of a store. A method has one argument at most, and may take the context
 * of the call after it. Arguments and results are copied by the structured clone algorithm; see {@link SentError} for errors.
 */
export function serve(port: MessagePort, store: object): void {
  /** Cancels a running call, by its id. */
  const running = new Map<number, () => void>();

  const receive = (request: StoreRequest): void => {
    if (request.kind === 'cancel') running.get(request.id)?.();
    else void run(request);
  };
  const receiveWaiting = (): void => {
    for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
      receive(next.message as StoreRequest);
    }
  };
  const run = async ({ id, name, argument }: Extract<StoreRequest, { kind: 'call' }>): Promise<void> => {
    let isCancelled = false;
    // Created on first use: most calls are short and never read the signal.
    let controller: AbortController | null = null;
    const transferred: Transferable[] = [];
    running.set(id, () => {
      isCancelled = true;
      controller?.abort();
    });
    const context: CallContext = {
      get signal() {
        controller ??= new AbortController();
        if (isCancelled) controller.abort();
        return controller.signal;
      },
      isWanted: () => {
        receiveWaiting();
        return !isCancelled;
      },
      transfer: (...buffers) => void transferred.push(...buffers),
    };
    try {
      const result = callMethod(store, name, argument, context);
      // A call that arrives while another one blocks the thread is answered before that one ends.
      const value = result instanceof Promise ? ((await result) as unknown) : result;
      port.postMessage({ kind: 'result', id, value } satisfies StoreAnswer, transferred);
    } catch (error) {
      port.postMessage({ kind: 'error', id, ...sentError(error) } satisfies StoreAnswer);
    } finally {
      running.delete(id);
    }
  };
  port.on('message', receive);
}

/** Calls a method of a store by its name. */
export function callMethod(store: object, name: string, argument: unknown, context: CallContext): unknown {
  const method: unknown = Reflect.get(store, name);
  if (typeof method !== 'function') throw new Error(`the store has no method "${name}"`);
  return Reflect.apply(method, store, [argument, context]);
}

/** What is kept of an error. */
export function sentError(error: unknown): SentError {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { message, stack, code: errorCode(error) };
}

/** The data that a thread is started with. */
export interface ThreadStart {
  /** URL of a module that exports `createStore(data)`. */
  readonly module: string;
  readonly data: unknown;
  /** Whether other threads go first. */
  readonly givesWay: boolean;
}
