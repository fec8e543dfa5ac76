import type { Thread } from './thread.ts';
import type { ThreadCalls } from './thread-protocol.ts';

/** A call that a thread has answered. */
export type AnsweredCall<Calls extends ThreadCalls<Calls>> = {
  [Name in keyof Calls & string]: { readonly name: Name; readonly argument: Parameters<Calls[Name]>[0] };
}[keyof Calls & string];

/**
 * Wraps a thread so that a listener hears of each call after its answer. It does not hear of calls that fail, and the caller does not
 * wait for it.
 */
export function listenToCalls<Calls extends ThreadCalls<Calls>>(
  thread: Pick<Thread<Calls>, 'call'>,
  heard: (call: AnsweredCall<Calls>) => void,
): Pick<Thread<Calls>, 'call'> {
  return {
    call: (name, argument, options) => {
      const answer = thread.call(name, argument, options);
      answer.then(
        () => {
          heard({ name, argument });
        },
        () => undefined,
      );
      return answer;
    },
  };
}
