import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { type ByteSource, fileSource } from '../../formats/byte-source.ts';

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

/** An open file. */
export interface OpenFile extends Disposable {
  readonly source: ByteSource;
}

/**
 * Opens a file for reading, never through a link or into a device.
 *
 * @throws Error of the system, or when it is not a file
 */
export function openFile(path: string): OpenFile {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const close = (): void => {
    closeSync(descriptor);
  };
  if (!fstatSync(descriptor).isFile()) {
    close();
    throw new Error(`${path} is a folder, a named pipe or a device, and not a file`);
  }
  return { source: fileSource(descriptor), [Symbol.dispose]: close };
}
