import { bytesSource } from '../../../../formats/byte-source.ts';
import {
  nestedEntry,
  nestedName,
  type Part,
  fieldFileName,
  MAX_DEPTH,
  tooDeep,
} from '../../../parse/container/container-run.ts';
import type { CompiledRule } from '../../../parse/rules/compile-rules.ts';
import type { FieldFile } from '../../../../formats/patch/nest-edits.ts';
import { isTextFormat, type TextFormat } from '../../../parse/container/text-formats.ts';
import { fieldFormat } from '../../../parse/container/emit-texts.ts';
import { missing, editedPathIds } from './leaf-edits.ts';
import type { BundlePart } from '../../../parse/container/unity-files.ts';
import type { EditTree } from './edit-tree.ts';
import { PatchError } from '../../../../formats/patch/patch-error.ts';
import type { SerializedFile, SerializedObject } from '../../../../formats/unity/serialized-file.ts';
import { TEXT_CLASSES } from '../../../parse/container/parse-unity.ts';

/** A file in an archive. Edits name it exactly, so its stable name is not needed. */
export function entryPart(archive: Part, name: string, content: Uint8Array): Part {
  return {
    source: bytesSource(content),
    name,
    ...nestedName(archive, name, name),
    depth: archive.depth + 1,
  };
}

export function entryPasswords(rule: CompiledRule, { entry }: Part): (name: string) => Uint8Array | null {
  return (name) => rule.password(nestedEntry(entry, name));
}

/**
 * The format of the text file inside of a field.
 *
 * @param depth files around it
 * @throws PatchError `place_not_found` when the rule and the value make it none; FormatError `nesting_too_deep`
 */
export function fieldTextFormat(
  { fieldPath, fieldName, value }: FieldFile,
  rule: CompiledRule,
  depth: number,
): TextFormat {
  const wanted = rule.nestedFormat(fieldName);
  const format = wanted === undefined ? null : fieldFormat(wanted, value);
  if (format === null || !isTextFormat(format)) throw missing(fieldPath, 'the field holds no text file');
  if (depth > MAX_DEPTH) throw tooDeep();
  return format;
}

/** The file of another format inside of a field. @throws PatchError `place_not_found` */
export function fieldPart(
  { fieldPath, fieldName, value }: FieldFile,
  rule: CompiledRule,
  { part, pathId }: { readonly part: Part; readonly pathId: bigint | null },
): Part {
  const wanted = rule.nestedFormat(fieldName);
  const format = wanted === undefined ? null : fieldFormat(wanted, value);
  if (format === null || isTextFormat(format)) throw missing(fieldPath, 'the field holds no such file');
  const name = fieldFileName(pathId, fieldPath);
  return {
    source: bytesSource(typeof value === 'string' ? Buffer.from(value) : value),
    name: fieldPath,
    ...nestedName(part, name, name),
    depth: part.depth + 1,
    given: { rule, format },
  };
}

/**
 * The serialized files of a bundle that have edits. The only one has those of the bundle itself.
 *
 * @throws PatchError `place_not_found`
 */
export function editedFiles<File extends BundlePart>(
  files: readonly File[],
  tree: EditTree,
): readonly { readonly file: File; readonly tree: EditTree }[] {
  const [only] = files;
  if (only !== undefined && files.length === 1) return [{ file: only, tree }];
  if (tree.pathIds.length > 0)
    throw missing('', 'the bundle has several files, and the edits name none of them');
  return Array.from(tree.children, ([name, child]) => {
    const file = files.find(({ node }) => node.name === name);
    if (file === undefined) throw missing('', `the bundle has no serialized file ${JSON.stringify(name)}`);
    return { file, tree: child };
  });
}

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
