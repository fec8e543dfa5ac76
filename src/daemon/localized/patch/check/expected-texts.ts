import type { ContainerEdits } from '../edits/edit-tree.ts';
import type { FieldEdit } from '../../../formats/patch/value-edit.ts';
import type { PartLocation } from '../../../parse/container/parsed-container.ts';
import type { PlacedText } from './unit-pairs.ts';

/** The targets of the edits, by the places of the texts. */
export interface ExpectedTexts {
  /** The text that an edit writes at a place; `null` for a text without an edit. */
  targetOf(text: PlacedText): string | null;
}

/** The edits of a part, which are mostly asked for in their order. */
interface ExpectedPart {
  readonly location: PartLocation;
  readonly edits: readonly FieldEdit[];
  next: number;
  /** The targets by path; `null` while the texts come in the order of the edits, so that nobody needs it. */
  byPath: ReadonlyMap<string, string> | null;
}

/** Looks up targets in the order of the container, with the edits of a part and of the parts around it in memory. */
export function expectedTexts(edits: ContainerEdits): ExpectedTexts {
  const around: ExpectedPart[] = [];
  const partAt = (location: PartLocation): ExpectedPart => {
    for (let last = around.at(-1); last !== undefined; last = around.at(-1)) {
      if (isSame(last.location, location)) return last;
      // The texts of a file inside of a field come between those of the part around it.
      if (isAround(last.location, location)) break;
      around.pop();
    }
    const part = { location, edits: edits.at(location), next: 0, byPath: null };
    around.push(part);
    return part;
  };
  return { targetOf: ({ location, fieldPath }) => targetIn(partAt(location), fieldPath) };
}

function isSame(left: PartLocation, right: PartLocation): boolean {
  return left.archiveEntry === right.archiveEntry && left.pathId === right.pathId;
}

/** Whether a file can be inside of a part. */
function isAround({ archiveEntry }: PartLocation, inner: PartLocation): boolean {
  if (inner.archiveEntry === null) return false;
  return archiveEntry === null || inner.archiveEntry.startsWith(`${archiveEntry}!/`);
}

function targetIn(part: ExpectedPart, fieldPath: string): string | null {
  const next = part.edits[part.next];
  if (next?.fieldPath === fieldPath) {
    part.next += 1;
    return next.target;
  }
  part.byPath ??= new Map(part.edits.map((edit) => [edit.fieldPath, edit.target]));
  return part.byPath.get(fieldPath) ?? null;
}
