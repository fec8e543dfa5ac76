/** The error text of a value that is none of a few words. */
export function mustBeOneOf(values: readonly string[]): string {
  return `must be one of ${values.join(', ')}`;
}

/** Longest part of an unknown name that an error repeats, in UTF-16 units. */
const SHOWN_LENGTH = 128;

/** The error text of a name that nothing has. */
export function unknownName(what: string, name: string, known: readonly string[] | string): string {
  const shown = name.length > SHOWN_LENGTH ? `${name.slice(0, SHOWN_LENGTH)}...` : name;
  if (typeof known === 'string') return `unknown ${what} "${shown}"; ${known}`;
  return `unknown ${what} "${shown}"; known: ${known.length === 0 ? 'none' : known.join(', ')}`;
}
