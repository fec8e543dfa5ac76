/**
 * Writes MemoryPack values, each as the bytes that stand for it. Source: "Binary wire format specification" in the
 * README of Cysharp/MemoryPack.
 */
export const memoryPack = {
  /** An object: its members in order, or null. */
  object: (members: readonly Buffer[] | null): Buffer =>
    members === null ? Buffer.of(255) : Buffer.concat([Buffer.of(members.length), ...members]),

  /** A collection: its elements in order, or null. */
  list: (elements: readonly Buffer[] | null): Buffer =>
    elements === null ? int32(-1) : Buffer.concat([int32(elements.length), ...elements]),

  /** A dictionary from strings, or null. */
  map: (entries: ReadonlyArray<readonly [string, Buffer]> | null): Buffer =>
    entries === null
      ? int32(-1)
      : Buffer.concat([int32(entries.length), ...entries.flatMap(([key, value]) => [text(key), value])]),

  /** A string in UTF-8, or null. */
  text,

  /** A string in UTF-16. */
  utf16: (value: string): Buffer => Buffer.concat([int32(value.length), Buffer.from(value, 'utf16le')]),

  boolean: (value: boolean): Buffer => Buffer.of(value ? 1 : 0),

  int32,

  int64: (value: number | bigint): Buffer => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt.asIntN(64, BigInt(value)));
    return bytes;
  },
};

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

function text(value: string | null): Buffer {
  if (value === null) return int32(-1);
  if (value === '') return int32(0);
  const utf8 = Buffer.from(value);
  return Buffer.concat([int32(~utf8.length), int32(value.length), utf8]);
}
