import type { Transferable } from 'node:worker_threads';
import type { CallContext, SentError, StoreAnswer, StoreRequest } from './serve.ts';

/** How a call is made. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Buffers and ports of the argument that are moved to the store instead of copied. */
  readonly transfer?: readonly Transferable[];
}

/**
 * The methods of a store as others call them: asynchronous, with {@link CallOptions} after the argument. A cancelled call settles
 * when its method has ended, so that the caller can then release what it lent to the store.
 *
 * They throw a ThreadError when the thread of the store crashed or was closed; the error of the method; the signal's reason.
 */
export type CallerOf<Store> = {
  readonly [Name in keyof Store]: Store[Name] extends (
    argument: infer Argument,
    context: CallContext,
  ) => infer Result
    ? unknown extends Argument
      ? (argument?: null, options?: CallOptions) => Promise<Awaited<Result>>
      : (argument: Argument, options?: CallOptions) => Promise<Awaited<Result>>
    : never;
};

/** Calls over a port, and those of them that wait for their answers. The port keeps the process alive only while one waits. */
export interface PortCalls {
  call(name: string, argument: unknown, options?: CallOptions): Promise<unknown>;
  /** Rejects every call that waits. */
  fail(error: Error): void;
}

/** Begins to call over a port. */
export function callsOver(port: {
  postMessage(request: StoreRequest, transfer?: readonly Transferable[]): void;
  on(event: 'message', listener: (answer: StoreAnswer) => void): unknown;
  ref(): void;
  unref(): void;
}): PortCalls {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let lastId = 0;
  port.on('message', (answer) => {
    const call = waiting.get(answer.id);
    if (answer.kind === 'result') call?.resolve(answer.value);
    else call?.reject(receivedError(answer));
  });
  port.unref();
  return {
    call: async (name, argument, { signal, transfer } = {}) => {
      signal?.throwIfAborted();
      lastId += 1;
      const id = lastId;
      port.postMessage({ kind: 'call', id, name, argument }, transfer);
      const answer = Promise.withResolvers<unknown>();
      waiting.set(id, answer);
      port.ref();
      const cancel = (): void => {
        port.postMessage({ kind: 'cancel', id });
      };
      signal?.addEventListener('abort', cancel, { once: true });
      try {
        return await answer.promise;
      } catch (error) {
        signal?.throwIfAborted();
        throw error;
      } finally {
        signal?.removeEventListener('abort', cancel);
        waiting.delete(id);
        if (waiting.size === 0) port.unref();
      }
    },
    fail: (error) => {
      for (const { reject } of waiting.values()) reject(error);
      waiting.clear();
    },
  };
}

/** The methods of a store whose calls a function makes. */
export function callerBy<Store extends object>(call: PortCalls['call']): CallerOf<Store> {
  const methods: Record<string | symbol, unknown> = {};
  return new Proxy(methods, {
    get: (_, name) => {
      // Whoever awaits the caller asks for "then".
      if (typeof name === 'symbol' || name === 'then') return methods[name];
      return (methods[name] ??= async (argument: unknown = null, options?: CallOptions) =>
        await call(name, argument, options));
    },
  }) as CallerOf<Store>;
}

/** The same store, whose answers are watched. The caller does not wait for the watch. */
export function watchedCaller<Store extends object>(
  caller: CallerOf<Store>,
  watch: (answer: Promise<unknown>, name: string) => void,
): CallerOf<Store> {
  const call = callOf(caller);
  return callerBy<Store>((name, argument, options) => {
    const answer = call(name, argument, options);
    watch(answer, name);
    return answer;
  });
}

/** The call of a store's methods by their names. */
function callOf<Store>(caller: CallerOf<Store>): PortCalls['call'] {
  const methods = caller as unknown as Readonly<
    Record<string, (argument: unknown, options?: CallOptions) => Promise<unknown>>
  >;
  return (name, argument, options) =>
    methods[name]?.(argument, options) ?? Promise.reject(new Error(`no method "${name}"`));
}

/** The same store, some of whose calls are answered by others. @param answer `undefined` for a call that the store itself answers */
export function redirectedCaller<Store extends object>(
  caller: CallerOf<Store>,
  answer: (name: string, argument: unknown) => unknown,
): CallerOf<Store> {
  const call = callOf(caller);
  return callerBy<Store>(async (name, argument, options) => {
    options?.signal?.throwIfAborted();
    const answered = answer(name, argument);
    return answered === undefined ? await call(name, argument, options) : answered;
  });
}

/** An error as it arrives. */
export function receivedError({ message, stack, code }: SentError): Error {
  const error = new Error(message);
  return Object.assign(error, stack === undefined ? {} : { stack }, code === null ? {} : { code });
}
