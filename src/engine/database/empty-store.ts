import { wasNeverMade } from './work-file.ts';
import { redirectedCaller, type CallerOf } from '../../platform/threads/caller.ts';

/** What a store answers while its file was never made, by method; `undefined` for a call that needs the store nevertheless. */
export type EmptyAnswers<Store> = {
  readonly [Name in keyof Store]?: Store[Name] extends (
    argument: infer Argument,
    ...rest: never
  ) => infer Answer
    ? (argument: Argument) => Answer | undefined
    : never;
};

/**
 * The same store, without its thread as long as there is nothing to ask it: an idle daemon asks every minute, and a thread takes about
 * ten MiB and a fifth of a second. Once the file was there, only the thread answers.
 *
 * @param path the file of the store
 */
export function withoutThreadWhileEmpty<Store extends object>(
  caller: CallerOf<Store>,
  path: string,
  answers: EmptyAnswers<Store>,
): CallerOf<Store> {
  const empty = answers as Readonly<Record<string, ((argument: unknown) => unknown) | undefined>>;
  let isEmpty = true;
  return redirectedCaller(caller, (name, argument) => {
    isEmpty &&= wasNeverMade(path);
    if (!isEmpty) return undefined;
    // A store that was never opened has nothing to close.
    return name === 'close' ? null : empty[name]?.(argument);
  });
}
