import { isUtf8 } from 'node:buffer';
import { patchCsv } from '../../../../formats/csv/patch-csv.ts';
import { patchJson } from '../../../../formats/json/patch-json.ts';
import { isNested, type ValueEdit } from '../../../../formats/patch/find-places.ts';
import { nestEdits } from '../../../../formats/patch/nest-edits.ts';
import { PatchError } from '../../../../formats/patch/patch-error.ts';
import { patchLines } from '../../../../formats/text/patch-text.ts';
import { csvOptionsOf, encodingOf, type TextFormat } from '../../../parse/container/collect-text.ts';
import type { ContainerScope, Part } from '../../../parse/container/container-run.ts';
import type { CompiledRule } from '../../../parse/rules/compile-rules.ts';
import { fieldPart, fieldTextFormat } from '../edits/edited-parts.ts';
import { formOf, missing, type FieldFiles } from '../edits/leaf-edits.ts';
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

/**
 * Replaces texts of a text file.
 *
 * @param value a file, or a string that holds one
 * @throws PatchError; FormatError when the text cannot be read
 */
export function patchText(
  value: string | Uint8Array,
  format: TextFormat,
  edits: readonly ValueEdit[],
  { rule, limits }: { readonly rule: CompiledRule; readonly limits: PatchRun['limits'] },
): string | Uint8Array {
  const options = { encoding: encodingOf(rule), limits };
  if (format === 'json') return patchJson(value, edits, options);
  if (format !== 'text') return patchCsv(value, edits, { ...csvOptionsOf(format, rule), ...options });
  const lines = edits.map((edit) => {
    if (isNested(edit)) throw missing(edit.fieldPath, 'a line of a text holds no file');
    return edit;
  });
  return patchLines(value, lines, options);
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
