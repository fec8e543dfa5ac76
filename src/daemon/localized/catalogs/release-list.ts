import { closeSync, openSync } from 'node:fs';
import { readLines } from '../../../platform/files/line-ranges.ts';
import type { ReleaseFile } from './release-files.ts';

/** A file of a release as a line of a list. */
export function listLine({ destination, official, patched }: ReleaseFile): string {
  return `${JSON.stringify([destination, official, patched])}\n`;
}

/**
 * The files in a list, which is read again each time, so that only one chunk of it is in memory.
 *
 * @param path of a file with a {@link listLine} for each
 */
export function listedFiles(path: string): Iterable<ReleaseFile> {
  return {
    *[Symbol.iterator]() {
      for (const line of linesOf(path)) {
        const [destination, official, patched] = JSON.parse(line) as [string, string, string | null];
        yield { destination, official, patched };
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
