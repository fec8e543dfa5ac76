import { NOT_A_FILE, openFile, type OpenFile } from '../../../formats/byte-source.ts';
import { closeSync, openSync } from 'node:fs';
import { readLines } from '../../../platform/files/line-ranges.ts';

export interface ReleaseFile {
  readonly destination: string;
  readonly official: string;
  /** Where the patched file is; `null` when it is the official one. */
  readonly patched: string | null;
}

/** A file whose patched form differs from the official one. */
export interface PatchedReleaseFile extends ReleaseFile {
  readonly patched: string;
}

export interface PartPlace {
  /** The destination; each file in an archive follows it behind `!/`. */
  readonly path: string;
  readonly destination: string;
  /** The names of the entries on the path, as the archives have them; empty for the file of the release itself. */
  readonly entries: readonly string[];
}

/** Opens a file of the store or of the work folder. @throws Error of the system, or when it is not a file */
export function openReleaseFile(path: string): OpenFile {
  const file = openFile(path);
  if (file === null) throw new Error(`${path} is ${NOT_A_FILE}`);
  return file;
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

export function listLine(destination: string, official: string): string {
  return `${JSON.stringify([destination, official])}\n`;
}

/**
 * The files in a list, which is read again each time, so that only one chunk of it is in memory.
 *
 * @param path of a file with a {@link listLine} for each
 * @param changed the patched files
 */
export function listedFiles(
  path: string,
  changed: readonly PatchedReleaseFile[] = [],
): Iterable<ReleaseFile> {
  const patched = new Map(changed.map((file) => [file.destination, file.patched]));
  return {
    *[Symbol.iterator]() {
      for (const line of linesOf(path)) {
        const [destination, official] = JSON.parse(line) as [string, string];
        yield { destination, official, patched: patched.get(destination) ?? null };
      }
    },
  };
}

function* linesOf(path: string): Generator<string> {
  const descriptor = openSync(path, 'r');
  try {
    for (const { bytes } of readLines(descriptor))
      yield* bytes.toString('utf8', 0, bytes.length - 1).split('\n');
  } finally {
    closeSync(descriptor);
  }
}
