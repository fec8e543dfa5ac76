import { isRecord } from '../../domain/is-record.ts';
import { quoteText } from '../upstream-location.ts';
import { UpstreamError } from '../upstream.ts';

export interface CatalogRoot {
  /** `AddressablesCatalogUrlRoot`: absolute http(s) URL without a trailing slash. */
  readonly url: string;
  /** `Name` of the override group. */
  readonly overrideName: string;
}

interface OverrideGroup {
  readonly name: string;
  readonly root: string;
}

/**
 * Finds the catalog root in a server-info document: the override group with the given name, or the last override group
 * of the first connection group that has one.
 *
 * @param document the parsed document
 * @param documentUrl where it came from; a document from https must not name a root on http
 * @param overrideName the configured name, or `null`
 * @throws UpstreamError `catalog_invalid`
 */
export function chooseCatalogRoot(
  document: Readonly<Record<string, unknown>>,
  documentUrl: string,
  overrideName: string | null,
): CatalogRoot {
  const groups = listOf(document['ConnectionGroups']).map(overrideGroups);
  const all = groups.flat();
  const chosen =
    overrideName === null
      ? groups.find((overrides) => overrides.length > 0)?.at(-1)
      : all.find((override) => override.name === overrideName);
  if (chosen === undefined) {
    throw invalidDocument(
      overrideName === null || all.length === 0
        ? 'it has no ConnectionGroups[].OverrideConnectionGroups[] with an AddressablesCatalogUrlRoot'
        : `it has no override group ${quoteText(overrideName)}; it has ${all
            .slice(0, 20)
            .map((override) => quoteText(override.name))
            .join(', ')}`,
    );
  }
  return { url: parseRoot(chosen.root, documentUrl), overrideName: chosen.name };
}

function overrideGroups(group: unknown): OverrideGroup[] {
  if (!isRecord(group)) return [];
  const overrides: OverrideGroup[] = [];
  for (const override of listOf(group['OverrideConnectionGroups'])) {
    if (!isRecord(override)) continue;
    const root = override['AddressablesCatalogUrlRoot'];
    if (typeof root !== 'string' || root === '') continue;
    overrides.push({ name: typeof override['Name'] === 'string' ? override['Name'] : '', root });
  }
  return overrides;
}

function parseRoot(text: string, documentUrl: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw invalidDocument(`AddressablesCatalogUrlRoot ${quoteText(text)} is not an http or https URL`);
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw invalidDocument('AddressablesCatalogUrlRoot must have no credentials, query or fragment');
  }
  if (new URL(documentUrl).protocol === 'https:' && url.protocol === 'http:') {
    throw invalidDocument('it came over https but its AddressablesCatalogUrlRoot is on http');
  }
  return url.href.replace(/\/+$/, '');
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

function invalidDocument(problem: string): UpstreamError {
  return new UpstreamError('catalog_invalid', `the server-info document cannot be used: ${problem}`);
}
