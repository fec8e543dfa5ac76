import { NOT_A_FILE, openFile, type OpenFile } from '../../formats/byte-source.ts';

/** A file of the release that is made. */
export interface ReleaseFile {
  readonly destination: string;
  /** Where the official object is. */
  readonly official: string;
  /** Where the patched file is; `null` when it is the official one. */
  readonly patched: string | null;
}

/** A file of a release, or a file in one of its archives. */
export interface PartPlace {
  /** The destination; each file in an archive follows it behind `!/`. */
  readonly path: string;
  readonly destination: string;
  /** The names of the entries on the way, as the archives have them; empty for the file of the release itself. */
  readonly entries: readonly string[];
}

/**
 * Opens a file of the store or of the work folder.
 *
 * @throws Error of the system, or when it is not a file
 */
export function openReleaseFile(path: string): OpenFile {
  const file = openFile(path);
  if (file === null) throw new Error(`${path} is ${NOT_A_FILE}`);
  return file;
}
