import type { ManifestEntry } from '../../../domain/release/manifest.ts';
import { createBlake3 } from '../../../platform/hashing/blake3.ts';
import { messageOf } from '../../../platform/errors.ts';
import type { SendHttp } from '../../../mirror/slipway-source.ts';
import { contentCodingOf } from '../../../platform/http/content-coding.ts';
import { MirrorHttpError } from './mirror-http.ts';
import type { MirrorDamage } from './mirror-report.ts';

/** Reads of one file before it counts as unreachable. */
const ATTEMPTS = 3;

/** Where the files of a release are on a mirror. */
export interface FilePlaces {
  readonly urlOf: (entry: ManifestEntry) => string;
  readonly send: SendHttp;
}

/**
 * Downloads a file and compares its size and its digest with the manifest.
 *
 * @returns `null` when it is as the manifest says
 * @throws the signal's reason
 */
export async function checkFile(
  { urlOf, send }: FilePlaces,
  entry: ManifestEntry,
  signal: AbortSignal,
): Promise<MirrorDamage | null> {
  const { destination } = entry;
  let last = '';
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    try {
      const url = urlOf(entry);
      const answer = await send({ method: 'GET', url, accept: [200] }, signal);
      const coding = contentCodingOf(answer.headers);
      if (coding === null) return await compare(url, answer.chunks(), entry);
      answer.discard();
      const message = `${url} is sent with the content coding ${coding}, which nobody asked for`;
      return { destination, status: 'digest_mismatch', message };
    } catch (error) {
      signal.throwIfAborted();
      last = messageOf(error);
      if (!(error instanceof MirrorHttpError)) continue;
      if (error.status === 404) return { destination, status: 'missing', message: last };
      if (error.isFinal) return { destination, status: 'unreachable', message: last };
    }
  }
  return { destination, status: 'unreachable', message: `${last} (${ATTEMPTS} attempts)` };
}

async function compare(
  url: string,
  chunks: AsyncIterable<Uint8Array>,
  { destination, size, blake3 }: ManifestEntry,
): Promise<MirrorDamage | null> {
  const hash = createBlake3();
  let received = 0;
  for await (const chunk of chunks) {
    received += chunk.length;
    // A body without end must not keep the check.
    if (received > size) break;
    hash.update(chunk);
  }
  if (received !== size) {
    const found = received > size ? 'more' : String(received);
    return {
      destination,
      status: 'size_mismatch',
      message: `${url} has ${found} bytes, and ${size} were signed`,
    };
  }
  const found = hash.digest().toString('hex');
  if (found === blake3) return null;
  return {
    destination,
    status: 'digest_mismatch',
    message: `${url} has the digest ${found}, and ${blake3} was signed`,
  };
}
