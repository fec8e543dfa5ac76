import { findPlaces } from '../../../formats/patch/find-places.ts';
import { textPlaces } from '../../../formats/patch/text-places.ts';
import type { ValueEdit } from '../../../formats/patch/value-edit.ts';
import { differentPlaces, type PlacedRange } from '../../../formats/patch/same-bytes.ts';
import { byteOffsets, type DecodedText } from '../../../formats/text/decode-text.ts';
import { decodedValue, readText, syntaxOf, type TextFormat } from '../../../parse/container/collect-text.ts';
import type { CompiledRule } from '../../../parse/rules/compile-rules.ts';
import { fieldPart, fieldTextFormat } from '../edits/field-part.ts';
import { formOf } from '../edits/leaf-edits.ts';
import { inField } from '../placed-error.ts';
import { differs, type CompareRun, type PartPair } from './compare-run.ts';
import { lookAtText, type Look, type SeenFile } from './seen-files.ts';
import { bufferOf } from '../../../../platform/buffer-of.ts';

/** The place of a leaf whose fields are compared. */
export interface LeafPair extends PartPair {
  readonly rule: CompiledRule;
  readonly pathId: bigint | null;
}

/** A text file, or a string that holds one, before and after the patch. */
export interface TextPair {
  readonly before: string | Uint8Array;
  readonly after: string | Uint8Array;
  readonly format: TextFormat;
}

/**
 * Checks that two text files differ only in the places of edits.
 *
 * @throws PatchError for the first difference; FormatError when a file cannot be read
 */
export function compareTexts(
  { limits }: Pick<CompareRun, 'limits'>,
  { before, after, format }: TextPair,
  rule: CompiledRule,
  looks: { readonly before: Look; readonly after: Look },
): void {
  const rangeOf = (value: string | Uint8Array, edits: readonly ValueEdit[]): PlacedRange => {
    const decoded = decodedValue(value, rule);
    const places = findPlaces(edits, syntaxOf(format), (visitor) => {
      readText(decoded, format, rule, { visitor, limits, reportPartError: () => undefined });
    });
    return textRange(value, decoded, places);
  };
  const left = rangeOf(before, looks.before.edits);
  const right = rangeOf(after, looks.after.edits);
  if (differentPlaces(left, right) === null) throw differs('', 'the text differs outside of the edits');
}

/**
 * Checks that two text files differ only in as many texts as have edits, none of them inside of a file in a field. Which
 * texts these are is checked where the texts themselves are compared.
 *
 * @throws PatchError for the first difference; FormatError when a file cannot be read
 */
export function comparePlainTexts(
  { limits }: Pick<CompareRun, 'limits'>,
  { before, after, format }: TextPair,
  rule: CompiledRule,
  edits: number,
): void {
  const rangeOf = (value: string | Uint8Array): PlacedRange => {
    const decoded = decodedValue(value, rule);
    const places = textPlaces((visitor) => {
      readText(decoded, format, rule, { visitor, limits, reportPartError: () => undefined });
    });
    return textRange(value, decoded, places);
  };
  checkPlaces(differentPlaces(rangeOf(before), rangeOf(after)), edits, 'the text');
}

/**
 * Checks how many texts differ.
 *
 * @param different `null` where something else differs
 * @param what names the file or the object
 * @throws PatchError
 */
export function checkPlaces(different: number | null, edits: number, what: string): void {
  if (different === null) throw differs('', `${what} differs outside of the edits`);
  if (different > edits) throw differs('', `${what} has ${different} other texts, and ${edits} edits`);
}

/** Positions are those of the decoded text, without the byte order mark. */
function textRange(
  value: string | Uint8Array,
  decoded: DecodedText,
  places: PlacedRange['places'],
): PlacedRange {
  const { text, byteOrderMark } = decoded;
  if (typeof value === 'string') {
    const slice = (start: number, end: number): Buffer => Buffer.from(text.slice(start, end), 'utf16le');
    return { head: Uint8Array.of(byteOrderMark ? 1 : 0), places, size: text.length, slice };
  }
  const offsetOf = byteOffsets(decoded);
  const bytes = bufferOf(value);
  return {
    head: bytes.subarray(0, offsetOf(0)),
    places,
    size: text.length,
    slice: (start, end) => {
      const from = offsetOf(start);
      return bytes.subarray(from, offsetOf(end));
    },
  };
}

/**
 * Compares the files inside of the fields of a leaf.
 *
 * @throws PatchError for the first difference
 */
export function compareFieldFiles(
  run: CompareRun,
  leaf: LeafPair,
  looks: { readonly before: Look; readonly after: Look },
  depth = leaf.before.depth + 1,
): void {
  for (const [number, before] of looks.before.files.entries()) {
    const after = looks.after.files[number];
    if (after?.fieldPath !== before.fieldPath) throw differs(before.fieldPath, 'the field is missing');
    inField(before.fieldPath, () => {
      compareFile(run, leaf, { before, after }, depth);
    });
  }
}

function compareFile(
  run: CompareRun,
  leaf: LeafPair,
  { before, after }: { readonly before: SeenFile; readonly after: SeenFile },
  depth: number,
): void {
  const { rule, pathId } = leaf;
  if (before.kind === 'container') {
    const pair = {
      before: fieldPart(before, rule, { part: leaf.before, pathId }),
      after: fieldPart(after, rule, { part: leaf.after, pathId }),
    };
    run.comparePart(pair, before.tree);
    return;
  }
  const format = fieldTextFormat(before, rule, depth);
  if (fieldTextFormat(after, rule, depth) !== format) throw differs('', 'the field holds another format');
  const form = formOf(format);
  const looks = {
    before: lookAtText('before', before.edits, form),
    after: lookAtText('after', before.edits, form),
  };
  compareTexts(run, { before: before.value, after: after.value, format }, rule, looks);
  compareFieldFiles(run, leaf, looks, depth + 1);
}
