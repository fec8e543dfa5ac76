import { encodePath } from '../../domain/release/encode-path.ts';
import type { CatalogChoice, CatalogReader } from '../catalog-readers/catalog-reader.ts';
import type { UpstreamAnswer, UpstreamHttpClient } from '../http/http-client.ts';
import { headerOf } from '../http/http-failures.ts';
import { redactUrl } from '../upstream-location.ts';
import { UpstreamError } from '../upstream.ts';

export interface LocatedDocument {
  readonly path: string;
  /** `ETag`, else `Last-Modified`, else `null`. */
  readonly validator: string | null;
}

interface LocatedCatalog extends LocatedDocument {
  readonly reader: CatalogReader;
}

export interface LocatedCatalogs {
  readonly catalogs: readonly LocatedCatalog[];
  /** The `.hash` files beside them. */
  readonly companions: readonly LocatedDocument[];
}

interface CatalogSearch {
  readonly client: UpstreamHttpClient;
  readonly root: string;
  readonly required: readonly CatalogReader[];
  readonly optional: readonly CatalogReader[];
  readonly platforms: readonly string[];
}

/**
 * Finds out which catalogs exist below a root, without fetching them.
 *
 * @throws UpstreamError `upstream_not_found` when a required catalog is missing, naming it; `upstream_closed` when
 *   every answer below the root was 403
 */
export async function locateCatalogs(search: CatalogSearch, signal: AbortSignal): Promise<LocatedCatalogs> {
  const catalogs: LocatedCatalog[] = [];
  const companions: LocatedDocument[] = [];
  const answers: boolean[] = [];
  const closed = (): boolean => answers.length > 0 && answers.every((forbidden) => forbidden);
  for (const reader of new Set([...search.required, ...search.optional])) {
    for (const choice of reader.catalogPaths({ platforms: search.platforms })) {
      const { found, forbidden } = await locateChoice(search, choice, signal);
      answers.push(forbidden);
      if (found !== null) {
        // Two readers may know the same catalog.
        if (catalogs.some(({ path }) => path === found.path)) continue;
        catalogs.push({ ...found, reader });
        companions.push(...(await locateCompanions(search, choice, found.path, signal)));
      } else if (search.required.includes(reader)) {
        throw closed() ? closedRoot(search.root) : missingCatalog(search.root, choice, reader);
      }
    }
  }
  if (closed()) throw closedRoot(search.root);
  return { catalogs, companions };
}

/** The validator of an answer, to compare two reads of one document. */
export function comparisonValidator(answer: UpstreamAnswer): string | null {
  return headerOf(answer.headers, 'etag') ?? headerOf(answer.headers, 'last-modified');
}

interface ChoiceAnswer {
  readonly found: LocatedDocument | null;
  /** Whether every answer was 403. */
  readonly forbidden: boolean;
}

async function locateChoice(
  search: CatalogSearch,
  choice: CatalogChoice,
  signal: AbortSignal,
): Promise<ChoiceAnswer> {
  let forbidden = true;
  for (const path of choice.paths) {
    const { status, document } = await look(search, path, signal);
    if (document !== null) return { found: document, forbidden: false };
    forbidden &&= status === 403;
  }
  return { found: null, forbidden };
}

async function locateCompanions(
  search: CatalogSearch,
  choice: CatalogChoice,
  catalogPath: string,
  signal: AbortSignal,
): Promise<readonly LocatedDocument[]> {
  const found: LocatedDocument[] = [];
  for (const path of new Set([catalogPath.replace(/\.[^./]+$/, '.hash'), ...(choice.beside ?? [])])) {
    if (path === catalogPath) continue;
    const { document } = await look(search, path, signal);
    if (document !== null) found.push(document);
  }
  return found;
}

async function look(
  search: CatalogSearch,
  path: string,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly document: LocatedDocument | null }> {
  const url = `${search.root}/${encodePath(path)}`;
  const absent = [403, 404, 410];
  let answer = await search.client.send({ method: 'HEAD', url, accept: [200, 405, 501, ...absent] }, signal);
  answer.discard();
  if (answer.status === 405 || answer.status === 501) {
    answer = await search.client.send({ method: 'GET', url, accept: [200, ...absent] }, signal);
    answer.discard();
  }
  const { status } = answer;
  return { status, document: status === 200 ? { path, validator: comparisonValidator(answer) } : null };
}

function closedRoot(root: string): UpstreamError {
  return new UpstreamError(
    'upstream_closed',
    `the catalog root ${redactUrl(root)} is closed (status 403 for every catalog): upstream is under maintenance or ` +
      'has not opened the release yet; a later sync tries again',
  );
}

function missingCatalog(root: string, choice: CatalogChoice, reader: CatalogReader): UpstreamError {
  return new UpstreamError(
    'upstream_not_found',
    `the catalog ${choice.paths.join(' or ')} is missing below ${redactUrl(root)} and ${reader.name} ` +
      'is required (upstream.serverInfo.requiredCatalogs)',
  );
}
