import type { Blake3Hex } from '../../../domain/release/digest.ts';
import type { ManifestEntry, ManifestHeader } from '../../../domain/release/manifest.ts';
import { createBlake3 } from '../../../platform/hashing/blake3.ts';

/** The content of a release, without its name. */
export interface ContentSummary {
  /** BLAKE3 over everything in the manifest except the names of the release and of its base. */
  readonly digest: Blake3Hex;
  readonly entryCount: number;
  /** Bytes. */
  readonly totalBytes: number;
}

/**
 * Digests the content of a release, so that equal content is recognized under any name. The server-info document is not
 * content: a release keeps its name when only the document changes.
 *
 * @param entries in manifest order
 * @param rest what else the manifest says; `server_info` only for a manifest of an earlier version, which names it
 */
export async function summarizeContent(
  entries: AsyncIterable<ManifestEntry>,
  rest: Pick<ManifestHeader, 'server_info' | 'app_version'>,
): Promise<ContentSummary> {
  const hash = createBlake3();
  const add = (value: unknown): void => {
    hash.update(Buffer.from(`${JSON.stringify(value)}\n`));
  };
  add([rest.server_info?.blake3 ?? null, rest.server_info?.size ?? null, rest.app_version ?? null]);
  let entryCount = 0;
  let totalBytes = 0;
  for await (const entry of entries) {
    add([entry.destination, entry.size, entry.blake3, entry.crc64, entry.source, entry.media_type]);
    entryCount += 1;
    totalBytes += entry.size;
  }
  return { digest: hash.digest().toString('hex') as Blake3Hex, entryCount, totalBytes };
}
