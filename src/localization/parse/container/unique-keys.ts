import { FormatError } from '../../../formats/format-error.ts';
import type { CollectedText } from '../../../formats/collect/text-collector.ts';

/** UTF-16 code units of a path. One name can be in the paths of a million texts, so a long one would multiply. */
export const MAX_PATH = 16 * 1024;

/** The warning for texts that have the same names on the path to them. */
export function repeatedKey(): FormatError {
  const message = 'another text has the same row key or names, so both are identified by their exact place';
  return new FormatError('duplicate_unit_key', message);
}

/** The warning for a file that shares its name without hashes with another one. @param name its exact name */
export function repeatedName(name: string): FormatError {
  const message = `another file has the same name as ${name} without its hash, so both keep their exact names`;
  return new FormatError('duplicate_unit_key', message);
}

interface UniqueTexts {
  readonly texts: readonly CollectedText[];
  /** The first text of each key path that several texts had. */
  readonly repeated: readonly CollectedText[];
}

/**
 * Gives texts that share a key path their exact path instead. Texts that share the exact path as well, which only a damaged
 * file has, are numbered.
 *
 * @param collected every text of one file, object or table
 */
export function uniqueTexts(collected: readonly CollectedText[]): UniqueTexts {
  const keyPaths = new Set<string>();
  const repeated = new Map<string, CollectedText | null>();
  for (const { keyPath } of collected) {
    // A text with a longer path is not a unit; comparing it would cost its whole length in memory.
    if (keyPath.length > MAX_PATH) continue;
    if (keyPaths.has(keyPath)) repeated.set(keyPath, null);
    else keyPaths.add(keyPath);
  }
  if (repeated.size === 0) return { texts: collected, repeated: [] };
  const counts = new Map<string, number>();
  const texts = collected.map((text) => {
    const first = repeated.get(text.keyPath);
    if (first === undefined) return text;
    if (first === null) repeated.set(text.keyPath, text);
    const count = (counts.get(text.fieldPath) ?? 0) + 1;
    counts.set(text.fieldPath, count);
    return { ...text, keyPath: count === 1 ? text.fieldPath : `${text.fieldPath}#${count}` };
  });
  return { texts, repeated: [...repeated.values()].filter((text) => text !== null) };
}
