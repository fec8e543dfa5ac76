import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import { z } from 'zod';
import { ENVELOPE_MAX_BYTES } from '../contract/formats/attestation-format.ts';
import { JsonError } from '../contract/json/json-error.ts';
import { scanJsonStructure } from '../contract/json/json-structure.ts';
import { entryProblem, headerProblem } from '../contract/formats/manifest-format.ts';
import { encodePath } from '../domain/release/encode-path.ts';
import { compareDestinations, parseDestination, type Destination } from '../domain/release/destination.ts';
import type { SnapshotId } from '../domain/release/digest.ts';
import type { ManifestChange, ManifestEntry, ManifestHeader } from '../domain/release/manifest.ts';
import { messageOf } from '../platform/errors.ts';
import { collectBounded } from '../platform/memory/collect-bounded.ts';
import type {
  AttestedSource,
  NoteWait,
  SourceDescription,
  SourceManifest,
  SourceRelease,
  SourceState,
} from './attested-source.ts';
import { MirrorError } from './mirror-error.ts';

/** Entries of one page; the most that the interface gives. */
const PAGE_ENTRIES = 1000;
/** Longest answer of `/v1/release`: the envelope, and a few figures beside it. */
const STATE_MAX_BYTES = 2 * ENVELOPE_MAX_BYTES;
/** Longest entry as JSON: a destination of 1 KiB and a media type with all quotes escaped, digests, and room for later fields. */
const ENTRY_MAX_BYTES = 4096;
/** Longest page without a server-info document: its entries, and room for its head. */
const PAGE_MAX_BYTES = (PAGE_ENTRIES + 16) * ENTRY_MAX_BYTES;
/** Bytes of one escaped byte of a document: `\u0000`. */
const ESCAPED_BYTES = 6;
/**
 * Bounds of the structure of an answer: a page nests three levels, and its entries have seven fields each. A few bytes on the wire can
 * unpack to millions of values, which would stop this process for as long as they are parsed and checked.
 */
const STRUCTURE = {
  maxDepth: 16,
  maxValues: (PAGE_ENTRIES + 16) * 16,
  strict: false,
  maxKeysOfObject: Infinity,
  maxKeys: Infinity,
} as const;

const unpack = promisify(zstdDecompress);

/** How pages are compressed, by origins that can. */
const PAGE_CODING = 'zstd';

/** The head of an answer and its body. One of `chunks` and `discard` is used. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  chunks(): AsyncIterable<Uint8Array>;
  discard(): void;
}

/** Sends one request. It throws for statuses that are not accepted, and where the transport fails. */
export type SendHttp = (
  request: {
    readonly method: 'GET';
    readonly url: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly accept: readonly number[];
  },
  signal: AbortSignal,
) => Promise<HttpAnswer>;

type SendPage = (
  request: Parameters<SendHttp>[0],
  signal: AbortSignal,
  noteWait?: NoteWait,
) => ReturnType<SendHttp>;

interface SlipwaySourceOptions {
  readonly url: string;
  readonly label: string;
  readonly send: SendHttp;
  /** Sends the requests of pages of a manifest; default `send`. */
  readonly sendPage?: SendPage;
}

const stateSchema = z.object({
  /** Its form is for the check of its signature: a malformed attestation is not to be believed. */
  attestation: z.record(z.string(), z.unknown()).nullable(),
  cdn_host: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9.-]{0,252}$/),
});

const pageSchema = z.object({
  release_id: z.string(),
  channel: z.string(),
  snapshot_id: z.string(),
  total: z.int().min(0),
  offset: z.int().min(0),
  next_offset: z.int().min(0).nullable(),
  items: z.array(z.record(z.string(), z.unknown())).max(PAGE_ENTRIES),
  header: z.record(z.string(), z.unknown()).optional(),
  server_info: z.string().nullable().optional(),
  since: z.string().optional(),
  removed: z.array(z.string()).max(PAGE_ENTRIES).default([]),
});

type Page = z.output<typeof pageSchema>;

interface PagePlace {
  readonly offset: number;
  /** The snapshot that the reader has, for a page of the difference from it. */
  readonly since?: SnapshotId;
}

export function createSlipwaySource({
  url,
  label,
  send,
  sendPage = send,
}: SlipwaySourceOptions): AttestedSource {
  const readPage = async (
    { channel, attested }: SourceRelease,
    { offset, since }: PagePlace,
    signal: AbortSignal,
    noteWait?: NoteWait,
  ): Promise<Page> => {
    const query = new URLSearchParams({
      channel,
      release_id: attested.release_id,
      ...(since === undefined ? {} : { since }),
      offset: String(offset),
      limit: String(PAGE_ENTRIES),
    });
    const pageUrl = `${url}/v1/distribution?${query.toString()}`;
    // The pages of a release of small files would otherwise be a tenth of what an edge fetches.
    const headers = { 'accept-encoding': PAGE_CODING };
    const request = { method: 'GET', url: pageUrl, headers, accept: [200, 409] } as const;
    const answer = await sendPage(request, signal, noteWait);
    if (answer.status === 409) {
      answer.discard();
      throw new MirrorError(
        'origin_not_distributable',
        `${label} does not give ${channel} release ${attested.release_id} now: it is being loaded, damaged or replaced`,
        { retryable: true },
      );
    }
    const maxBytes = PAGE_MAX_BYTES + (offset === 0 ? ESCAPED_BYTES * (attested.server_info?.size ?? 0) : 0);
    const body = await readJson(answer, maxBytes, label);
    return parse(pageSchema, body, placeOf(label, '/v1/distribution'));
  };

  const folder: NonNullable<AttestedSource['folderOf']> = ({ cdnHost }, { attested }) =>
    `${url}/${cdnHost ?? ''}/${attested.release_id}/`;

  return {
    label,
    current: async (tag, signal) => {
      const answer = await send(
        {
          method: 'GET',
          url: `${url}/v1/release`,
          ...(tag === null ? {} : { headers: { 'if-none-match': tag } }),
          accept: tag === null ? [200] : [200, 304],
        },
        signal,
      );
      if (answer.status === 304) {
        answer.discard();
        return null;
      }
      const { etag } = answer.headers;
      return stateOf(await readState(answer, label), etag ?? null, label);
    },
    manifest: async (release, signal, noteWait) => {
      const readAt = async (offset: number): Promise<Page> =>
        await readPage(release, { offset }, signal, noteWait);
      return wholeOf(await readAt(0), release, label, readAt);
    },
    difference: async (release, since, signal, noteWait) => {
      const first = await readPage(release, { offset: 0, since }, signal, noteWait);
      if (first.since === undefined) {
        return wholeOf(first, release, label, async (offset) => {
          return await readPage(release, { offset }, signal, noteWait);
        });
      }
      const changes = pagesFrom(
        first,
        { ...release, since },
        async (offset) => await readPage(release, { offset, since }, signal, noteWait),
        changesOf,
      );
      return { ...descriptionOf(first, label), since, total: first.total, changes };
    },
    folderOf: folder,
    locatorOf: (state, release, { destination }) => `${folder(state, release)}${encodePath(destination)}`,
  };
}

/** A path of a source, whose label may end in a slash. */
function placeOf(label: string, path: string): string {
  return `${label.replace(/\/$/, '')}${path}`;
}

function descriptionOf(page: Page, label: string): SourceDescription {
  const { server_info: document } = page;
  const serverInfo = document === undefined || document === null ? null : Buffer.from(document);
  return { header: headerOf(page, label), serverInfo };
}

function wholeOf(
  first: Page,
  release: SourceRelease,
  label: string,
  next: (offset: number) => Promise<Page>,
): SourceManifest {
  return {
    ...descriptionOf(first, label),
    pages: pagesFrom(first, release, next, ({ items }) => items.map(entryOf)),
  };
}

async function readState(answer: HttpAnswer, label: string): Promise<z.output<typeof stateSchema>> {
  const path = placeOf(label, '/v1/release');
  try {
    return parse(stateSchema, await readJson(answer, STATE_MAX_BYTES, path), path);
  } catch (error) {
    if (!(error instanceof MirrorError)) throw error;
    const type = answer.headers['content-type'] ?? 'no type';
    throw malformed(`${label} is not a Slipway of this version: ${error.message} (content type: ${type})`);
  }
}

function stateOf(
  { attestation, cdn_host: cdnHost }: z.output<typeof stateSchema>,
  tag: string | null,
  label: string,
): SourceState {
  if (attestation === null) {
    throw new MirrorError('origin_unattested', `${label} has no attestation yet`, { retryable: true });
  }
  return { envelope: Buffer.from(JSON.stringify(attestation)), tag, cdnHost };
}

function headerOf({ header }: Page, label: string): ManifestHeader {
  const problem = header === undefined ? 'it is missing' : headerProblem(header);
  if (problem !== null) throw malformed(`${placeOf(label, '/v1/distribution')}: header: ${problem}`);
  return header as unknown as ManifestHeader;
}

/** The pages that follow each other, of a manifest or of the difference from a snapshot. */
async function* pagesFrom<Item>(
  first: Page,
  of: WantedPages,
  next: (offset: number) => Promise<Page>,
  itemsOf: (page: Page) => readonly Item[],
): AsyncGenerator<readonly Item[], void> {
  let page = first;
  for (let offset = 0; ;) {
    const problem = pageProblem(page, of, offset);
    if (problem !== null) {
      throw new MirrorError('origin_pages_mixed', `the page at ${offset} of the manifest ${problem}`);
    }
    const items = itemsOf(page);
    yield items;
    offset += items.length;
    if (page.next_offset === null) return;
    page = await next(offset);
  }
}

interface WantedPages extends SourceRelease {
  readonly since?: SnapshotId;
}

function pageProblem(page: Page, { channel, attested, since }: WantedPages, offset: number): string | null {
  if (page.release_id !== attested.release_id || page.channel !== channel) {
    return `is of ${page.channel} release ${page.release_id}, not of ${channel} release ${attested.release_id}`;
  }
  if (page.snapshot_id !== attested.snapshot_id) {
    return `is of snapshot ${page.snapshot_id}, not of ${attested.snapshot_id}`;
  }
  if (page.since !== since) {
    return `is ${page.since === undefined ? 'of the whole manifest' : `a difference from ${page.since}`}, not ${
      since === undefined ? 'of the whole manifest' : `a difference from ${since}`
    }`;
  }
  if (page.offset !== offset) return `begins at ${page.offset}`;
  const count = page.items.length + page.removed.length;
  const end = offset + count;
  if (page.next_offset === null) {
    return end === page.total ? null : `is the last, and ${page.total - end} entries are left out`;
  }
  return page.next_offset === end && count > 0 ? null : `continues at ${page.next_offset}`;
}

function changesOf({ items, removed }: Page): readonly ManifestChange[] {
  const changed = items.map(entryOf).map((entry) => ({ destination: entry.destination, entry }));
  const gone = removed.map((text) => ({ destination: destinationOf(text), entry: null }));
  return [...changed, ...gone].sort((left, right) =>
    compareDestinations(left.destination, right.destination),
  );
}

function destinationOf(text: string): Destination {
  const parsed = parseDestination(text);
  if (!parsed.ok) throw malformed(`a removed destination is not valid: ${parsed.error}`);
  return parsed.value;
}

function entryOf(fields: Readonly<Record<string, unknown>>): ManifestEntry {
  const problem = entryProblem(fields);
  if (problem !== null) throw malformed(`an entry of the manifest is not valid: ${problem}`);
  return fields as unknown as ManifestEntry;
}

function parse<T>(schema: z.ZodType<T>, value: unknown, label: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw malformed(`${label}: ${issue === undefined ? 'invalid' : [...issue.path, issue.message].join(': ')}`);
}

async function readJson(answer: HttpAnswer, maxBytes: number, label: string): Promise<unknown> {
  const tooLarge = (): MirrorError => malformed(`${label} sent an answer of more than ${maxBytes} bytes`);
  const received = await collectBounded(answer.chunks(), maxBytes, tooLarge);
  const isCompressed = answer.headers['content-encoding'] === PAGE_CODING;
  const bytes = isCompressed ? await decompress(received, maxBytes, label) : received;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    scanJsonStructure(text, STRUCTURE);
    // No number here is beyond 2^53, and looking for one would take most of the time: digests have as many digits.
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw malformed(
      error instanceof JsonError
        ? `${label} sent an answer that cannot be used: ${error.message}`
        : `${label} sent an answer that is not JSON`,
    );
  }
}

/** The bytes behind a compressed answer, which may be no more than an answer that is not compressed. */
async function decompress(bytes: Buffer, maxBytes: number, label: string): Promise<Buffer> {
  try {
    return await unpack(bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    throw malformed(`${label} sent an answer that cannot be decompressed: ${messageOf(error)}`);
  }
}

function malformed(message: string): MirrorError {
  return new MirrorError('origin_malformed', message);
}
