import { encodePath } from '../../domain/release/encode-path.ts';
import { createBlake3 } from '../../platform/hashing/blake3.ts';
import { boundDocument, type ByteSink, type DocumentBound } from '../catalog-readers/catalog-document.ts';
import { parseEntryDestination } from '../entry-rules.ts';
import type { UpstreamHttpClient } from '../http/http-client.ts';
import { comparisonValidator, type LocatedCatalogs, type LocatedDocument } from './server-info-catalogs.ts';
import type { UpstreamConfiguration } from '../upstream-config.ts';
import { redactUrl } from '../upstream-location.ts';
import { UpstreamError, type UpstreamEntry } from '../upstream.ts';

/** Where the catalogs are read from, and what takes their bytes for the fingerprint. */
interface CatalogSource {
  readonly client: UpstreamHttpClient;
  readonly root: string;
  readonly limits: UpstreamConfiguration;
  readonly hash: ByteSink;
}

/** An entry, and whether a catalog lists it (the catalogs themselves are entries too). */
interface LocatedEntry {
  readonly entry: UpstreamEntry;
  readonly listed: boolean;
}

/**
 * Reads the catalogs one after the other. Each catalog and each file beside one becomes an entry as well, with the size and
 * BLAKE3 of the very bytes that were read: the release holds the catalog that describes it, or none.
 *
 * @throws UpstreamError `catalog_changed` (retryable) when a catalog is not the one that was located;
 *   `catalog_too_large` when a catalog or a file beside one is larger than its limit
 */
export async function* readLocatedCatalogs(
  source: CatalogSource,
  located: LocatedCatalogs,
  signal: AbortSignal,
): AsyncGenerator<LocatedEntry, void> {
  for (const catalog of located.catalogs) {
    const opened = await openDocument(source, catalog, 'maxCatalogBytes', signal);
    for await (const file of catalog.reader.read(opened)) {
      signal.throwIfAborted();
      yield { entry: { ...file, locator: urlOf(source.root, file.destination) }, listed: true };
    }
    yield { entry: opened.entry(), listed: false };
  }
  for (const companion of located.companions) {
    const opened = await openDocument(source, companion, 'maxFileBytes', signal);
    for await (const chunk of opened.chunks) void chunk; // read for its digest alone
    yield { entry: opened.entry(), listed: false };
  }
}

interface OpenedDocument {
  readonly path: string;
  readonly label: string;
  readonly chunks: AsyncIterable<Uint8Array>;
  /** The document itself as an entry; only once `chunks` has ended. */
  entry(): UpstreamEntry;
}

async function openDocument(
  source: CatalogSource,
  document: LocatedDocument,
  setting: DocumentBound['setting'],
  signal: AbortSignal,
): Promise<OpenedDocument> {
  const { path } = document;
  const url = urlOf(source.root, path);
  const label = redactUrl(url);
  const bound: DocumentBound = { maxBytes: source.limits[setting], setting };
  const answer = await source.client.send({ method: 'GET', url, accept: [200] }, signal);
  if (document.validator !== null && comparisonValidator(answer) !== document.validator) {
    answer.discard();
    throw new UpstreamError('catalog_changed', `${label} changed while the catalogs were read`, {
      retryable: true,
    });
  }
  const own = createBlake3();
  let size = 0;
  const counter: ByteSink = {
    update(bytes) {
      size += bytes.length;
    },
  };
  return {
    path,
    label,
    chunks: boundDocument(answer.chunks(), label, bound, [source.hash, own, counter]),
    entry: () => ({
      destination: parseEntryDestination(path, label),
      size,
      digests: { blake3: own.digest().toString('hex') },
      locator: url,
    }),
  };
}

function urlOf(root: string, path: string): string {
  return `${root}/${encodePath(path)}`;
}
