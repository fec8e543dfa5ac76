import { PatchError } from '../../../formats/patch/patch-error.ts';
import type { SerializedFile, SerializedObject } from '../../../formats/unity/serialized-file.ts';
import { TEXT_CLASSES } from '../../../parse/container/parse-unity.ts';
import type { EditTree } from './edit-tree.ts';
import { editedPathIds, missing } from './leaf-edits.ts';

/**
 * The objects of a serialized file that have edits.
 *
 * @returns in the order of their bytes, so that a block of a bundle is decompressed once
 * @throws PatchError `place_not_found`, `place_ambiguous`
 */
export function editedObjects(file: SerializedFile, tree: EditTree): readonly SerializedObject[] {
  const left = new Set(editedPathIds(tree));
  const found = new Set<bigint>();
  const objects = file.objects.filter(({ pathId, type }) => {
    if (!TEXT_CLASSES.has(type.classId)) return false;
    if (!left.delete(pathId)) {
      if (!found.has(pathId)) return false;
      throw new PatchError('place_ambiguous', '', `several objects have the path id ${pathId}`);
    }
    found.add(pathId);
    return true;
  });
  const [absent] = left;
  if (absent === null) throw missing('', 'the edits name no object of the file');
  if (absent !== undefined) throw missing('', `the file has no object ${absent} with text`);
  return objects.toSorted((first, second) => first.offset - second.offset);
}
