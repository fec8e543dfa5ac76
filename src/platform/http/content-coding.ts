import type { IncomingHttpHeaders } from 'node:http';

/**
 * Values of `Content-Encoding` that change no byte. Object stores send back what somebody stored with an object: character
 * sets, transfer encodings of mail, the framing of an upload.
 */
const PLAIN: ReadonlySet<string> = new Set([
  '',
  'identity',
  'none',
  'binary',
  '7bit',
  '8bit',
  'utf-8',
  'utf8',
  'aws-chunked',
]);

/**
 * The content coding of an answer.
 *
 * @returns its names in lower case, or `null` when none of them changes a byte
 */
export function contentCodingOf(headers: IncomingHttpHeaders): string | null {
  const names = [headers['content-encoding'] ?? []]
    .flat()
    .join(',')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => !PLAIN.has(name));
  return names.length === 0 ? null : names.join(', ');
}
