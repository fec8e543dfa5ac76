import {
  isNested,
  type FieldEdit,
  type NestedEdit,
  type ValueEdit,
} from '../../../../formats/patch/find-places.ts';
import { PatchError } from '../../../../formats/patch/patch-error.ts';
import { nestEdits, type FieldFile, type PathForm } from '../../../../formats/patch/nest-edits.ts';
import { DOTTED_SYNTAX } from '../../../../formats/collect/path-syntax.ts';
import { syntaxOf, type TextFormat } from '../../../parse/container/text-formats.ts';
import { fieldFileName } from '../../../parse/container/container-run.ts';
import type { EditTree } from './edit-tree.ts';

export interface FieldFiles {
  /** A text file; its paths continue that of the field. */
  readonly text: (file: FieldFile, edits: readonly FieldEdit[]) => string | Uint8Array;
  /** A file of another format, which is an entry. */
  readonly container: (file: FieldFile, tree: EditTree) => string | Uint8Array;
}

/** The part of a file whose texts have paths of their own: an object, or a file without objects. */
export interface Leaf {
  readonly pathId: bigint | null;
  readonly form: PathForm;
}

export function formOf(format: TextFormat): PathForm {
  return syntaxOf(format) === DOTTED_SYNTAX ? 'dotted' : 'pointer';
}

/** The edits of a leaf: of its texts, and of the files inside of its fields. */
export function leafEdits(tree: EditTree, { pathId, form }: Leaf, files: FieldFiles): readonly ValueEdit[] {
  const edits = nestEdits(tree.edits(pathId), form, files.text);
  const prefix = fieldFileName(pathId, '');
  const containers: NestedEdit[] = [];
  for (const [name, child] of tree.children) {
    if (!name.startsWith(prefix)) continue;
    const fieldPath = name.slice(prefix.length);
    containers.push({
      fieldPath,
      patch: (value, fieldName) => files.container({ fieldPath, fieldName, value }, child),
    });
  }
  return [...edits, ...containers];
}

/**
 * The objects of a file that have edits, of their own or inside of their fields.
 *
 * @throws PatchError `place_not_found` for a child that is not inside of a field
 */
export function editedPathIds(tree: EditTree): ReadonlySet<bigint | null> {
  const ids = new Set(tree.pathIds);
  for (const name of tree.children.keys()) {
    const digits = /^((?:-?\d+)?)\//.exec(name)?.[1];
    if (digits === undefined) throw missing('', `the file has no file ${JSON.stringify(name)} inside`);
    ids.add(digits === '' ? null : BigInt(digits));
  }
  return ids;
}

/** Checks that all edits are those of one leaf. @throws PatchError `place_not_found` */
export function checkOneLeaf(tree: EditTree): void {
  for (const id of editedPathIds(tree)) {
    if (id !== null) throw missing('', `the file has no objects, so no object ${id}`);
  }
}

/** The same edits inverted: they find the places of the targets. */
export function inverted(edits: readonly ValueEdit[]): readonly ValueEdit[] {
  return edits.map((edit) =>
    isNested(edit) ? edit : { fieldPath: edit.fieldPath, source: edit.target, target: edit.source },
  );
}

export function missing(fieldPath: string, message: string): PatchError {
  return new PatchError('place_not_found', fieldPath, message);
}
