import type { CatalogFile } from './catalog-reader.ts';

/** Maximum number of files of a catalog that are remembered; packs are few. */
const REMEMBERED_MAX = 200_000;

/**
 * Lists a file once that a catalog names in two places with the same facts, such as a pack that is both full and
 * update. A file named twice with different facts stays twice, and the release is refused for it.
 */
export async function* dropRepeats(files: AsyncIterable<CatalogFile>): AsyncGenerator<CatalogFile, void> {
  const seen = new Map<string, string>();
  for await (const file of files) {
    const facts = `${file.size} ${file.digests.crc32}`;
    if (seen.get(file.destination) === facts) continue;
    if (seen.size < REMEMBERED_MAX) seen.set(file.destination, facts);
    yield file;
  }
}
