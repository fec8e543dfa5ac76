import { parseManifestEntry, parseManifestHeader } from '../contract/formats/manifest-format.ts';
import {
  MANIFEST_MAX_LINE_BYTES,
  type ManifestEntry,
  type ManifestHeader,
} from '../domain/release/manifest.ts';
import { linesOf } from './bundle/blob-reader.ts';
import { accept } from './bundle/bundle-error.ts';

interface ManifestText {
  readonly header: ManifestHeader;
  /** Iterate once. Nothing of it counts before its digest was compared. */
  readonly pages: AsyncGenerator<readonly ManifestEntry[], void>;
}

/**
 * Begins to read the text of a manifest, which arrives in pieces.
 *
 * @param label names its place in messages
 * @throws BundleError when its first line is not one of a manifest; the iteration, when another line is not
 */
export async function readManifestText(
  pieces: AsyncIterable<Uint8Array>,
  label: string,
): Promise<ManifestText> {
  const lines = linesOf(pieces, MANIFEST_MAX_LINE_BYTES, label);
  const first = await lines.next();
  const [line = '', ...rest] = first.done === true ? [] : first.value;
  const header = accept(parseManifestHeader(line), label);
  return { header, pages: readPages(rest, lines, label) };
}

async function* readPages(
  first: readonly string[],
  lines: AsyncIterable<readonly string[]>,
  label: string,
): AsyncGenerator<readonly ManifestEntry[], void> {
  const entries = (page: readonly string[]): ManifestEntry[] =>
    page.map((line) => accept(parseManifestEntry(line), label));
  yield entries(first);
  for await (const page of lines) yield entries(page);
}
