import { onTestFinished } from 'vitest';
import { callerBy, type CallerOf, type CallOptions } from '../../src/platform/threads/caller.ts';
import { threadInProcess } from '../../src/platform/threads/thread.ts';

/** Calls a store that is served in this thread, because a real thread takes most of the time of a test. It ends with the test. */
export function callerInProcess<Store extends object>(store: Store): CallerOf<Store> {
  const thread = threadInProcess(store);
  onTestFinished(() => thread.close());
  return thread.calls;
}

/** The same store; a function makes its calls, and can do something before and after them. */
export function aroundCalls<Store extends object>(
  caller: CallerOf<Store>,
  around: (name: keyof Store, call: () => Promise<unknown>) => Promise<unknown>,
): CallerOf<Store> {
  const methods = caller as unknown as Record<
    string,
    (argument: unknown, options?: CallOptions) => Promise<unknown>
  >;
  return callerBy<Store>(
    async (name, argument, options) =>
      await around(name as keyof Store, async () => await methods[name]?.(argument, options)),
  );
}
