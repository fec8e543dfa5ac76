/** The name of a file without its folders and archives. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
