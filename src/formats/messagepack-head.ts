/** Values that a head must have before it is taken for MessagePack, whose bytes have no signature. */
const ENOUGH_VALUES = 8;

/**
 * Whether bytes begin a document of MessagePack: a map or an array whose values are valid as far as they go, among them
 * strings; or a block of LZ4, as MessagePack for C# compresses. Source: the MessagePack specification.
 *
 * @param head the beginning of a file
 */
export function looksLikeMessagePack(head: Buffer): boolean {
  if (isCompressed(head)) return true;
  const [first = 0] = head;
  const isContainer = (first >= 0x80 && first <= 0x9f) || (first >= 0xdc && first <= 0xdf);
  if (!isContainer) return false;
  let at = 0;
  let values = 0;
  let strings = 0;
  while (at < head.length) {
    const size = sizeAt(head, at);
    if (size === null) return false;
    if (at + size > head.length) break;
    const text = stringAt(head, at, size);
    if (text !== null) {
      if (text.includes('\uFFFD') || text.includes('\0')) return false;
      strings += text.length > 0 ? 1 : 0;
    }
    values += 1;
    at += size;
  }
  return values >= ENOUGH_VALUES && strings * 4 >= values;
}

/** Extension types 98 and 99 of MessagePack for C#, directly or as the first value of an array. */
function isCompressed(head: Buffer): boolean {
  const at = head[0] === 0x92 ? 1 : 0;
  const type =
    head[at] === 0xc7
      ? head[at + 2]
      : head[at] === 0xc8
        ? head[at + 3]
        : head[at] === 0xc9
          ? head[at + 5]
          : 0;
  return type === 99 || (at === 1 && type === 98);
}

/** Bytes of the value at a position without the values in it; `null` where no value begins. */
function sizeAt(head: Buffer, at: number): number | null {
  const type = head[at] ?? 0;
  if (type < 0xa0 || type >= 0xe0) return 1;
  if (type < 0xc0) return 1 + (type & 0x1f);
  const fixed = FIXED.get(type);
  if (fixed !== undefined) return fixed;
  const counted = COUNTED.get(type);
  if (counted === undefined) return null;
  const { width, more } = counted;
  if (at + 1 + width > head.length) return head.length;
  return 1 + width + more + head.readUIntBE(at + 1, width);
}

function stringAt(head: Buffer, at: number, size: number): string | null {
  const type = head[at] ?? 0;
  const isShort = type >= 0xa0 && type < 0xc0;
  const width = isShort ? 0 : type >= 0xd9 && type <= 0xdb ? 2 ** (type - 0xd9) : null;
  return width === null ? null : head.toString('utf8', at + 1 + width, at + size);
}

/** Sizes of values that state none: nil, truth values, numbers, headers of arrays and maps, and short extensions. */
const FIXED: ReadonlyMap<number, number> = new Map([
  [0xc0, 1],
  [0xc2, 1],
  [0xc3, 1],
  [0xca, 5],
  [0xcb, 9],
  [0xcc, 2],
  [0xcd, 3],
  [0xce, 5],
  [0xcf, 9],
  [0xd0, 2],
  [0xd1, 3],
  [0xd2, 5],
  [0xd3, 9],
  [0xd4, 3],
  [0xd5, 4],
  [0xd6, 6],
  [0xd7, 10],
  [0xd8, 18],
  [0xdc, 3],
  [0xdd, 5],
  [0xde, 3],
  [0xdf, 5],
]);

/** Values with a length of some bytes in front of their content: bytes, extensions and strings. */
const COUNTED: ReadonlyMap<number, { readonly width: number; readonly more: number }> = new Map([
  [0xc4, { width: 1, more: 0 }],
  [0xc5, { width: 2, more: 0 }],
  [0xc6, { width: 4, more: 0 }],
  [0xc7, { width: 1, more: 1 }],
  [0xc8, { width: 2, more: 1 }],
  [0xc9, { width: 4, more: 1 }],
  [0xd9, { width: 1, more: 0 }],
  [0xda, { width: 2, more: 0 }],
  [0xdb, { width: 4, more: 0 }],
]);
