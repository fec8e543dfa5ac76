const BLOCK_BYTES = 4;
/** Bits of the table of distances to the next place where a form can end. */
const TABLE_BITS = 20;
/** Longest part of a form that decides. */
const MOST_WINDOW_BYTES = 64;

type FormsOfEnd = Map<number, Map<string, string>>;

/** The forms in which a name occurs in a file: UTF-8, UTF-16 in both orders of bytes, with escapes of JSON and of addresses. */
export function nameForms(name: string): readonly Buffer[] {
  const wide = Buffer.from(name, 'utf16le');
  const escaped = JSON.stringify(name)
    .slice(1, -1)
    .replaceAll(/[\u0080-\uFFFF]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const texts = new Set([
    name,
    escaped,
    escaped.replaceAll(/\\u[0-9a-f]{4}/g, (code) => `\\u${code.slice(2).toUpperCase()}`),
    encodeURIComponent(name),
    encodeURI(name),
  ]);
  return [...Array.from(texts, (text) => Buffer.from(text)), wide, Buffer.from(wide).swap16()];
}

/**
 * Prepares the search of names. The bytes are read once, whatever the number of names, and most of them are skipped: from four bytes
 * that occur in no name, the next place where a name can end is the length of the shortest name ahead (Wu and Manber, "A fast algorithm
 * for multi-pattern searching").
 *
 * @param names well-formed and not empty
 */
export function createNameSearch(names: Iterable<string>): {
  /** Those of the names that occur in the bytes, in any form of {@link nameForms}. */
  find(bytes: Buffer): ReadonlySet<string>;
} {
  const forms = Array.from(names, (name) => nameForms(name).map((form) => ({ name, form }))).flat();
  const short = forms.filter(({ form }) => form.length < BLOCK_BYTES);
  const long = forms.filter(({ form }) => form.length >= BLOCK_BYTES);
  const shortest = long.reduce((least, { form }) => Math.min(least, form.length), MOST_WINDOW_BYTES);
  const steps = new Uint8Array(2 ** TABLE_BITS).fill(shortest - BLOCK_BYTES + 1);
  const byEnd = new Map<number, FormsOfEnd>();
  for (const { name, form } of long) {
    for (let ahead = 0; ahead <= shortest - BLOCK_BYTES; ahead += 1) {
      const slot = slotOf(form.readInt32LE(form.length - BLOCK_BYTES - ahead));
      steps[slot] = Math.min(steps[slot] ?? 0, ahead);
    }
    const end = form.readInt32LE(form.length - BLOCK_BYTES);
    const byLength = byEnd.get(end) ?? new Map<number, Map<string, string>>();
    byEnd.set(end, byLength);
    const ofLength = byLength.get(form.length) ?? new Map<string, string>();
    byLength.set(form.length, ofLength.set(form.toString('latin1'), name));
  }
  return {
    find: (bytes) => {
      const found = new Set<string>();
      for (const { name, form } of short) if (bytes.includes(form)) found.add(name);
      for (let behind = shortest; behind <= bytes.length;) {
        const block = blockBefore(bytes, behind);
        const step = steps[slotOf(block)] ?? 1;
        if (step === 0) noteNames(bytes, behind, byEnd.get(block), found);
        behind += Math.max(step, 1);
      }
      return found;
    },
  };
}

/** The four bytes before a position. Faster than `readInt32LE`, which checks its argument. */
function blockBefore(bytes: Buffer, behind: number): number {
  return (
    (bytes[behind - 4] ?? 0) |
    ((bytes[behind - 3] ?? 0) << 8) |
    ((bytes[behind - 2] ?? 0) << 16) |
    ((bytes[behind - 1] ?? 0) << 24)
  );
}

function slotOf(block: number): number {
  return Math.imul(block, 0x9e37_79b1) >>> (32 - TABLE_BITS);
}

function noteNames(
  bytes: Buffer,
  behind: number,
  byLength: FormsOfEnd | undefined,
  found: Set<string>,
): void {
  for (const [length, forms] of byLength ?? []) {
    if (length > behind) continue;
    const name = forms.get(bytes.toString('latin1', behind - length, behind));
    if (name !== undefined) found.add(name);
  }
}

/** The positions of a name in bytes, in all its forms, at most `most` of each form. */
export function* positionsOf(bytes: Buffer, name: string, most: number): Generator<number> {
  for (const form of nameForms(name)) {
    let count = 0;
    for (let at = bytes.indexOf(form); at !== -1 && count < most; at = bytes.indexOf(form, at + 1)) {
      count += 1;
      yield at;
    }
  }
}
