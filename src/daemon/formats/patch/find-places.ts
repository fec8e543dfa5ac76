import type { PathSyntax } from '../collect/path-syntax.ts';
import { TextCollector, type CollectedText } from '../collect/text-collector.ts';
import type { ValueVisitor } from '../value-visitor.ts';
import { PatchError } from './patch-error.ts';
import type { FieldEdit, NestedEdit, ValueEdit } from './value-edit.ts';

/** Where an edit is made, and what is written there. */
export interface EditPlace {
  readonly edit: ValueEdit;
  /** The position of the encoded form, as the reader reports it. */
  readonly start: number;
  readonly end: number;
  /** The value that is there. */
  readonly source: string | Uint8Array;
  /** The value that replaces it. */
  readonly target: string | Uint8Array;
}

/**
 * Finds the places of edits by reading the file with its reader. Paths are made by the collector that the parser uses, so
 * a place has the path that the parser reports for it.
 *
 * @param syntax how the format writes paths
 * @param read reads the file; it runs a second time only to explain why a place was not found
 * @returns places in the order of the file
 * @throws PatchError `place_not_found`, `place_ambiguous`, `source_differs`, `character_not_allowed`, and what a nested
 *   patch throws
 */
export function findPlaces(
  edits: readonly ValueEdit[],
  syntax: PathSyntax,
  read: (visitor: ValueVisitor) => void,
): readonly EditPlace[] {
  const byPath = editsByPath(edits);
  const sources = new Set(edits.flatMap((edit) => (isNested(edit) ? [] : [edit.source])));
  const found = collect(edits, syntax, read, (text) => sources.has(text));
  const places = new Map<ValueEdit, CollectedText>();
  for (const text of found) {
    const edit = byPath.get(text.fieldPath);
    if (edit === undefined || !(isNested(edit) || edit.source === text.value)) continue;
    if (places.has(edit)) {
      throw new PatchError('place_ambiguous', edit.fieldPath, 'several texts of the file have this path');
    }
    places.set(edit, text);
  }
  if (places.size < edits.length)
    throw missingPlace(edits, places, () => collect(edits, syntax, read, () => true));
  return [...places].map(([edit, { start, end, value }]) => {
    const target = isNested(edit) ? edit.patch(value) : edit.target;
    if (typeof target !== typeof value) throw new TypeError('a nested patch must keep the form of its value');
    return { edit, start, end, source: value, target };
  });
}

/** Whether an edit patches a file inside of a field. */
export function isNested(edit: ValueEdit): edit is NestedEdit {
  return 'patch' in edit;
}

function editsByPath(edits: readonly ValueEdit[]): ReadonlyMap<string, ValueEdit> {
  const byPath = new Map<string, ValueEdit>();
  for (const edit of edits) {
    const { fieldPath } = edit;
    if (byPath.has(fieldPath)) throw new PatchError('place_ambiguous', fieldPath, 'two edits have this path');
    if (!isNested(edit)) checkTarget(edit);
    byPath.set(fieldPath, edit);
  }
  return byPath;
}

/** Half a surrogate pair has no form in any encoding, and an encoder would replace it silently. */
function checkTarget({ fieldPath, target }: FieldEdit): void {
  if (target.isWellFormed()) return;
  throw new PatchError('character_not_allowed', fieldPath, 'the target text has half a surrogate pair');
}

function collect(
  edits: readonly ValueEdit[],
  syntax: PathSyntax,
  read: (visitor: ValueVisitor) => void,
  isCandidate: (text: string) => boolean,
): readonly CollectedText[] {
  const nested = edits.filter(isNested);
  const nestedNames = new Map<string, boolean>();
  const collector = new TextCollector({
    syntax,
    rowKeys: [],
    speakerFields: new Set(),
    sceneFields: new Set(),
    isCandidate,
    mayNest: (name) => {
      let holds = nestedNames.get(name);
      if (holds === undefined) {
        const end = syntax.field('', name);
        holds = nested.some(({ fieldPath }) => fieldPath.endsWith(end));
        nestedNames.set(name, holds);
      }
      return holds;
    },
  });
  read(collector);
  return collector.finish().texts;
}

function missingPlace(
  edits: readonly ValueEdit[],
  places: ReadonlyMap<ValueEdit, unknown>,
  readAll: () => readonly CollectedText[],
): PatchError {
  const edit = edits.find((each) => !places.has(each));
  if (edit === undefined) throw new Error('every edit has a place');
  const { fieldPath } = edit;
  const isThere = readAll().some((text) => text.fieldPath === fieldPath);
  return isThere
    ? new PatchError('source_differs', fieldPath, 'the text in the file is not the source text of the edit')
    : new PatchError('place_not_found', fieldPath, 'the file has no text at this path');
}
