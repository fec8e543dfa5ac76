import { flatBufferPlaces } from '../../../../formats/flatbuffers/patch-flatbuffer.ts';
import { DOTTED_SYNTAX } from '../../../../formats/collect/path-syntax.ts';
import { findPlaces, isNested } from '../../../../formats/patch/find-places.ts';
import { compareSqlite } from '../../../../formats/sqlite/compare-sqlite.ts';
import { visitSqlite } from '../../../../formats/sqlite/visit-sqlite.ts';
import { readWhole } from '../../../parse/container/container-run.ts';
import { codecOf, schemaOf, scratchCopy } from '../../../parse/container/parse-tables.ts';
import type { CompiledRule } from '../../../parse/rules/compile-rules.ts';
import type { EditTree } from '../edits/edit-tree.ts';
import {
  compareFieldFiles,
  differs,
  type CompareRun,
  type PartPair,
  leafViews,
  type View,
} from './compare-fields.ts';

const LEAF = { pathId: null, form: 'dotted' } as const;
const OFFSET_BYTES = 4;

/** Compares a FlatBuffer with its patched form: new texts follow the old bytes, and only offsets to them are new. */
export function compareFlatBuffers(
  run: CompareRun,
  pair: PartPair,
  rule: CompiledRule,
  tree: EditTree,
): void {
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
export function compareDatabases(run: CompareRun, pair: PartPair, rule: CompiledRule, tree: EditTree): void {
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
