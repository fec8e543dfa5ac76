import { APP_VERSION_PATTERN, RELEASE_FILE } from '../../contract/formats/release-file-format.ts';
import { isRecord } from '../../domain/is-record.ts';
import { isBlake3Hex } from '../../domain/release/digest.ts';
import { encodePath } from '../../domain/release/encode-path.ts';
import { parseReleaseId, type ReleaseId } from '../../domain/release/release-id.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { createBlake3 } from '../../platform/hashing/blake3.ts';
import { boundDocument, readCatalogMembers } from '../catalog-readers/catalog-document.ts';
import {
  emptyCatalog,
  invalidEntry,
  parseEntryDestination,
  parseEntryDigests,
  parseEntrySize,
  tooManyEntries,
} from '../entry-rules.ts';
import { openHttpEntry } from '../http/http-entry.ts';
import { headerOf } from '../http/http-failures.ts';
import { createUpstreamHttpClient, type UpstreamHttpClient } from '../http/http-client.ts';
import { fetchServerInfo, probeUrl } from '../http/http-documents.ts';
import type { JsonMember } from '../../platform/json/json-members.ts';
import type { ManifestConfiguration, UpstreamConfiguration } from '../upstream-config.ts';
import { parseUpstreamLocation, quoteText, redactUrl, type UpstreamLocation } from '../upstream-location.ts';
import {
  createFingerprint,
  UpstreamError,
  type UpstreamAdapter,
  type UpstreamCatalog,
  type UpstreamEntry,
} from '../upstream.ts';

interface ManifestHead {
  readonly releaseId: ReleaseId;
  readonly appVersion: string | null;
  readonly serverInfoUrl: string | null;
  readonly serverInfoBlake3: string | null;
}

/**
 * Creates the adapter for a release described by one `release.json` over HTTP. The format is in
 * `docs/reference/upstream-manifest.md`.
 */
export function createManifestAdapter(
  configuration: UpstreamConfiguration,
  section: ManifestConfiguration,
  clock: Clock,
): UpstreamAdapter & { close(): Promise<void> } {
  const location = parseUpstreamLocation(section.url);
  const { allowOtherOrigins } = section;
  const client = createUpstreamHttpClient({ configuration, location, allowOtherOrigins, clock });
  const documentUrl = `${location.url}/${RELEASE_FILE}`;
  const rules: ManifestRules = { location, allowOtherOrigins, maxEntries: configuration.maxEntries };
  return {
    kind: 'manifest',
    label: redactUrl(location.url),
    probe: async (signal) => probeUrl(client, documentUrl, signal, explainMissing),
    fetchCatalog: async (previousEtag, signal) => {
      const answer = await client
        .send(
          {
            method: 'GET',
            url: documentUrl,
            headers: previousEtag === null ? {} : { 'if-none-match': previousEtag },
            accept: previousEtag === null ? [200] : [200, 304],
          },
          signal,
        )
        .catch((error: unknown) => {
          throw explainMissing(error);
        });
      if (answer.status === 304) {
        answer.discard();
        return null;
      }
      const hash = createBlake3();
      const label = redactUrl(documentUrl);
      const bytes = boundDocument(
        answer.chunks(),
        label,
        { maxBytes: configuration.maxCatalogBytes, setting: 'maxCatalogBytes' },
        [hash],
      );
      const members = readCatalogMembers(bytes, label, ['entries']);
      try {
        return await readCatalog(
          { members, label, client, rules, signal, hash },
          headerOf(answer.headers, 'etag'),
        );
      } catch (error) {
        await members.return();
        answer.discard();
        throw error;
      }
    },
    open: async (entry, resume, signal) => openHttpEntry(client, entry, entry.locator, resume, signal),
    close: async () => client.close(),
  };
}

/** Says of a document that is not there how it is made. A private bucket answers 403 for what it does not have. */
function explainMissing(error: unknown): unknown {
  if (!(error instanceof UpstreamError)) return error;
  const { code, message } = error;
  if (code !== 'upstream_not_found' && code !== 'upstream_closed') return error;
  const isMissing =
    code === 'upstream_not_found' ? '' : 'if the file is not there (a bucket may answer 403 for it): ';
  return new UpstreamError(
    code,
    `${message}; ${isMissing}an upstream of kind manifest has ${RELEASE_FILE} beside its files: write it with slipway manifest DIR and upload it ` +
      'after them; a game server is an upstream of kind server-info (make run: the URL of its document, which ends in .json)',
    { cause: error },
  );
}

interface ManifestRules {
  readonly location: UpstreamLocation;
  readonly allowOtherOrigins: boolean;
  readonly maxEntries: number;
}

interface ManifestReading {
  readonly members: AsyncGenerator<readonly JsonMember[], void>;
  readonly label: string;
  readonly client: UpstreamHttpClient;
  readonly rules: ManifestRules;
  readonly signal: AbortSignal;
  readonly hash: { update(bytes: Uint8Array): unknown; digest(): Buffer };
}

async function readCatalog(reading: ManifestReading, etag: string | null): Promise<UpstreamCatalog> {
  const { members, label, client, rules, signal, hash } = reading;
  const values = new Map<string, unknown>();
  let first: readonly JsonMember[] = [];
  while (first.length === 0) {
    const next = await members.next();
    if (next.done === true) throw emptyCatalog(label);
    for (const [index, member] of next.value.entries()) {
      if (member.kind === 'element') {
        first = next.value.slice(index);
        break;
      }
      values.set(member.key, member.value);
    }
  }
  const head = parseHead(values, label, rules);
  const serverInfo =
    head.serverInfoUrl === null
      ? null
      : await fetchServerInfo(client, head.serverInfoUrl, signal, head.serverInfoBlake3);
  const fingerprint = createFingerprint();
  return {
    releaseId: head.releaseId,
    appVersion: head.appVersion,
    serverInfo,
    etag,
    entries: (entriesSignal) =>
      readEntries(reading, first, entriesSignal, () => {
        if (serverInfo !== null) hash.update(serverInfo);
        fingerprint.set(hash.digest().toString('hex'));
      }),
    fingerprint: fingerprint.read,
  };
}

// One generator without layers: each layer costs microseconds an entry, and there may be millions.
async function* readEntries(
  reading: ManifestReading,
  first: readonly JsonMember[],
  signal: AbortSignal,
  onEnd: () => void,
): AsyncGenerator<UpstreamEntry, void> {
  const { members } = reading;
  let index = 0;
  try {
    for (let batch: readonly JsonMember[] | null = first; batch !== null;) {
      signal.throwIfAborted();
      for (const member of batch) {
        const entry = readEntry(member, index, reading);
        if (entry === null) continue;
        yield entry;
        index += 1;
      }
      const next: IteratorResult<readonly JsonMember[], void> = await members.next();
      batch = next.done === true ? null : next.value;
    }
    onEnd();
  } finally {
    await members.return();
  }
}

/** The entry that a member is; `null` for members that mean nothing. */
function readEntry(member: JsonMember, index: number, reading: ManifestReading): UpstreamEntry | null {
  const { label, rules } = reading;
  if (member.kind === 'value') {
    if (HEAD_KEYS.has(member.key)) throw mustComeFirst(label, member.key);
    return null;
  }
  if (index === rules.maxEntries) throw tooManyEntries(label, rules.maxEntries);
  return parseManifestEntry(member.value, `${label}: entries[${index}]`, rules);
}

const HEAD_KEYS = new Set(['release_id', 'app_version', 'server_info', 'server_info_blake3']);

function parseHead(values: ReadonlyMap<string, unknown>, label: string, rules: ManifestRules): ManifestHead {
  const releaseIdText = values.get('release_id');
  if (releaseIdText === undefined) throw mustComeFirst(label, 'release_id');
  const releaseId = typeof releaseIdText === 'string' ? parseReleaseId(releaseIdText) : null;
  if (releaseId?.ok !== true) {
    const why = releaseId === null ? 'it must be a string' : releaseId.error;
    throw invalidEntry(`${label}: release_id`, why);
  }
  const appVersion = values.get('app_version') ?? null;
  if (appVersion !== null && (typeof appVersion !== 'string' || !APP_VERSION_PATTERN.test(appVersion))) {
    throw invalidEntry(`${label}: app_version`, 'it must be 1 to 64 visible ASCII characters');
  }
  const serverInfo = values.get('server_info') ?? null;
  if (serverInfo !== null && typeof serverInfo !== 'string') {
    throw invalidEntry(`${label}: server_info`, 'it must be a URL or a path below the root');
  }
  const serverInfoUrl = serverInfo === null ? null : resolveUrl(serverInfo, `${label}: server_info`, rules);
  const serverInfoBlake3 = values.get('server_info_blake3') ?? null;
  if (serverInfoBlake3 !== null && (typeof serverInfoBlake3 !== 'string' || !isBlake3Hex(serverInfoBlake3))) {
    throw invalidEntry(`${label}: server_info_blake3`, 'it must be 64 lower-case hexadecimal digits');
  }
  return { releaseId: releaseId.value, appVersion, serverInfoUrl, serverInfoBlake3 };
}

function parseManifestEntry(value: unknown, where: string, rules: ManifestRules): UpstreamEntry {
  if (!isRecord(value)) throw invalidEntry(where, 'it must be an object');
  const destination = parseEntryDestination(value['destination'], where);
  const url = value['url'];
  if (url !== undefined && typeof url !== 'string') throw invalidEntry(where, 'its url must be a string');
  return {
    destination,
    size: parseEntrySize(value['size'], where),
    digests: parseEntryDigests(value['digests'], where),
    place: where,
    locator:
      url === undefined ? `${rules.location.url}/${encodePath(destination)}` : resolveUrl(url, where, rules),
  };
}

function resolveUrl(text: string, where: string, rules: ManifestRules): string {
  const base = `${rules.location.url}/`;
  if (text.length > 4096 || !URL.canParse(text, base))
    throw invalidEntry(where, `${quoteText(text)} is not a URL`);
  const url = new URL(text, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw invalidEntry(where, `${quoteText(text)} must be an http or https URL`);
  }
  if (url.username !== '' || url.password !== '') {
    throw invalidEntry(where, 'its URL contains credentials; put them into the configured upstream URL');
  }
  if (url.origin !== rules.location.origin && !rules.allowOtherOrigins) {
    throw invalidEntry(
      where,
      `its URL leads to ${url.origin}; set upstream.manifest.allowOtherOrigins to allow that`,
    );
  }
  url.hash = '';
  return url.href;
}

function mustComeFirst(label: string, key: string): UpstreamError {
  return new UpstreamError(
    'catalog_invalid',
    `${label}: ${key} is missing before entries; the document is read as a stream, so it must come first`,
  );
}
