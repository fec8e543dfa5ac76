import type { ServiceState } from './service-state.ts';

/** The message of a state with its next step, the one text that every surface without fields for them shows. */
export function describeState({
  message,
  next_step: next,
}: Pick<ServiceState, 'message' | 'next_step'>): string {
  return next === null ? message : `${message}. Next: ${next.text}`;
}
