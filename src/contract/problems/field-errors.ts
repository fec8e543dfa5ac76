import type { z } from 'zod';
import { countText } from '../../domain/count-text.ts';
import type { FieldError } from './service-error.ts';

/** Maximum number of errors that one answer lists. */
const MAX_ERRORS = 50;

interface ErrorsOfOneKind {
  readonly first: FieldError;
  readonly pointers: Set<string>;
}

/**
 * Turns what zod found into the `errors` of a problem body. It lists the first error of each kind and counts the others:
 * the unknown fields of one object are one kind, and so are equal errors of the items of one list.
 *
 * @param kind `field` gives RFC 6901 pointers into the body, `parameter` gives the names of query parameters
 * @param prefix where the parsed value is in the body; default its root
 */
export function fieldErrorsOf(
  error: z.ZodError,
  kind: 'field' | 'parameter',
  prefix: readonly PropertyKey[] = [],
): FieldError[] {
  const kinds = new Map<string, ErrorsOfOneKind>();
  const add = (place: readonly PropertyKey[], path: readonly PropertyKey[], message: string): void => {
    const pointer = pointerOf([...prefix, ...path], kind);
    const name = `${message} ${pointerOf(place.map(withoutIndex), kind)}`;
    const known = kinds.get(name);
    // Two bounds that say the same of one value are one error.
    if (known !== undefined) known.pointers.add(pointer);
    else kinds.set(name, { first: { pointer, message }, pointers: new Set([pointer]) });
  };
  for (const issue of error.issues) {
    if (issue.code !== 'unrecognized_keys') add(issue.path, issue.path, issue.message);
    else {
      for (const key of issue.keys) {
        const path = [...issue.path, key];
        if (kind === 'field') add(issue.path, path, 'is not a field of this body');
        // The head of a request bounds their number.
        else add(path, path, 'is not a parameter of this operation');
      }
    }
  }
  const errors = [...kinds.values()].map(({ first, pointers }) =>
    pointers.size === 1
      ? first
      : { ...first, message: `${first.message} (and ${pointers.size - 1} more like it)` },
  );
  if (errors.length <= MAX_ERRORS) return errors;
  const message = `${countText(errors.length - MAX_ERRORS, 'more error is', 'more errors are')} not listed`;
  return [...errors.slice(0, MAX_ERRORS), { pointer: '', message }];
}

function withoutIndex(part: PropertyKey): PropertyKey {
  return typeof part === 'number' ? '*' : part;
}

function pointerOf(path: readonly PropertyKey[], kind: 'field' | 'parameter'): string {
  if (kind === 'parameter') return path.map(String).join('.');
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
