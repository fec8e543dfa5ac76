import type { CallContext, ThreadCalls } from '../../src/platform/threads/thread-protocol.ts';
import type { Thread } from '../../src/platform/threads/thread.ts';
import { errorCode } from '../../src/platform/files/error-code.ts';

/**
 * A thread whose functions run in this one, because a real thread takes most of the time of a test. Arguments, results and
 * errors lose what they lose on the way to a real one.
 */
export function inProcessThread<Calls extends ThreadCalls<Calls>>(calls: Calls): Thread<Calls> {
  // The names and types of the calls are those of the thread's type.
  const functions = calls as unknown as Readonly<
    Record<string, (argument: unknown, context: CallContext) => unknown>
  >;
  const call = async (name: string, argument: unknown): Promise<unknown> => {
    const context = { signal: new AbortController().signal, isWanted: () => true, transfer: () => undefined };
    try {
      return structuredClone(await functions[name]?.(structuredClone(argument), context));
    } catch (error) {
      const { message } = error instanceof Error ? error : new Error(String(error));
      const code = errorCode(error);
      throw Object.assign(new Error(message), code === null ? {} : { code });
    }
  };
  return { call: call as Thread<Calls>['call'], close: () => Promise.resolve() };
}
