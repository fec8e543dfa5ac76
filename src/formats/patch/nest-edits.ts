import type { FieldEdit, NestedEdit, ValueEdit } from './find-places.ts';

/** How a format writes paths: JSON pointers, or names with dots and brackets. */
export type PathForm = 'pointer' | 'dotted';

export interface FieldFile {
  readonly fieldPath: string;
  readonly fieldName: string;
  readonly value: string | Uint8Array;
}

/**
 * Gathers the edits of files inside of fields: the path to such a text continues behind the `#` of the path to its field.
 * Only the first level is gathered; the edits inside can lead into files again.
 *
 * @param patchFile patches a file inside of a field, and returns it in the form of its value
 */
export function nestEdits(
  edits: readonly FieldEdit[],
  form: PathForm,
  patchFile: (file: FieldFile, edits: readonly FieldEdit[]) => string | Uint8Array,
): readonly ValueEdit[] {
  const own: FieldEdit[] = [];
  const inner = new Map<string, FieldEdit[]>();
  for (const edit of edits) {
    const at = innerPathStart(edit.fieldPath, form);
    if (at === -1) {
      own.push(edit);
      continue;
    }
    const fieldPath = edit.fieldPath.slice(0, at);
    const group = inner.get(fieldPath) ?? [];
    group.push({ ...edit, fieldPath: edit.fieldPath.slice(at + 1) });
    inner.set(fieldPath, group);
  }
  const nested = Array.from(inner, ([fieldPath, group]): NestedEdit => ({
    fieldPath,
    patch: (value, fieldName) => patchFile({ fieldPath, fieldName, value }, group),
  }));
  return [...own, ...nested];
}

/** Where the `#` is behind which a path leads into a file, or -1. In dotted paths a quoted name can have others. */
function innerPathStart(path: string, form: PathForm): number {
  const first = path.indexOf('#');
  if (form === 'pointer' || first === -1) return first;
  // A name in brackets is a string of JSON, or the key of a row in SQL, where a quote is doubled.
  const part = /\["(?:[^"\\]|\\.)*"\]|\[(?:'(?:[^']|'')*'|[^'\]])*\]|[^[#]/gsy;
  let end = 0;
  while (part.test(path)) end = part.lastIndex;
  return path.charAt(end) === '#' ? end : -1;
}
