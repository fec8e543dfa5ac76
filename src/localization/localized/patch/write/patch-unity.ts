import { pieceChunks } from '../../../../formats/patch/output-pieces.ts';
import { patchBundle, sizeUnitOf } from '../../../../formats/unity/bundle-patch.ts';
import { objectSplices } from '../../../../formats/unity/object-splices.ts';
import type { SerializedFile } from '../../../../formats/unity/serialized-file.ts';
import {
  spliceSerializedFile,
  type ObjectSplices,
} from '../../../../formats/unity/splice-serialized-file.ts';
import type { Part } from '../../../parse/container/container-run.ts';
import { filesOf, isBundle, openUnityFile } from '../../../parse/container/unity-files.ts';
import type { CompiledRule } from '../../../parse/rules/compile-rules.ts';
import type { EditTree } from '../edits/edit-tree.ts';
import { editedFiles, editedObjects } from '../edits/edited-parts.ts';
import { leafEdits } from '../edits/leaf-edits.ts';
import { placedError } from '../placed-error.ts';
import { fieldFiles, type PatchRun } from './patch-text.ts';

/** Replaces texts of a bundle, or of a serialized file outside of a bundle. */
export function* patchUnity(
  run: PatchRun,
  part: Part,
  rule: CompiledRule,
  tree: EditTree,
): Generator<Uint8Array, void, undefined> {
  if (!isBundle(part)) {
    const file = openUnityFile(run, rule, part);
    const source = spliceSerializedFile(file, changedObjects(run, { part, rule, file }, tree));
    yield* pieceChunks([{ source, offset: 0, length: source.size }]);
    return;
  }
  const { bundle, files } = filesOf(run, part);
  const changes = editedFiles(files, tree).map(({ file: inner, tree: edits }) => {
    try {
      const file = openUnityFile(run, rule, inner);
      const objects = changedObjects(run, { part: inner, rule, file }, edits);
      return [inner.node, spliceSerializedFile(file, objects, sizeUnitOf(bundle, inner.node))] as const;
    } catch (error) {
      throw placedError(error, inner.entry);
    }
  });
  yield* patchBundle(part.source, bundle, new Map(changes)).chunks();
}

function changedObjects(
  run: PatchRun,
  { part, rule, file }: { readonly part: Part; readonly rule: CompiledRule; readonly file: SerializedFile },
  tree: EditTree,
): ObjectSplices {
  return new Map(
    editedObjects(file, tree).map((object) => {
      const { pathId } = object;
      const edits = leafEdits(tree, { pathId, form: 'dotted' }, fieldFiles(run, { part, pathId }, rule));
      return [object, objectSplices(file, object, edits, run.limits)];
    }),
  );
}
