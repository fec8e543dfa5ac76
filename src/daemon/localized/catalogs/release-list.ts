import { closeSync, openSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import type { ReleaseFile } from './release-files.ts';

const CHUNK_BYTES = 256 * 1024;

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
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    const decoder = new StringDecoder('utf8');
    let rest = '';
    for (let length = readSync(descriptor, chunk); length > 0; length = readSync(descriptor, chunk)) {
      const lines = `${rest}${decoder.write(chunk.subarray(0, length))}`.split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } finally {
    closeSync(descriptor);
  }
}
