/** The folder of the files that a catalog of media lists. The catalog stands in it, or in a folder of its own within it. */
export function mediaFolderOf(folder: string): string {
  return folder.replace(/(^|\/)Catalog\/$/, '$1');
}
