import { PatchError } from '../../../formats/patch/patch-error.ts';
import type { ContainerRun, Part } from '../../../parse/container/container-run.ts';
import type { EditTree } from '../edits/edit-tree.ts';

/** The surroundings of comparing a container with its patched form. */
export interface CompareRun extends Pick<
  ContainerRun,
  'destination' | 'rules' | 'limits' | 'scratchDirectory'
> {
  /**
   * Compares a file of the container.
   *
   * @throws PlacedError for the first difference that no edit makes
   */
  comparePart(pair: PartPair, tree: EditTree): void;
  /** Counts objects, entries and rows without an edit. */
  countUntouched(count: number): void;
}

/** A file before and after the patch. */
export interface PartPair {
  readonly before: Part;
  readonly after: Part;
}

/** The error for a difference. @param fieldPath empty for the file as a whole */
export function differs(fieldPath: string, message: string): PatchError {
  return new PatchError('round_trip_failed', fieldPath, message);
}
