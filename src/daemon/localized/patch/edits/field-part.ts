import { bytesSource } from '../../../formats/byte-source.ts';
import type { FieldFile } from '../../../formats/patch/nest-edits.ts';
import { isTextFormat, type TextFormat } from '../../../parse/container/collect-text.ts';
import {
  fieldFileName,
  MAX_DEPTH,
  nestedName,
  tooDeep,
  type Part,
} from '../../../parse/container/container-run.ts';
import { fieldFormat } from '../../../parse/container/emit-texts.ts';
import type { CompiledRule } from '../../../parse/rules/compile-rules.ts';
import { missing } from './leaf-edits.ts';

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

/**
 * The file of another format inside of a field.
 *
 * @throws PatchError `place_not_found`
 */
export function fieldPart(
  { fieldPath, fieldName, value }: FieldFile,
  rule: CompiledRule,
  { part, pathId }: { readonly part: Part; readonly pathId: bigint | null },
): Part {
  const wanted = rule.nestedFormat(fieldName);
  const format = wanted === undefined ? null : fieldFormat(wanted, value);
  if (format === null || isTextFormat(format)) throw missing(fieldPath, 'the field holds no such file');
  const name = fieldFileName({ pathId }, fieldPath);
  return {
    source: bytesSource(typeof value === 'string' ? Buffer.from(value) : value),
    name: fieldPath,
    ...nestedName(part, name, name),
    depth: part.depth + 1,
    given: { rule, format },
  };
}
