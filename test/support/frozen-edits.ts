import type { FrozenEdit } from '../../src/daemon/localized/freeze/frozen-container.ts';
import type { ParsedUnit } from '../../src/daemon/parse/container/parsed-container.ts';

/** Edits as the freeze writes them, one a line. */
export function editLines(edits: readonly FrozenEdit[]): string {
  return edits.map((edit) => `${JSON.stringify(edit)}\n`).join('');
}

/** An edit of a unit. */
export function editOf(unit: ParsedUnit, target: string): FrozenEdit {
  const { unitId, archiveEntry, pathId, fieldPath, sourceText } = unit;
  return {
    unitId: Buffer.from(unitId).toString('hex'),
    archiveEntry,
    pathId: pathId === null ? null : String(pathId),
    fieldPath,
    source: sourceText,
    target,
  };
}
