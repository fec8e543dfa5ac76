import { compareZip } from '../../../../formats/zip/compare-zip.ts';
import { isTextFormat } from '../../../parse/container/collect-text.ts';
import { readWhole, type ContainerScope } from '../../../parse/container/container-run.ts';
import { chooseFormat } from '../../../parse/container/parse-container.ts';
import type { CompiledRule } from '../../../parse/rules/compile-rules.ts';
import type { EditTree } from '../edits/edit-tree.ts';
import { entryPart, entryPasswords } from '../edits/edited-parts.ts';
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
} from './compare-fields.ts';
import { compareDatabases, compareFlatBuffers } from './compare-tables.ts';
import { compareUnity } from './compare-unity.ts';

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
