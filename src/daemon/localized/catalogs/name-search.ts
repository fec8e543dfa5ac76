/** Finds names of files in the bytes of a file. */
export interface NameSearch {
  /** Those of the names that stand in the bytes, in any form of {@link nameForms}. */
  find(bytes: Buffer): ReadonlySet<string>;
}

/** Names that end alike are searched together, by this number of bytes at their end. */
const COMMON_BYTES = 6;

/** The forms with one end: the names by their bytes, by length. */
interface NameGroup {
  readonly end: Buffer;
  readonly byLength: Map<number, Map<string, string>>;
}

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
 * Prepares the search of names. Names mostly end alike (`.bundle`), so the bytes are searched for the few ends, and what
 * stands in front of a found end is looked up.
 *
 * @param names well-formed and not empty
 */
export function createNameSearch(names: Iterable<string>): NameSearch {
  const groups = new Map<string, NameGroup>();
  for (const name of names) {
    for (const form of nameForms(name)) {
      const end = form.subarray(-COMMON_BYTES);
      const key = end.toString('latin1');
      const group = groups.get(key) ?? { end, byLength: new Map() };
      groups.set(key, group);
      const forms = group.byLength.get(form.length) ?? new Map<string, string>();
      group.byLength.set(form.length, forms.set(form.toString('latin1'), name));
    }
  }
  return {
    find: (bytes) => {
      const found = new Set<string>();
      for (const group of groups.values()) findGroup(bytes, group, found);
      return found;
    },
  };
}

function findGroup(bytes: Buffer, { end, byLength }: NameGroup, found: Set<string>): void {
  for (let at = bytes.indexOf(end); at !== -1; at = bytes.indexOf(end, at + 1)) {
    const behind = at + end.length;
    for (const [length, forms] of byLength) {
      if (length > behind) continue;
      const name = forms.get(bytes.toString('latin1', behind - length, behind));
      if (name !== undefined) found.add(name);
    }
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
