import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { signStatement } from '../../../src/attestation/sign.ts';
import { snapshotIdOf, type Blake3Hex, type SnapshotId } from '../../../src/domain/release/digest.ts';
import { compareDestinations } from '../../../src/domain/release/destination.ts';
import type { ManifestChange } from '../../../src/domain/release/manifest.ts';
import type { AttestationStatement, AttestedRelease } from '../../../src/domain/verdict/attestation.ts';
import {
  acceptOrigin,
  NO_ORIGIN_MEMORY,
  type AcceptedOrigin,
  type OriginMemory,
} from '../../../src/mirror/accept-origin.ts';
import type { AttestedSource, SourceRelease } from '../../../src/mirror/attested-source.ts';
import { MirrorError } from '../../../src/mirror/mirror-error.ts';
import { readManifest } from '../../../src/mirror/read-manifest.ts';
import { createSlipwaySource, type SendHttp } from '../../../src/mirror/slipway-source.ts';
import {
  createKeyPair,
  SAMPLE_MANIFEST_SHA256,
  sampleRelease,
  sampleStatement,
} from '../../support/attestations.ts';
import { startTestServer, type TestServer } from '../../support/start-test-server.ts';
import { until } from '../../support/until.ts';

const DOCUMENT = '{"ConnectionGroups":[{"Name":"ä\\u00e4"}]}\n';
const now = (): number => Math.floor(Date.now() / 1000);
const SIGNAL = new AbortController().signal;

/** More entries than a page holds. */
function manyFiles(tag: string): Record<string, string> {
  return Object.fromEntries(Array.from({ length: 1201 }, (_, at) => [`files/${at}-ü.bin`, `${tag} ${at}`]));
}

const send: SendHttp = async ({ url, headers, accept }, signal) => {
  const asked = httpRequest(url, { headers, signal, agent: false });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  const status = answer.statusCode ?? 0;
  if (!accept.includes(status)) throw new Error(`${url} answered ${status}`);
  return { status, headers: answer.headers, chunks: () => answer, discard: () => answer.resume() };
};

interface Origin extends TestServer {
  readonly official: AttestedRelease;
  readonly release: SourceRelease;
  readonly source: AttestedSource;
}

async function startOrigin(sender = send): Promise<Origin> {
  const server = await startTestServer({ refresh: false });
  const files = manyFiles('one');
  const official = await server.store.addRelease({ releaseId: 'r1', files, document: DOCUMENT });
  server.daemon.setEnvelope(server.store.attest({ version: 1, issuedAt: now(), official }));
  server.parts.room.refresher.start();
  await until(() => server.parts.room.serving.verdict('official').distributable, 10_000);
  const source = createSlipwaySource({ url: server.url, label: 'origin', send: sender });
  return { ...server, official, release: { channel: 'official', attested: official }, source };
}

/** Reads a whole manifest and counts its entries. */
async function readAll(source: AttestedSource, release: SourceRelease): Promise<number> {
  let entries = 0;
  for await (const page of readManifest(await source.manifest(release, SIGNAL), release))
    entries += page.length;
  return entries;
}

/** The code of the refusal of a manifest. */
async function refusal(source: AttestedSource, release: SourceRelease): Promise<string> {
  try {
    return `read ${await readAll(source, release)}`;
  } catch (error) {
    if (error instanceof MirrorError) return error.code;
    throw error;
  }
}

/** Changes the pages of the manifest on their way. */
function lying(change: (page: Record<string, unknown>, offset: number) => void): SendHttp {
  return async (request, signal) => {
    const { 'accept-encoding': _coding, ...headers } = request.headers ?? {};
    const answer = await send({ ...request, headers }, signal);
    if (!request.url.includes('/v1/distribution')) return answer;
    const pieces: Uint8Array[] = [];
    for await (const piece of answer.chunks()) pieces.push(piece);
    const page = JSON.parse(Buffer.concat(pieces).toString()) as Record<string, unknown>;
    change(page, Number(new URL(request.url).searchParams.get('offset')));
    const body = Buffer.from(JSON.stringify(page));
    return {
      ...answer,
      async *chunks() {
        yield body;
      },
    };
  };
}

describe('a Slipway as a source', () => {
  it('gives its attestation as signed, and an unchanged one in a small answer', async () => {
    const { source, store, official } = await startOrigin();
    const state = await source.current(null, SIGNAL);
    expect(state?.cdnHost).toBe('prod-clientpatch.bluearchiveyostar.com');
    const accepted = acceptOrigin(
      state?.envelope ?? Buffer.alloc(0),
      store.trustedKeys,
      NO_ORIGIN_MEMORY,
      Date.now(),
    );
    expect(accepted.ok && accepted.value.verified.statement.official).toMatchObject(official);
    expect(await source.current(state?.tag ?? null, SIGNAL)).toBeNull();
  });

  it('reports a new attestation although the release stays', async () => {
    const { source, store, daemon, official, parts } = await startOrigin();
    const state = await source.current(null, SIGNAL);
    daemon.setEnvelope(store.attest({ version: 2, issuedAt: now(), official }));
    await until(() => parts.room.serving.attestation()?.statement.version === 2, 5_000);
    expect(await source.current(state?.tag ?? null, SIGNAL)).not.toBeNull();
  });

  it('describes a release in pages that rebuild its manifest, with its document', async () => {
    const { source, release } = await startOrigin();
    const manifest = await source.manifest(release, SIGNAL);
    expect(manifest.serverInfo?.toString()).toBe(DOCUMENT);
    expect(await readAll(source, release)).toBe(1201);
  });

  it('tells what differs from a snapshot that it still has, page by page, and otherwise gives all entries', async () => {
    const origin = await startOrigin();
    const { store, daemon, parts, official } = origin;
    const changed = Object.fromEntries(
      Object.entries(manyFiles('one')).map(([name], at) => [name, at % 2 === 0 ? 'other' : `one ${at}`]),
    );
    // More changes than a page holds, and fewer than entries.
    for (let at = 0; at < 900; at += 1) changed[`more/${at}`] = 'more';
    const next = await store.addRelease({ releaseId: 'r2', files: changed, document: DOCUMENT });
    const retained = [{ ...official, channel: 'official' as const, retained_until: now() + 3600 }];
    daemon.setEnvelope(store.attest({ version: 2, issuedAt: now(), official: next, retained }));
    await until(() => parts.room.serving.state().byReleaseId.size === 2, 10_000);
    const release: SourceRelease = { channel: 'official', attested: next };
    const ask = async (source: AttestedSource, since: SnapshotId): Promise<readonly ManifestChange[]> => {
      const answer = await source.difference?.(release, since, SIGNAL);
      if (answer === undefined || !('changes' in answer)) throw new Error('the whole manifest');
      expect(answer.serverInfo?.toString()).toBe(DOCUMENT);
      const changes: ManifestChange[] = [];
      for await (const page of answer.changes) changes.push(...page);
      return changes;
    };
    const { source } = origin;
    const changes = await ask(source, official.snapshot_id);
    expect(changes).toHaveLength(601 + 900);
    expect(changes.map(({ destination }) => destination)).toEqual(
      changes.map(({ destination }) => destination).toSorted(compareDestinations),
    );
    expect(await ask(source, next.snapshot_id)).toEqual([]);
    const unknown = snapshotIdOf('0'.repeat(64) as Blake3Hex);
    await expect(ask(source, unknown)).rejects.toThrow('the whole manifest');

    const through = (change: Parameters<typeof lying>[0]): AttestedSource =>
      createSlipwaySource({ url: origin.url, label: 'origin', send: lying(change) });
    const lies: Record<string, Parameters<typeof lying>[0]> = {
      origin_pages_mixed: (page, offset) => {
        if (offset > 0) delete page['since'];
      },
      origin_malformed: (page) => {
        (page['items'] as object[]).pop();
        page['removed'] = ['../a'];
      },
    };
    for (const [code, change] of Object.entries(lies)) {
      await expect(ask(through(change), official.snapshot_id)).rejects.toMatchObject({ code });
    }
    const other = through((page) => {
      page['since'] = unknown;
    });
    await expect(ask(other, official.snapshot_id)).rejects.toMatchObject({ code: 'origin_pages_mixed' });
  });

  it('is refused when an entry, the header or the document is another one than signed', async () => {
    const { url, release } = await startOrigin();
    const through = (change: Parameters<typeof lying>[0]): AttestedSource =>
      createSlipwaySource({ url, label: 'origin', send: lying(change) });
    const changed = through((page, offset) => {
      const [entry] = page['items'] as Record<string, unknown>[];
      if (offset > 0 && entry !== undefined) entry['blake3'] = 'a'.repeat(64);
    });
    expect(await refusal(changed, release)).toBe('origin_manifest_differs');
    const smaller = through((page) => {
      Object.assign(page['header'] as object, { entry_count: 3 });
    });
    expect(await refusal(smaller, release)).toBe('origin_manifest_differs');
    const versioned = through((page) => {
      if (page['header'] !== undefined) Object.assign(page['header'] as object, { app_version: '9' });
    });
    expect(await refusal(versioned, release)).toBe('origin_manifest_differs');
    const other = through((page) => {
      page['server_info'] = '{}';
    });
    expect(await refusal(other, release)).toBe('origin_document_differs');
  });

  it('is refused when its pages are of two releases or leave entries out', async () => {
    const { url, release } = await startOrigin();
    const through = (change: Parameters<typeof lying>[0]): AttestedSource =>
      createSlipwaySource({ url, label: 'origin', send: lying(change) });
    const mixed = through((page, offset) => {
      if (offset > 0) page['snapshot_id'] = `blake3:${'b'.repeat(64)}`;
    });
    expect(await refusal(mixed, release)).toBe('origin_pages_mixed');
    const short = through((page) => {
      page['next_offset'] = null;
    });
    expect(await refusal(short, release)).toBe('origin_pages_mixed');
    const skipping = through((page) => {
      page['items'] = (page['items'] as unknown[]).slice(1);
    });
    expect(await refusal(skipping, release)).toBe('origin_pages_mixed');
  });

  it('asks for compressed pages, and refuses one that is larger than a page or not compressed at all', async () => {
    const { url, release } = await startOrigin();
    const codings: unknown[] = [];
    let body: Uint8Array | null = null;
    const source = createSlipwaySource({
      url,
      label: 'origin',
      send: async (request, signal) => {
        const answer = await send(request, signal);
        if (!request.url.includes('/v1/distribution')) return answer;
        codings.push(answer.headers['content-encoding']);
        const changed = body;
        if (changed === null) return answer;
        answer.discard();
        return {
          ...answer,
          async *chunks() {
            yield changed;
          },
        };
      },
    });
    expect(await readAll(source, release)).toBe(1201);
    expect(codings).toEqual(['zstd', 'zstd']);
    body = zstdCompressSync(Buffer.alloc(64 * 1024 * 1024));
    expect(await refusal(source, release)).toBe('origin_malformed');
    body = Buffer.from('{}');
    expect(await refusal(source, release)).toBe('origin_malformed');
  });

  const nested = '['.repeat(4_000_000);
  const crowded = `{"items":[${'{},'.repeat(1_300_000)}{}]}`;
  const document = { blake3: sampleRelease('r1', 'a').snapshot_id.slice('blake3:'.length), size: 100 };
  it.each([
    ['nests millions of arrays', nested, null, /nests deeper than 16 levels/],
    ['has millions of objects', crowded, null, /has more than \d+ values/],
    ['is longer than its entries can be', ' '.repeat(5_000_000), null, /cannot be decompressed/],
    ['is longer than its entries and the signed document', ' '.repeat(5_000_000), document, /decompressed/],
  ] as const)('refuses a small compressed page that %s', async (_what, text, serverInfo, message) => {
    const body = zstdCompressSync(Buffer.from(text));
    expect(body.length).toBeLessThan(4096);
    const source = createSlipwaySource({
      url: 'http://origin.example',
      label: 'origin',
      send: async () =>
        await Promise.resolve({
          status: 200,
          headers: { 'content-encoding': 'zstd' },
          async *chunks() {
            yield body;
          },
          discard: () => undefined,
        }),
    });
    const attested = { ...sampleRelease('r1', 'a'), server_info: serverInfo } as AttestedRelease;
    const asked = source.manifest({ channel: 'official', attested }, SIGNAL);
    await expect(asked).rejects.toMatchObject({
      code: 'origin_malformed',
      message: expect.stringMatching(message) as string,
    });
  });

  it('says so when the origin does not have the release', async () => {
    const { source, official, daemon } = await startOrigin();
    daemon.setReport('release.list', {
      report: 'release.list',
      generated_at: 1,
      daemon: {},
      total: 0,
      releases: [],
    });
    const unknown = { ...official, release_id: 'r9' as AttestedRelease['release_id'] };
    expect(await refusal(source, { channel: 'official', attested: unknown })).toBe(
      'origin_not_distributable',
    );
  });
});

const KEY = createKeyPair();
const OTHER = createKeyPair();
const ISSUED = sampleStatement().issued_at;
const NOW_MS = (ISSUED + 10) * 1000;

function envelope(changes: Partial<AttestationStatement> = {}, key = KEY): Buffer {
  return signStatement(sampleStatement(changes), [key.signing], SAMPLE_MANIFEST_SHA256);
}

/** A reader that accepted these, the last one last. */
function remembering(...accepted: readonly AcceptedOrigin[]): OriginMemory {
  return {
    of: (storeId) => accepted.findLast((one) => one.storeId === storeId) ?? null,
    last: () => accepted.at(-1) ?? null,
  };
}

/** The memory of one envelope. */
function accepted(bytes: Buffer): AcceptedOrigin {
  const result = acceptOrigin(bytes, [KEY.trusted], NO_ORIGIN_MEMORY, NOW_MS);
  if (!result.ok) throw result.error;
  const { statement, payloadSha256 } = result.value.verified;
  return {
    storeId: statement.store_id,
    version: statement.version,
    issuedAt: statement.issued_at,
    payloadSha256,
  };
}

function verdict(bytes: Buffer, memory = NO_ORIGIN_MEMORY, nowMs = NOW_MS): string | boolean {
  const result = acceptOrigin(bytes, [KEY.trusted], memory, nowMs);
  return result.ok ? result.value.isNew : result.error.code;
}

describe('acceptOrigin', () => {
  it('accepts what a trusted key signed, and knows it again', () => {
    expect(verdict(envelope())).toBe(true);
    expect(verdict(envelope(), remembering(accepted(envelope())))).toBe(false);
  });

  it('refuses another key, a changed payload and no envelope', () => {
    expect(verdict(envelope({}, OTHER))).toBe('origin_untrusted');
    expect(verdict(Buffer.from(envelope().toString().replace('"payload":"ey', '"payload":"eX')))).toBe(
      'origin_untrusted',
    );
    expect(verdict(Buffer.from('{}'))).toBe('origin_untrusted');
  });

  it('refuses an older version of a store for good', () => {
    const memory = remembering(accepted(envelope({ version: 7 })));
    expect(verdict(envelope({ version: 8 }), memory)).toBe(true);
    expect(verdict(envelope({ version: 6 }), memory)).toBe('origin_rolled_back');
  });

  it('refuses a second attestation of one version', () => {
    const memory = remembering(accepted(envelope({ version: 7 })));
    expect(verdict(envelope({ version: 7, localized: null }), memory)).toBe('origin_forked');
  });

  it('follows an origin that was rebuilt, and not back to the store before', () => {
    const before = accepted(envelope({ version: 900 }));
    const rebuilt = envelope({ version: 1, store_id: 'rebuilt', issued_at: ISSUED + 1 });
    expect(verdict(rebuilt, remembering(before))).toBe(true);
    const after = remembering(before, accepted(rebuilt));
    expect(verdict(envelope({ version: 900 }), after)).toBe('origin_rolled_back');
    expect(verdict(envelope({ version: 1, store_id: 'third' }), after)).toBe('origin_rolled_back');
  });

  it('refuses an attestation that is not valid now', () => {
    const { expires_at: expires } = sampleStatement();
    expect(verdict(envelope(), NO_ORIGIN_MEMORY, expires * 1000 - 1)).toBe(true);
    expect(verdict(envelope(), NO_ORIGIN_MEMORY, expires * 1000)).toBe('origin_expired');
    expect(verdict(envelope(), NO_ORIGIN_MEMORY, (ISSUED - 60) * 1000)).toBe(true);
    expect(verdict(envelope(), NO_ORIGIN_MEMORY, (ISSUED - 60) * 1000 - 1)).toBe('origin_in_future');
  });

  it('accepts one that expired while it was carried, but none that is older or from the future', () => {
    const { expires_at: expires } = sampleStatement();
    const carried = (nowMs: number, memory = NO_ORIGIN_MEMORY): string | boolean => {
      const result = acceptOrigin(envelope(), [KEY.trusted], memory, nowMs, { mayBeExpired: true });
      return result.ok ? result.value.isNew : result.error.code;
    };
    expect(carried((expires + 86_400 * 90) * 1000)).toBe(true);
    expect(carried((ISSUED - 60) * 1000 - 1)).toBe('origin_in_future');
    const newer = { ...accepted(envelope()), version: 1_000_000 };
    expect(carried((expires + 86_400 * 90) * 1000, remembering(newer))).toBe('origin_rolled_back');
  });
});
