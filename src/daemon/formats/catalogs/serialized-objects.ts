import { PatchError } from '../patch/patch-error.ts';

/** The JSON of an object in a catalog of Addressables. */
export interface JsonObjectSpan {
  /** Where its length begins. */
  readonly start: number;
  readonly end: number;
  readonly json: string;
}

/** The mark of an object as JSON. */
const JSON_OBJECT = 7;
const OPTIONS_CLASS = 'AssetBundleRequestOptions';
const LENGTH_BYTES = 4;

/**
 * Finds the JSON of the options of a bundle: a mark, the names of assembly and class with a length of one byte each, and the
 * JSON as UTF-16 with a length of 32 bits.
 *
 * @param at position of the object
 * @returns `null` when it is another object
 * @throws PatchError `catalog_not_rewritten` when it is cut
 */
export function jsonObjectSpan(objects: Buffer, at: number): JsonObjectSpan | null {
  if (objects[at] !== JSON_OBJECT) return null;
  const assembly = at + 1;
  const className = assembly + 1 + (objects[assembly] ?? 0);
  const start = className + 1 + (objects[className] ?? 0);
  const name = objects.toString('latin1', className + 1, start);
  if (name !== OPTIONS_CLASS && !name.endsWith(`.${OPTIONS_CLASS}`)) return null;
  const length = start + LENGTH_BYTES <= objects.length ? objects.readInt32LE(start) : -1;
  const end = start + LENGTH_BYTES + length;
  if (length < 0 || length % 2 !== 0 || end > objects.length) {
    throw new PatchError(
      'catalog_not_rewritten',
      '',
      `the object at ${at} of the catalog of Addressables is cut`,
    );
  }
  return { start, end, json: objects.toString('utf16le', start + LENGTH_BYTES, end) };
}
