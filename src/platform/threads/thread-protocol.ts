import type { Transferable } from 'node:worker_threads';

/** The context that a function in a thread gets beside its argument. */
export interface CallContext {
  /** Aborted when the caller cancels the call. A function that works without a break calls {@link isWanted} instead. */
  readonly signal: AbortSignal;
  /**
   * For work that blocks the thread: runs the calls and cancellations that have arrived meanwhile, then returns `false`
   * when this call was cancelled.
   */
  readonly isWanted: () => boolean;
  /** Moves a buffer of the result to the caller instead of copying it. */
  readonly transfer: (...buffers: readonly Transferable[]) => void;
}

/**
 * The functions that a thread offers, by name. Arguments and results are copied by the structured clone algorithm. An
 * error loses its class on the way; its message, stack and `code` are kept.
 */
export type ThreadCalls<Calls> = {
  readonly [Name in keyof Calls]: (argument: never, context: CallContext) => unknown;
};

/** The data that a thread is started with. */
export interface ThreadStart {
  /** URL of a module that exports `createCalls(data)`. */
  readonly module: string;
  readonly data: unknown;
  /** Whether it gives way to other threads. */
  readonly givesWay: boolean;
}

/** A message to a thread. */
export type ThreadRequest =
  | { readonly kind: 'call'; readonly id: number; readonly name: string; readonly argument: unknown }
  | { readonly kind: 'cancel'; readonly id: number };

/** A message from a thread: one for each call. */
export type ThreadAnswer =
  | { readonly kind: 'result'; readonly id: number; readonly value: unknown }
  | {
      readonly kind: 'error';
      readonly id: number;
      readonly message: string;
      readonly stack: string | undefined;
      readonly code: string | null;
    };
