/**
 * A random text of 128 bits, such as for `Idempotency-Key`. `crypto.randomUUID` exists only in secure origins, and plain HTTP to
 * another host is not one.
 */
export function randomKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
}
