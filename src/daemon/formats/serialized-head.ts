/** Bytes of the smallest header of a serialized file of Unity. */
const SMALLEST_HEADER = 20;

/** Since version 9 the byte order stands in the header. No version of Unity has a higher number than the last one. */
const PLAUSIBLE_VERSIONS = { first: 9, last: 64 };

/**
 * Whether a file begins as a serialized file of Unity does: version, byte order and three reserved bytes. Its reader decides
 * which versions it knows.
 */
export function isSerializedHead(head: Buffer): boolean {
  if (head.length < SMALLEST_HEADER) return false;
  const version = head.readUInt32BE(8);
  const isVersion = version >= PLAUSIBLE_VERSIONS.first && version <= PLAUSIBLE_VERSIONS.last;
  return isVersion && (head[16] ?? 2) < 2 && head.readUIntBE(17, 3) === 0;
}
