/**
 * JSON without loss of digits: 64-bit ids do not fit into a number.
 *
 * Source: the `JSON.parse` source text access proposal (ECMA-262, 2025).
 */

/**
 * @typedef {(this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown} Reviver
 * @typedef {{ parse(text: string, reviver?: Reviver): unknown, rawJSON(text: string): object }} ExactJson
 */

const EXACT = /** @type {ExactJson} */ (/** @type {unknown} */ (JSON));

/** Whether this browser supports it; browsers from 2025 on do. */
export const hasExactJson = 'rawJSON' in JSON;

/**
 * Parses JSON; integers outside ±(2^53 - 1) become bigint.
 *
 * @param {string} text
 * @returns {unknown}
 * @throws {SyntaxError} when the text is not JSON
 */
export function parseExact(text) {
  return EXACT.parse(text, (_key, value, { source = '' }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)
      ? BigInt(source)
      : value,
  );
}

/**
 * Renders a value as JSON, bigint as bare digits; the inverse of {@link parseExact}.
 *
 * @param {unknown} value
 * @param {number} [indent] spaces; default none
 * @returns {string}
 */
export function renderExact(value, indent = 0) {
  return JSON.stringify(
    value,
    (_key, member) => (typeof member === 'bigint' ? EXACT.rawJSON(String(member)) : member),
    indent,
  );
}
