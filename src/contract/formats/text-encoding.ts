export type FileEncoding = 'utf-8' | 'utf-16le' | 'utf-16be';

/** The encoding of a file by its byte order mark; UTF-8 without one. @param start at least the first two bytes of a longer file */
export function textEncodingOf(start: Uint8Array): FileEncoding {
  if (start[0] === 0xff && start[1] === 0xfe) return 'utf-16le';
  if (start[0] === 0xfe && start[1] === 0xff) return 'utf-16be';
  return 'utf-8';
}
