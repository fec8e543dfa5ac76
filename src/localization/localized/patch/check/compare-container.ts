import { decompress, compressedHeader, type Compression } from '../../../../formats/gzip/compressed-file.ts';
import { compareZip } from '../../../../formats/zip/compare-zip.ts';
import { isTextFormat } from '../../../parse/container/text-formats.ts';
import {
  COMPRESSED_ENTRY,
  compressedPart,
  readWhole,
  type ContainerScope,
} from '../../../parse/container/container-run.ts';
import { chooseFormat } from '../../../parse/container/parse-container.ts';
import type { CompiledRule } from '../../../parse/rules/compile-rules.ts';
import type { EditTree } from '../edits/edit-tree.ts';
import { entryPart, entryPasswords, editedFiles, editedObjects } from '../edits/edited-parts.ts';
import { formOf } from '../edits/leaf-edits.ts';
import { placedError } from '../placed-error.ts';
import {
  compareFieldFiles,
  comparePlainTexts,
  compareTexts,
  differs,
  type CompareRun,
  type PartPair,
  leafViews,
  type View,
  checkPlaces,
} from './compare-fields.ts';
import { flatBufferPlaces } from '../../../../formats/flatbuffers/patch-flatbuffer.ts';
import { DOTTED_SYNTAX } from '../../../../formats/collect/path-syntax.ts';
import { findPlaces, isNested, textPlaces } from '../../../../formats/patch/find-places.ts';
import { compareSqlite } from '../../../../formats/sqlite/compare-sqlite.ts';
import { visitSqlite } from '../../../../formats/sqlite/visit-sqlite.ts';
import { codecOf, schemaOf, scratchCopy } from '../../../parse/container/parse-tables.ts';
import { differentPlaces, type PlacedRange } from '../../../../formats/patch/same-bytes.ts';
import { compareBundles, compareSerializedFiles } from '../../../../formats/unity/compare-unity.ts';
import { objectPlaces } from '../../../../formats/unity/object-splices.ts';
import type { SerializedFile, SerializedObject } from '../../../../formats/unity/serialized-file.ts';
import { filesOf, isBundle, openUnityFile } from '../../../parse/container/unity-files.ts';
import { objectLimits, readObjectBytes, visitObject } from '../../../../formats/unity/visit-object.ts';

/**
 * Checks that a container and its patched form differ only in the texts of the edits: all other entries by their raw bytes,
 * objects by their bytes, rows by their values, and everything else around the edits byte by byte.
 *
 * @returns the number of objects, entries and rows without an edit
 * @throws PlacedError for the first difference
 */
export function compareContainer(scope: ContainerScope, pair: PartPair, tree: EditTree): number {
  let untouched = 0;
  const run: CompareRun = {
    ...scope,
    comparePart: (inner, edits) => {
      try {
        compareAs(run, inner, edits);
      } catch (error) {
        throw placedError(error, inner.before.entry);
      }
    },
    countUntouched: (count) => {
      untouched += count;
    },
  };
  run.comparePart(pair, tree);
  return untouched;
}

function compareAs(run: CompareRun, pair: PartPair, tree: EditTree): void {
  const { rule, format } = chooseFormat(run, pair.before);
  if (chooseFormat(run, pair.after).format !== format)
    throw differs('', 'the file looks like another format');
  if (isTextFormat(format)) {
    const [before, after] = [readWhole(run, pair.before), readWhole(run, pair.after)];
    if (!tree.mayNest(null)) {
      comparePlainTexts(run, { before, after, format }, rule, tree.countOf(null));
      return;
    }
    const leaf = { pathId: null, form: formOf(format) };
    const views = leafViews(tree, leaf);
    compareTexts(run, { before, after, format }, rule, views);
    compareFieldFiles(run, { ...pair, rule, pathId: null }, views);
    return;
  }
  switch (format) {
    case 'zip':
      compareArchives(run, pair, rule, tree);
      break;
    case 'gzip':
    case 'zlib':
      compareCompressed(run, pair, format, tree);
      break;
    case 'unity':
    case 'serialized':
      compareUnity(run, pair, rule, tree);
      break;
    case 'sqlite':
      compareDatabases(run, pair, rule, tree);
      break;
    case 'flatbuffers':
      compareFlatBuffers(run, pair, rule, tree);
      break;
    default:
      throw differs('', `the format ${format} is not compared`);
  }
}

function compareArchives(run: CompareRun, pair: PartPair, rule: CompiledRule, tree: EditTree): void {
  const untouched = compareZip(pair.before.source, pair.after.source, {
    changed: new Set(tree.children.keys()),
    compareContent: (name, before, after) => {
      const edits = tree.children.get(name);
      if (edits === undefined) throw new Error('an entry without edits is not compared by its content');
      const parts = {
        before: entryPart(pair.before, name, before),
        after: entryPart(pair.after, name, after),
      };
      run.comparePart(parts, edits);
    },
    passwordOf: entryPasswords(rule, pair.before),
    limits: run.limits,
  });
  run.countUntouched(untouched);
}

/** Compares the files in compressed files, and the headers. The compressed data differs. */
function compareCompressed(
  run: CompareRun,
  { before, after }: PartPair,
  compression: Compression,
  tree: EditTree,
): void {
  const edits = tree.children.get(COMPRESSED_ENTRY);
  if (edits === undefined) throw differs('', 'the edits name no file in the file');
  const [left, right] = [readWhole(run, before), readWhole(run, after)];
  if (!compressedHeader(left, compression).equals(compressedHeader(right, compression))) {
    throw differs('', 'the header of the compressed file differs');
  }
  const contents = [left, right].map((bytes) => decompress(bytes, compression, run.limits));
  const [from = Buffer.alloc(0), to = Buffer.alloc(0)] = contents;
  run.comparePart({ before: compressedPart(before, from), after: compressedPart(after, to) }, edits);
}

const LEAF = { pathId: null, form: 'dotted' } as const;
const OFFSET_BYTES = 4;

/** Compares a FlatBuffer with its patched form: new texts follow the old bytes, and only offsets to them are new. */
function compareFlatBuffers(run: CompareRun, pair: PartPair, rule: CompiledRule, tree: EditTree): void {
  const options = { codecOf: codecOf(run, rule), limits: run.limits };
  const views = leafViews(tree, LEAF);
  const [before, after] = [readWhole(run, pair.before), readWhole(run, pair.after)];
  const { references } = flatBufferPlaces(before, schemaOf(rule), views.before.edits, options);
  flatBufferPlaces(after, schemaOf(rule), views.after.edits, options);
  const [left, right] = [Buffer.from(before), Buffer.from(after.subarray(0, before.length))];
  for (const position of references) {
    left.fill(0, position, position + OFFSET_BYTES);
    right.fill(0, position, position + OFFSET_BYTES);
  }
  if (!left.equals(right)) throw differs('', 'the table differs outside of the offsets to edited texts');
  compareFieldFiles(run, { ...pair, rule, pathId: null }, views);
}

/** Compares a SQLite database with its patched form, row by row. */
function compareDatabases(run: CompareRun, pair: PartPair, rule: CompiledRule, tree: EditTree): void {
  const views = leafViews(tree, LEAF);
  const before = scratchCopy(run, pair.before.source);
  try {
    const after = scratchCopy(run, pair.after.source);
    try {
      const { rows, changed } = compareSqlite(before.path, after.path, views.before.edits);
      run.countUntouched(Math.max(0, rows - changed));
      readFieldFiles(run, before.path, views.before);
      readFieldFiles(run, after.path, views.after);
    } finally {
      after.remove();
    }
  } finally {
    before.remove();
  }
  compareFieldFiles(run, { ...pair, rule, pathId: null }, views);
}

function readFieldFiles({ limits }: CompareRun, path: string, { edits }: View): void {
  const nested = edits.filter(isNested);
  if (nested.length === 0) return;
  findPlaces(nested, DOTTED_SYNTAX, (visitor) => {
    visitSqlite(path, visitor, {
      limits,
      reportPartError: () => undefined,
      readsBlob: (_table, column) =>
        nested.some(({ fieldPath }) => fieldPath.endsWith(DOTTED_SYNTAX.field('', column))),
    });
  });
}

/** Compares a bundle, or a serialized file outside of a bundle, with its patched form. */
function compareUnity(run: CompareRun, pair: PartPair, rule: CompiledRule, tree: EditTree): void {
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
