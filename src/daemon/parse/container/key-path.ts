/** The mark between the parts of a stored key path. Unit ids are digests of the path, so it must never change. */
const SEPARATOR = '\0';

/**
 * Joins the parts of a key path: the stable name of the entry, that of the object in it, and the stable path of the field.
 *
 * @param parts the last one is empty for the beginning of the paths of an object
 */
export function joinKeyPath(parts: readonly (string | number | bigint)[]): string {
  return parts.join(SEPARATOR);
}

/** The parts of a key path for a reader; joined again they give the same path. */
export function keyPathParts(keyPath: string): string[] {
  return keyPath.split(SEPARATOR);
}
