/** A dependency of which a test has the members that its subject calls. */
export function partOf<T>(members: Partial<T>): T {
  return members as T;
}
