import type { Random } from '../../../demo/game/seeded-random.ts';
import { parseByteRanges, parseContentRange } from '../multipart.ts';
import type { Answer } from './ask.ts';
import { CDN_HOST } from './simulated-server.ts';
import type { Site } from './site.ts';

/** Values of `Range`, of ordinary and of hostile clients; two numbers choose positions in the file. */
const RANGES: ReadonlyArray<(first: number, last: number, size: number) => string> = [
  (first, last) => `bytes=${first}-${last}`,
  (first) => `bytes=${first}-`,
  (first) => `bytes=-${first}`,
  (first, last) => `bytes=0-0,${first}-${last},-1`,
  (first, last) => `bytes=${first}-${last},${first}-${last},${first}-${last}`,
  (first) => `bytes=${first}-99999999999999999999999999`,
  (_first, _last, size) => `bytes=${size}-`,
  () => 'bytes=-0',
  () => 'bytes=5-2',
  () => 'bytes=-99999999999999999999',
  (first) => `bytes=${first}-${first},`.repeat(100),
  () => 'lines=0-1',
  () => 'bytes=0x0-0x1',
];

/** A file of a release, and what it must contain. */
export interface ExpectedFile {
  readonly releaseId: string;
  readonly destination: string;
  readonly expected: Buffer;
}

/**
 * Requests a file as a whole.
 *
 * @param mustServe whether another answer than its bytes breaks a promise
 * @throws Error for wrong bytes
 */
export async function checkWhole(site: Site, file: ExpectedFile, mustServe: boolean): Promise<void> {
  const path = pathOf(file);
  const answer = await site.server.get(path);
  if (answer?.status === 200 && !answer.body.equals(file.expected)) throw wrongBytes(site, file, 'whole');
  if (mustServe && answer?.status !== 200)
    throw new Error(
      `${site.folder}: ${path} is not served: ${answer?.status ?? 'no answer'} ${answer?.body.toString() ?? ''}`,
    );
}

/** Requests a part of a file, with a range of an ordinary or of a hostile client. @throws Error for wrong bytes */
export async function checkRange(site: Site, file: ExpectedFile, random: Random): Promise<void> {
  const { expected } = file;
  const first = random.below(Math.max(1, expected.length));
  const last = first + random.below(Math.max(1, expected.length - first));
  const range = random.pick(RANGES)(first, last, expected.length);
  const answer = await site.server.get(pathOf(file), { range });
  if (answer === null || isRightAnswer(answer, expected)) return;
  throw wrongBytes(site, file, `Range: ${range}: ${answer.status}`);
}

function isRightAnswer({ status, headers, body }: Answer, expected: Buffer): boolean {
  if (status === 200) return body.equals(expected);
  if (status === 416) return headers['content-range'] === `bytes */${expected.length}`;
  if (status !== 206) return true;
  const type = headers['content-type'] ?? '';
  if (type.startsWith('multipart/'))
    return parseByteRanges(type, body).every((part) =>
      part.body.equals(expected.subarray(part.start, part.start + part.body.length)),
    );
  const { start, end, size } = parseContentRange(headers['content-range'] ?? '');
  return (
    size === expected.length && end - start === body.length && body.equals(expected.subarray(start, end))
  );
}

function pathOf({ releaseId, destination }: ExpectedFile): string {
  return `/${CDN_HOST}/${releaseId}/${destination}`;
}

function wrongBytes(site: Site, { releaseId, destination }: ExpectedFile, asked: string): Error {
  return new Error(`${site.folder}: wrong bytes of ${releaseId}/${destination}, ${asked}`);
}
