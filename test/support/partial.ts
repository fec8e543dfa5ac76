/** A fake with only the members that a test needs. The type of the place where it is passed says which members exist. */
export function partial<T>(members: Partial<NoInfer<T>>): T {
  return members as unknown as T;
}
