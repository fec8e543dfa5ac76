import type { CatalogChoice, CatalogReader } from '../catalog-readers/catalog-reader.ts';
import type { UpstreamAnswer, UpstreamHttpClient } from '../http/http-client.ts';
import { headerOf } from '../http/http-failures.ts';
import { encodePath, redactUrl } from '../upstream-location.ts';
import { UpstreamError } from '../upstream.ts';

/** A document below the catalog root that exists. */
export interface LocatedDocument {
  readonly path: string;
  /** `ETag`, else `Last-Modified`, else `null`. */
  readonly validator: string | null;
}

/** A catalog that exists, and its reader. */
export interface LocatedCatalog extends LocatedDocument {
  readonly reader: CatalogReader;
}

/** The catalogs found below a catalog root. */
export interface LocatedCatalogs {
  readonly catalogs: readonly LocatedCatalog[];
  /** The `.hash` files beside them. */
  readonly companions: readonly LocatedDocument[];
}

/** Where to look and what for. */
export interface CatalogSearch {
  readonly client: UpstreamHttpClient;
  readonly root: string;
  readonly required: readonly CatalogReader[];
  readonly optional: readonly CatalogReader[];
  readonly platforms: readonly string[];
}

/**
 * Finds out which catalogs exist below a root, without fetching them.
 *
 * @throws UpstreamError `upstream_not_found` when a required catalog is missing, naming it
 */
export async function locateCatalogs(search: CatalogSearch, signal: AbortSignal): Promise<LocatedCatalogs> {
  const catalogs: LocatedCatalog[] = [];
  const companions: LocatedDocument[] = [];
  for (const reader of new Set([...search.required, ...search.optional])) {
    for (const choice of reader.catalogPaths({ platforms: search.platforms })) {
      const found = await locateChoice(search, choice, signal);
      if (found !== null) {
        catalogs.push({ ...found, reader });
        const companion = await look(search, companionPath(found.path), signal);
        if (companion !== null) companions.push(companion);
      } else if (search.required.includes(reader)) {
        throw new UpstreamError(
          'upstream_not_found',
          `the catalog ${choice.paths.join(' or ')} is missing below ${redactUrl(search.root)} and ${reader.name} ` +
            'is required (upstream.serverInfo.requiredCatalogs); catalogs in a binary format need a separate reader',
          { retryable: false },
        );
      }
    }
  }
  return { catalogs, companions };
}

/** The validator of an answer for comparing two looks at one document. */
export function comparisonValidator(answer: Pick<UpstreamAnswer, 'headers'>): string | null {
  return headerOf(answer.headers, 'etag') ?? headerOf(answer.headers, 'last-modified');
}

async function locateChoice(
  search: CatalogSearch,
  choice: CatalogChoice,
  signal: AbortSignal,
): Promise<LocatedDocument | null> {
  for (const path of choice.paths) {
    const found = await look(search, path, signal);
    if (found !== null) return found;
  }
  return null;
}

async function look(
  search: CatalogSearch,
  path: string,
  signal: AbortSignal,
): Promise<LocatedDocument | null> {
  const url = `${search.root}/${encodePath(path)}`;
  // Object stores that may not be listed answer 403 for what does not exist.
  const absent = [403, 404, 410];
  let answer = await search.client.send({ method: 'HEAD', url, accept: [200, 405, 501, ...absent] }, signal);
  answer.discard();
  if (answer.status === 405 || answer.status === 501) {
    answer = await search.client.send({ method: 'GET', url, accept: [200, ...absent] }, signal);
    answer.discard();
  }
  return answer.status === 200 ? { path, validator: comparisonValidator(answer) } : null;
}

function companionPath(path: string): string {
  return path.replace(/\.[^./]+$/, '.hash');
}
