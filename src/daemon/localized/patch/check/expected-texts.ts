import type { ContainerEdits } from '../edits/edit-tree.ts';
import type { PlacedText } from './unit-pairs.ts';

/** The targets of the edits, by the places of the texts. */
export interface ExpectedTexts {
  /** The text that an edit writes at a place; `null` for a text without an edit. */
  targetOf(text: PlacedText): string | null;
}

/**
 * Parts whose edits are in memory. The texts of a part come together, except that those of files inside of its fields come
 * between them: as many as files can be nested.
 */
const KEPT_PARTS = 5;

/** Looks up targets in the order of the container, with the edits of a few parts in memory. */
export function expectedTexts(edits: ContainerEdits): ExpectedTexts {
  const parts = new Map<string, ReadonlyMap<string, string>>();
  const load = ({ location }: PlacedText, key: string): ReadonlyMap<string, string> => {
    const loaded = new Map(edits.at(location).map(({ fieldPath, target }) => [fieldPath, target]));
    parts.set(key, loaded);
    const [oldest] = parts.keys();
    if (parts.size > KEPT_PARTS && oldest !== undefined) parts.delete(oldest);
    return loaded;
  };
  let last: { readonly text: PlacedText; readonly targets: ReadonlyMap<string, string> } | null = null;
  return {
    targetOf: (text) => {
      const { archiveEntry, pathId } = text.location;
      const isSame =
        last?.text.location.archiveEntry === archiveEntry && last.text.location.pathId === pathId;
      if (last === null || !isSame) {
        const key = `${pathId ?? ''}\0${archiveEntry ?? '\0'}`;
        const known = parts.get(key);
        if (known !== undefined) {
          // The part that was used last stays longest.
          parts.delete(key);
          parts.set(key, known);
        }
        last = { text, targets: known ?? load(text, key) };
      }
      return last.targets.get(text.fieldPath) ?? null;
    },
  };
}
