/**
 * The release that the result of a task names first for a reader: the localized one that the task made or chose, else the release
 * that it worked on; `null` when it names none. Pure.
 */
export function namedRelease(result: Readonly<Record<string, unknown>>): string | null {
  const named = result['localized_release_id'] ?? result['release_id'];
  return typeof named === 'string' ? named : null;
}
