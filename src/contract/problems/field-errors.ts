import type { z } from 'zod';
import type { FieldError } from './service-error.ts';

/** Maximum number of errors that one answer lists. */
const MAX_ERRORS = 50;

/**
 * Turns what zod found into the `errors` of a problem body.
 *
 * @param error the findings
 * @param kind `field` gives RFC 6901 pointers into the body, `parameter` gives the names of query parameters
 * @param prefix where the parsed value is in the body; default its root
 */
export function fieldErrorsOf(
  error: z.ZodError,
  kind: 'field' | 'parameter',
  prefix: readonly PropertyKey[] = [],
): FieldError[] {
  const errors = error.issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') {
      return [{ pointer: pointerOf([...prefix, ...issue.path], kind), message: issue.message }];
    }
    return issue.keys.map((key) => ({
      pointer: pointerOf([...prefix, ...issue.path, key], kind),
      message: kind === 'field' ? 'is not a field of this body' : 'is not a parameter of this operation',
    }));
  });
  // Two bounds that say the same of one value are one error.
  const distinct = new Map(errors.map((each) => [`${each.pointer} ${each.message}`, each]));
  return [...distinct.values()].slice(0, MAX_ERRORS);
}

function pointerOf(path: readonly PropertyKey[], kind: 'field' | 'parameter'): string {
  if (kind === 'parameter') return path.map(String).join('.');
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
