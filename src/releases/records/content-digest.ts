import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { ManifestEntry } from '../../domain/release/manifest.ts';
import { createBlake3 } from '../../platform/hashing/blake3.ts';

export interface ContentSummary {
  /** BLAKE3 over everything in the manifest except the names of the release and of its base. */
  readonly digest: Blake3Hex;
  readonly entryCount: number;
  readonly totalBytes: number;
}

/**
 * Digests the content of a release, so that equal content is recognized under any name. The server-info document is not
 * content: a release keeps its name when only the document changes.
 *
 * @param entries in manifest order
 * @param appVersion the version that the manifest names, if any
 */
export async function summarizeContent(
  entries: AsyncIterable<ManifestEntry>,
  appVersion: string | null,
): Promise<ContentSummary> {
  const hash = createBlake3();
  const add = (value: unknown): void => {
    hash.update(Buffer.from(`${JSON.stringify(value)}\n`));
  };
  add([appVersion]);
  let entryCount = 0;
  let totalBytes = 0;
  for await (const entry of entries) {
    add([entry.destination, entry.size, entry.blake3, entry.crc64, entry.source, entry.media_type]);
    entryCount += 1;
    totalBytes += entry.size;
  }
  return { digest: hash.digest().toString('hex') as Blake3Hex, entryCount, totalBytes };
}
