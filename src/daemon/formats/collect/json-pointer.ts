/**
 * One part of a JSON pointer (RFC 6901, section 3). `#` becomes `~2`, which no pointer has otherwise, because a path
 * continues behind `#` into the file inside of a string.
 *
 * @param name the key of a member
 */
export function escapePointer(name: string): string {
  if (!/[~/#]/.test(name)) return name;
  return name.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('#', '~2');
}
