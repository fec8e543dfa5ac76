import { renderManifestEntry } from '../../contract/formats/manifest-format.ts';
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
  hash.update(contentPrefix(appVersion));
  let entryCount = 0;
  let totalBytes = 0;
  for await (const entry of entries) {
    hash.update(Buffer.from(`${renderManifestEntry(entry)}\n`));
    entryCount += 1;
    totalBytes += entry.size;
  }
  return { digest: hash.digest().toString('hex') as Blake3Hex, entryCount, totalBytes };
}

/** What stands before the entry lines of the manifest in the digest of a content. */
export function contentPrefix(appVersion: string | null): Buffer {
  return Buffer.from(`${JSON.stringify([appVersion])}\n`);
}
