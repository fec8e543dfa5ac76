import type { NextStep } from './service-reasons.ts';
import type { ServiceAnswer } from './service-state.ts';

/** The message of a state with its next step, the one text that every surface without fields for them shows. */
export function describeState({
  message,
  next_step: next,
}: {
  readonly message: string;
  readonly next_step: NextStep | null;
}): string {
  return next === null ? message : `${message}. Next: ${next.text}`;
}

/**
 * The localized channel in one sentence, for surfaces that show the state of the whole service.
 *
 * @returns `null` when that state says it already, and while nothing was ever published
 */
export function describeLocalized({ reason: told, channels: { localized } }: ServiceAnswer): string | null {
  const { state, reason, message } = localized;
  if (reason === null || reason === told || reason === 'NothingPublished') return null;
  return `${state} (${reason}): ${message}`;
}
