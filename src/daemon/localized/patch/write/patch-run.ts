import type { ContainerRun, Part } from '../../../parse/container/container-run.ts';
import type { EditTree } from '../edits/edit-tree.ts';

/** The surroundings of patching one container. */
export interface PatchRun extends Pick<
  ContainerRun,
  'destination' | 'rules' | 'limits' | 'scratchDirectory'
> {
  /**
   * Patches a file of the container.
   *
   * @returns the new bytes in their order; a chunk must not be changed
   * @throws PlacedError
   */
  patchPart(part: Part, tree: EditTree): Generator<Uint8Array, void, undefined>;
}

/** The whole new file in memory. */
export function patchedBytes(run: PatchRun, part: Part, tree: EditTree): Buffer {
  return Buffer.concat([...run.patchPart(part, tree)]);
}
