import type { Result } from '../../domain/result.ts';

/** A release cannot be exported, or a bundle cannot be used; the message says what to do. */
export class BundleError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BundleError';
  }
}

/**
 * What was parsed.
 *
 * @param label names its place in messages
 * @throws BundleError when it was not valid
 */
export function accept<T>(parsed: Result<T, string>, label: string): T {
  if (parsed.ok) return parsed.value;
  throw new BundleError(`${label}: ${parsed.error}`);
}
