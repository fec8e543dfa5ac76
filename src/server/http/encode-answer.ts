import { promisify } from 'node:util';
import { constants, gzip, zstdCompress } from 'node:zlib';
import { chooseCoding } from '../../domain/http/content-coding.ts';
import type { Answer } from './answer.ts';

const compressZstd = promisify(zstdCompress);
const compressGzip = promisify(gzip);

/**
 * Both run in the thread pool, at the lowest level: most of a page are digests, and a higher level takes twice the time and
 * makes it no smaller.
 */
const ENCODERS = {
  zstd: async (body: Uint8Array): Promise<Buffer> =>
    await compressZstd(body, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
  gzip: async (body: Uint8Array): Promise<Buffer> => await compressGzip(body, { level: 1 }),
} as const;
/** The best first: zstd takes a third of the time of gzip, for the same size. */
const CODINGS = ['zstd', 'gzip'] as const;

/**
 * Compresses an answer with one body, in the coding that the client prefers.
 *
 * @param accepted `Accept-Encoding` of the request
 * @returns the answer itself when the client takes no coding, or there is no body
 */
export async function encodeAnswer(answer: Answer, accepted: string | undefined): Promise<Answer> {
  const coding = chooseCoding(accepted, CODINGS);
  const [body, second] = answer.body;
  if (coding === 'identity' || body === undefined || second !== undefined) return answer;
  return {
    ...answer,
    headers: { ...answer.headers, 'content-encoding': coding },
    body: [await ENCODERS[coding](body)],
  };
}
