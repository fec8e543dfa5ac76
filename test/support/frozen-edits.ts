import type { FrozenEdit } from '../../src/localization/localized/freeze/frozen-release.ts';
import { unitIdText } from '../../src/localization/unit-id-text.ts';
import type { ParsedUnit } from '../../src/localization/parse/container/parsed-container.ts';

/** Edits as the freeze writes them, one a line. */
export function editLines(edits: readonly FrozenEdit[]): string {
  return edits.map((edit) => `${JSON.stringify(edit)}\n`).join('');
}

/** An edit of a unit. */
export function editOf(unit: ParsedUnit, target: string): FrozenEdit {
  const { unitId, archiveEntry, pathId, fieldPath, sourceText } = unit;
  return {
    unitId: unitIdText(unitId),
    archiveEntry,
    pathId: pathId === null ? null : String(pathId),
    fieldPath,
    source: sourceText,
    target,
  };
}
