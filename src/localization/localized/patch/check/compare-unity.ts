import { differentPlaces, type PlacedRange } from '../../../../formats/patch/same-bytes.ts';
import { textPlaces } from '../../../../formats/patch/text-places.ts';
import { compareBundles, compareSerializedFiles } from '../../../../formats/unity/compare-unity.ts';
import { objectPlaces } from '../../../../formats/unity/object-splices.ts';
import type { SerializedFile, SerializedObject } from '../../../../formats/unity/serialized-file.ts';
import { filesOf, isBundle, openUnityFile } from '../../../parse/container/unity-files.ts';
import type { CompiledRule } from '../../../parse/rules/compile-rules.ts';
import type { EditTree } from '../edits/edit-tree.ts';
import { objectLimits, readObjectBytes, visitObject } from '../../../../formats/unity/visit-object.ts';
import { editedFiles, editedObjects } from '../edits/edited-parts.ts';
import { placedError } from '../placed-error.ts';
import {
  checkPlaces,
  compareFieldFiles,
  differs,
  type CompareRun,
  type PartPair,
  leafViews,
  type View,
} from './compare-fields.ts';

/** Compares a bundle, or a serialized file outside of a bundle, with its patched form. */
export function compareUnity(run: CompareRun, pair: PartPair, rule: CompiledRule, tree: EditTree): void {
  if (!isBundle(pair.before)) {
    compareFiles(run, pair, rule, tree);
    return;
  }
  const [left, right] = [filesOf(run, pair.before), filesOf(run, pair.after)];
  const edited = editedFiles(left.files, tree);
  const changed = new Set(edited.map(({ file }) => file.node));
  run.countUntouched(compareBundles(left.bundle, right.bundle, changed));
  for (const { file, tree: edits } of edited) {
    const after = right.files.find(({ node }) => node.name === file.node.name);
    if (after === undefined) throw differs('', `the file ${file.node.name} is missing`);
    try {
      compareFiles(run, { before: file, after }, rule, edits);
    } catch (error) {
      throw placedError(error, file.entry);
    }
  }
}

function compareFiles(run: CompareRun, pair: PartPair, rule: CompiledRule, tree: EditTree): void {
  const left = openUnityFile(run, rule, pair.before);
  const right = openUnityFile(run, rule, pair.after);
  const changed = new Set(editedObjects(left, tree));
  const untouched = compareSerializedFiles(left, right, changed, (object, other) => {
    const { pathId } = object;
    const what = `object ${pathId}`;
    if (!tree.mayNest(pathId)) {
      const [before, after] = [textsOf(run, left, object), textsOf(run, right, other)];
      checkPlaces(differentPlaces(before, after), tree.countOf(pathId), what);
      return;
    }
    const views = leafViews(tree, { pathId, form: 'dotted' });
    const before = rangeOf(run, left, object, views.before);
    const after = rangeOf(run, right, other, views.after);
    checkPlaces(differentPlaces(before, after), before.places.length, what);
    compareFieldFiles(run, { ...pair, rule, pathId }, views);
  });
  run.countUntouched(untouched);
}

function textsOf({ limits }: CompareRun, file: SerializedFile, object: SerializedObject): PlacedRange {
  const places = textPlaces((visitor) => {
    visitObject(file, object, visitor, objectLimits(object, limits));
  });
  return objectRange(readObjectBytes(file, object), places);
}

function rangeOf(
  { limits }: CompareRun,
  file: SerializedFile,
  object: SerializedObject,
  { edits }: View,
): PlacedRange {
  const { bytes, places } = objectPlaces(file, object, edits, limits);
  return objectRange(bytes, places);
}

function objectRange(bytes: Buffer, places: PlacedRange['places']): PlacedRange {
  return { places, size: bytes.length, slice: (start, end) => bytes.subarray(start, end) };
}
