import { closeSync, openSync } from 'node:fs';
import { compressLike, decompress, type Compression } from '../../../../formats/gzip/compressed-file.ts';
import { fileSource } from '../../../../formats/byte-source.ts';
import { patchFlatBuffer } from '../../../../formats/flatbuffers/patch-flatbuffer.ts';
import { pieceChunks } from '../../../../formats/patch/output-pieces.ts';
import { patchSqlite } from '../../../../formats/sqlite/patch-sqlite.ts';
import { patchZip, type PatchEntry } from '../../../../formats/zip/patch-zip.ts';
import { isTextFormat, patchText } from '../../../parse/container/text-formats.ts';
import {
  COMPRESSED_ENTRY,
  compressedPart,
  MAX_DEPTH,
  readWhole,
  tooDeep,
  type ContainerScope,
  type Part,
} from '../../../parse/container/container-run.ts';
import { chooseFormat } from '../../../parse/container/parse-container.ts';
import { codecOf, schemaOf, scratchCopy } from '../../../parse/container/parse-tables.ts';
import type { CompiledRule } from '../../../parse/rules/compile-rules.ts';
import type { EditTree } from '../edits/edit-tree.ts';
import { entryPart, entryPasswords, editedFiles, editedObjects } from '../edits/edited-parts.ts';
import { checkOneLeaf, formOf, leafEdits, missing } from '../edits/leaf-edits.ts';
import { placedError } from '../placed-error.ts';
import { fieldFiles, patchedBytes, type PatchRun } from './patch-text.ts';
import { patchBundle, sizeUnitOf } from '../../../../formats/unity/bundle-patch.ts';
import { objectSplices } from '../../../../formats/unity/object-splices.ts';
import type { SerializedFile } from '../../../../formats/unity/serialized-file.ts';
import {
  spliceSerializedFile,
  type ObjectSplices,
} from '../../../../formats/unity/splice-serialized-file.ts';
import { filesOf, isBundle, openUnityFile } from '../../../parse/container/unity-files.ts';

export type PatchContainer = (
  scope: ContainerScope,
  part: Part,
  tree: EditTree,
) => Generator<Uint8Array, void, undefined>;

/**
 * Patches a container: the innermost files first, each by the writer of its format. It walks the container as the parser
 * does. The same container and the same edits give the same bytes.
 *
 * @returns the new bytes, made while they are taken
 * @throws PlacedError for an edit that cannot be made, and for a container that cannot be read
 */
export const patchContainer: PatchContainer = (scope, container, tree) => {
  const run: PatchRun = {
    ...scope,
    *patchPart(part, edits) {
      try {
        yield* patchAs(run, part, edits);
      } catch (error) {
        throw placedError(error, part.entry);
      }
    },
  };
  return run.patchPart(container, tree);
};

function* patchAs(run: PatchRun, part: Part, tree: EditTree): Generator<Uint8Array, void, undefined> {
  if (part.depth > MAX_DEPTH) throw tooDeep();
  const { rule, format } = chooseFormat(run, part);
  if (format === 'zip') {
    yield* patchArchive(run, part, rule, tree);
    return;
  }
  if (format === 'unity' || format === 'serialized') {
    yield* patchUnity(run, part, rule, tree);
    return;
  }
  if (format === 'gzip' || format === 'zlib') {
    yield patchCompressed(run, part, format, tree);
    return;
  }
  checkOneLeaf(tree);
  const files = fieldFiles(run, { part, pathId: null }, rule);
  const edits = (form: 'pointer' | 'dotted'): ReturnType<typeof leafEdits> =>
    leafEdits(tree, { pathId: null, form }, files);
  if (isTextFormat(format)) {
    const patched = patchText(readWhole(run, part), format, edits(formOf(format)), {
      rule,
      limits: run.limits,
    });
    yield Buffer.from(patched);
  } else if (format === 'flatbuffers') {
    const options = { codecOf: codecOf(run, rule), limits: run.limits };
    yield patchFlatBuffer(readWhole(run, part), schemaOf(rule), edits('dotted'), options);
  } else if (format === 'sqlite') {
    const copy = scratchCopy(run, part.source);
    try {
      patchSqlite(copy.path, edits('dotted'), run.limits);
      yield* fileChunks(copy.path);
    } finally {
      copy.remove();
    }
  } else {
    throw missing('', `the file has the format ${format}, in which no text is found`);
  }
}

function* patchArchive(
  run: PatchRun,
  part: Part,
  rule: CompiledRule,
  tree: EditTree,
): Generator<Uint8Array, void, undefined> {
  if (tree.pathIds.length > 0) throw missing('', 'the edits name no entry of the archive');
  const patches = new Map<string, PatchEntry>();
  for (const [name, child] of tree.children) {
    patches.set(name, (content) => patchedBytes(run, entryPart(part, name, content), child));
  }
  const passwordOf = entryPasswords(rule, part);
  yield* pieceChunks(patchZip(part.source, patches, { passwordOf, limits: run.limits }));
}

function patchCompressed(run: PatchRun, part: Part, compression: Compression, tree: EditTree): Buffer {
  const edits = tree.children.get(COMPRESSED_ENTRY);
  if (edits === undefined || tree.pathIds.length > 0) throw missing('', 'the edits name no file in the file');
  const official = readWhole(run, part);
  const content = decompress(official, compression, run.limits);
  const patched = patchedBytes(run, compressedPart(part, content), edits);
  return compressLike(official, compression, patched, run.limits);
}

function* fileChunks(path: string): Generator<Uint8Array, void, undefined> {
  const descriptor = openSync(path, 'r');
  try {
    const source = fileSource(descriptor);
    yield* pieceChunks([{ source, offset: 0, length: source.size }]);
  } finally {
    closeSync(descriptor);
  }
}

function* patchUnity(
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
