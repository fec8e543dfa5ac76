/**
 * JSON without loss of digits: 64-bit ids do not fit into a number.
 *
 * Source: the `JSON.parse` source text access proposal (ECMA-262, 2025).
 */

type Reviver = (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown;

const EXACT = JSON as unknown as {
  parse(text: string, reviver?: Reviver): unknown;
  rawJSON(text: string): object;
};

export const hasExactJson = 'rawJSON' in JSON;

/**
 * Parses JSON; integers outside ±(2^53 - 1) become bigint.
 *
 * @throws {SyntaxError} when the text is not JSON
 */
export function parseExact(text: string): unknown {
  return EXACT.parse(text, (_key, value, { source = '' }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)
      ? BigInt(source)
      : value,
  );
}

/**
 * Renders a value as JSON, bigint as bare digits; the inverse of {@link parseExact}.
 *
 * @param indent spaces; default none
 */
export function renderExact(value: unknown, indent = 0): string {
  return JSON.stringify(
    value,
    (_key, member: unknown) => (typeof member === 'bigint' ? EXACT.rawJSON(String(member)) : member),
    indent,
  );
}
