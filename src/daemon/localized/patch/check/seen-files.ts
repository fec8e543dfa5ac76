import type { FieldFile } from '../../../formats/patch/nest-edits.ts';
import type { FieldEdit, ValueEdit } from '../../../formats/patch/value-edit.ts';
import type { EditTree } from '../edits/edit-tree.ts';
import { inverted, leafEdits, type FieldFiles, type Leaf } from '../edits/leaf-edits.ts';
import { nestEdits, type PathForm } from '../../../formats/patch/nest-edits.ts';

/** A file inside of a field, as it is before or after the patch. */
export type SeenFile = FieldFile &
  (
    | { readonly kind: 'text'; readonly edits: readonly FieldEdit[] }
    | { readonly kind: 'container'; readonly tree: EditTree }
  );

/** The edits of a leaf, and the files inside of fields that are seen when their places are looked for. */
export interface Look {
  readonly edits: readonly ValueEdit[];
  /** Filled while the places are looked for, in the order of the file. */
  readonly files: readonly SeenFile[];
}

/** Which of the two files is looked at: in the patched one, edits are found by their targets. */
export type Side = 'before' | 'after';

/** The look at a leaf of a container. */
export function lookAtLeaf(side: Side, tree: EditTree, leaf: Leaf): Look {
  const { files, receivers } = collectFiles();
  return { edits: turned(side, leafEdits(tree, leaf, receivers)), files };
}

/** The look at a text file inside of a field. */
export function lookAtText(side: Side, edits: readonly FieldEdit[], form: PathForm): Look {
  const { files, receivers } = collectFiles();
  return { edits: turned(side, nestEdits(edits, form, receivers.text)), files };
}

function turned(side: Side, edits: readonly ValueEdit[]): readonly ValueEdit[] {
  return side === 'before' ? edits : inverted(edits);
}

/** Notes files and leaves them as they are. */
function collectFiles(): { readonly files: readonly SeenFile[]; readonly receivers: FieldFiles } {
  const files: SeenFile[] = [];
  return {
    files,
    receivers: {
      text: (file, edits) => {
        files.push({ ...file, kind: 'text', edits });
        return file.value;
      },
      container: (file, tree) => {
        files.push({ ...file, kind: 'container', tree });
        return file.value;
      },
    },
  };
}
