/** Finds names of files in the bytes of a file. */
export interface NameSearch {
  /** Those of the names that stand in the bytes, in any form of {@link nameForms}. */
  find(bytes: Buffer): ReadonlySet<string>;
}

/** A form is found by its last bytes, as one number. */
const END_BYTES = 4;
/** Bits of the table that tells which ends are worth a look. */
const TABLE_BITS = 20;

/** The forms with one end: the names by their bytes, by length. */
type FormsOfEnd = Map<number, Map<string, string>>;

/**
 * The forms in which a name stands in a file: UTF-8, UTF-16 in both orders of bytes, with escapes of JSON and of addresses.
 */
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
 * Prepares the search of names. The bytes are read once, whatever the number of names.
 *
 * @param names well-formed and not empty
 */
export function createNameSearch(names: Iterable<string>): NameSearch {
  const byEnd = new Map<number, FormsOfEnd>();
  const short: { readonly name: string; readonly form: Buffer }[] = [];
  const table = new Uint8Array(2 ** TABLE_BITS);
  for (const name of names) {
    for (const form of nameForms(name)) {
      if (form.length < END_BYTES) {
        short.push({ name, form });
        continue;
      }
      const end = form.readInt32LE(form.length - END_BYTES);
      table[slotOf(end)] = 1;
      const byLength = byEnd.get(end) ?? new Map<number, Map<string, string>>();
      byEnd.set(end, byLength);
      const forms = byLength.get(form.length) ?? new Map<string, string>();
      byLength.set(form.length, forms.set(form.toString('latin1'), name));
    }
  }
  return {
    find: (bytes) => {
      const found = new Set<string>();
      for (const { name, form } of short) if (bytes.includes(form)) found.add(name);
      let end = 0;
      for (let at = 0; at < bytes.length; at += 1) {
        end = (end >>> 8) | ((bytes[at] ?? 0) << 24);
        if (table[slotOf(end)] === 1) noteNames(bytes, at + 1, byEnd.get(end), found);
      }
      return found;
    },
  };
}

function slotOf(end: number): number {
  return Math.imul(end, 0x9e37_79b1) >>> (32 - TABLE_BITS);
}

/** Notes the names that end at a position. */
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
