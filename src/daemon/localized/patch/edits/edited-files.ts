import type { BundlePart } from '../../../parse/container/unity-files.ts';
import type { EditTree } from './edit-tree.ts';
import { missing } from './leaf-edits.ts';

/**
 * The serialized files of a bundle that have edits. The only one has those of the bundle itself.
 *
 * @throws PatchError `place_not_found`
 */
export function editedFiles<File extends Pick<BundlePart, 'node'>>(
  files: readonly File[],
  tree: EditTree,
): readonly { readonly file: File; readonly tree: EditTree }[] {
  const [only] = files;
  if (only !== undefined && files.length === 1) return [{ file: only, tree }];
  if (tree.pathIds.length > 0)
    throw missing('', 'the bundle has several files, and the edits name none of them');
  return Array.from(tree.children, ([name, child]) => {
    const file = files.find(({ node }) => node.name === name);
    if (file === undefined) throw missing('', `the bundle has no serialized file ${JSON.stringify(name)}`);
    return { file, tree: child };
  });
}
