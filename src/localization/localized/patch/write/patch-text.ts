import { isUtf8 } from 'node:buffer';
import { nestEdits } from '../../../../formats/patch/nest-edits.ts';
import { PatchError } from '../../../../formats/patch/patch-error.ts';
import { patchText } from '../../../parse/container/text-formats.ts';
import type { ContainerScope, Part } from '../../../parse/container/container-run.ts';
import type { CompiledRule } from '../../../parse/rules/compile-rules.ts';
import { fieldPart, fieldTextFormat } from '../edits/edited-parts.ts';
import { formOf, type FieldFiles } from '../edits/leaf-edits.ts';
import { inField } from '../placed-error.ts';
import type { EditTree } from '../edits/edit-tree.ts';

export interface PatchRun extends ContainerScope {
  /**
   * Patches a file of the container.
   *
   * @returns the new bytes in their order; a chunk must not be changed
   * @throws PlacedError
   */
  patchPart(part: Part, tree: EditTree): Generator<Uint8Array, void, undefined>;
}

export function patchedBytes(run: PatchRun, part: Part, tree: EditTree): Buffer {
  return Buffer.concat([...run.patchPart(part, tree)]);
}

export function fieldFiles(
  run: PatchRun,
  place: { readonly part: Part; readonly pathId: bigint | null },
  rule: CompiledRule,
): FieldFiles {
  const patchField =
    (depth: number): FieldFiles['text'] =>
    (file, edits) =>
      inField(file.fieldPath, () => {
        const format = fieldTextFormat(file, rule, depth);
        const inner = nestEdits(edits, formOf(format), patchField(depth + 1));
        return patchText(file.value, format, inner, { rule, limits: run.limits });
      });
  return {
    text: patchField(place.part.depth + 1),
    container: (file, tree) => {
      const bytes = patchedBytes(run, fieldPart(file, rule, place), tree);
      if (typeof file.value !== 'string') return bytes;
      if (isUtf8(bytes)) return bytes.toString();
      throw new PatchError(
        'not_writable',
        file.fieldPath,
        'the field holds text, and the new file is not valid UTF-8',
      );
    },
  };
}
