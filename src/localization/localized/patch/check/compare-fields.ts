import {
  findPlaces,
  type ValueEdit,
  type FieldEdit,
  textPlaces,
} from '../../../../formats/patch/find-places.ts';
import { differentPlaces, type PlacedRange } from '../../../../formats/patch/same-bytes.ts';
import { byteOffsets, type DecodedText } from '../../../../formats/text/decode-text.ts';
import { decodedValue, readText, syntaxOf, type TextFormat } from '../../../parse/container/text-formats.ts';
import type { CompiledRule } from '../../../parse/rules/compile-rules.ts';
import { fieldPart, fieldTextFormat } from '../edits/edited-parts.ts';
import { formOf, inverted, leafEdits, type FieldFiles, type Leaf } from '../edits/leaf-edits.ts';
import { inField } from '../placed-error.ts';
import { bufferOf } from '../../../../platform/buffer-of.ts';
import { PatchError } from '../../../../formats/patch/patch-error.ts';
import type { ContainerScope, Part } from '../../../parse/container/container-run.ts';
import type { EditTree } from '../edits/edit-tree.ts';
import { type FieldFile, nestEdits } from '../../../../formats/patch/nest-edits.ts';

type SeenFile = FieldFile &
  (
    | { readonly kind: 'text'; readonly edits: readonly FieldEdit[] }
    | { readonly kind: 'container'; readonly tree: EditTree }
  );

/** The edits of a leaf as they are found in one of the two files: in the patched one, by their targets. */
export interface View {
  readonly edits: readonly ValueEdit[];
  /** The files inside of fields; filled while the places are searched, in the order of the file. */
  readonly files: readonly SeenFile[];
}

interface Views {
  readonly before: View;
  readonly after: View;
}

export function leafViews(tree: EditTree, leaf: Leaf): Views {
  return viewsOf((receivers) => leafEdits(tree, leaf, receivers));
}

function viewsOf(editsFor: (receivers: FieldFiles) => readonly ValueEdit[]): Views {
  const [before, after] = [collectFiles(), collectFiles()];
  return {
    before: { edits: editsFor(before.receivers), files: before.files },
    after: { edits: inverted(editsFor(after.receivers)), files: after.files },
  };
}

function collectFiles(): { readonly files: readonly SeenFile[]; readonly receivers: FieldFiles } {
  const files: SeenFile[] = [];
  return {
    files,
    receivers: {
      text: (file, edits) => {
        files.push({ ...file, kind: 'text', edits });
        return file.value;
      },
      container: (file, tree) => {
        files.push({ ...file, kind: 'container', tree });
        return file.value;
      },
    },
  };
}

export interface CompareRun extends ContainerScope {
  comparePart(pair: PartPair, tree: EditTree): void;
  countUntouched(count: number): void;
}

export interface PartPair {
  readonly before: Part;
  readonly after: Part;
}

/** The error for a difference. @param fieldPath empty for the file as a whole */
export function differs(fieldPath: string, message: string): PatchError {
  return new PatchError('round_trip_failed', fieldPath, message);
}

interface LeafPair extends PartPair {
  readonly rule: CompiledRule;
  readonly pathId: bigint | null;
}

interface TextPair {
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
  { limits }: CompareRun,
  { before, after, format }: TextPair,
  rule: CompiledRule,
  views: Views,
): void {
  const rangeOf = (value: string | Uint8Array, edits: readonly ValueEdit[]): PlacedRange => {
    const decoded = decodedValue(value, rule);
    const places = findPlaces(edits, syntaxOf(format), (visitor) => {
      readText(decoded, format, rule, { visitor, limits, reportPartError: () => undefined });
    });
    return textRange(value, decoded, places);
  };
  const left = rangeOf(before, views.before.edits);
  const right = rangeOf(after, views.after.edits);
  if (differentPlaces(left, right) === null) throw differs('', 'the text differs outside of the edits');
}

/**
 * Checks that two text files differ only in as many texts as have edits, none of them inside of a file in a field. Which
 * texts these are is checked where the texts themselves are compared.
 *
 * @throws PatchError for the first difference; FormatError when a file cannot be read
 */
export function comparePlainTexts(
  { limits }: CompareRun,
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

/** Compares the files inside of the fields of a leaf. @throws PatchError for the first difference */
export function compareFieldFiles(
  run: CompareRun,
  leaf: LeafPair,
  views: Views,
  depth = leaf.before.depth + 1,
): void {
  for (const [number, before] of views.before.files.entries()) {
    const after = views.after.files[number];
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
  const views = viewsOf((receivers) => nestEdits(before.edits, form, receivers.text));
  compareTexts(run, { before: before.value, after: after.value, format }, rule, views);
  compareFieldFiles(run, leaf, views, depth + 1);
}
