import { describe, expect, onTestFinished, test } from 'vitest';
import { createServer } from 'node:net';
import type { UpstreamErrorCode } from '../../../../../src/daemon/upstream/upstream.ts';
import type { UpstreamFault } from '../../../../support/upstream-faults.ts';
import { createUpstreamHttpClient } from '../../../../../src/daemon/upstream/http/http-client.ts';
import {
  parseUpstreamLocation,
  quoteText,
  redactUrl,
} from '../../../../../src/daemon/upstream/upstream-location.ts';
import { createUpstreamAdapter } from '../../../../../src/daemon/upstream/adapters/create-upstream-adapter.ts';
import { systemClock } from '../../../../../src/platform/process/clock.ts';
import { adapterFor, configure, freeSignal, readBody, serve, upstreamErrorOf } from '../upstream-harness.ts';
import { parseEntryDestination } from '../../../../../src/daemon/upstream/entry-rules.ts';
import type { UpstreamEntry } from '../../../../../src/daemon/upstream/upstream.ts';

const BYTES = Buffer.alloc(300_000, 'abcdefg');
const FAST = { headersTimeoutMs: 200, connectTimeoutMs: 1000, stallTimeoutMs: 150 };

function entryAt(url: string, size: number | null = BYTES.length): UpstreamEntry {
  return { destination: parseEntryDestination('file', 'test'), size, digests: {}, locator: url };
}

async function failureOf(fault: UpstreamFault, more: object = {}): ReturnType<typeof upstreamErrorOf> {
  const server = await serve({ files: new Map([['file', BYTES]]), faults: { file: [fault] } });
  const adapter = adapterFor({ kind: 'manifest', manifest: { url: server.url }, ...FAST, ...more });
  return upstreamErrorOf(readBody(adapter, entryAt(`${server.url}/file`)));
}

describe('failures over HTTP', () => {
  test.each<[UpstreamFault, UpstreamErrorCode, boolean, number | null]>([
    [{ kind: 'status', status: 404 }, 'upstream_not_found', false, null],
    [{ kind: 'status', status: 410 }, 'upstream_not_found', false, null],
    [{ kind: 'status', status: 429, retryAfter: '7' }, 'upstream_throttled', true, 7000],
    [{ kind: 'status', status: 503, retryAfter: '9999' }, 'upstream_throttled', true, 300_000],
    [{ kind: 'status', status: 503 }, 'upstream_throttled', true, null],
    [{ kind: 'status', status: 500 }, 'upstream_status', true, null],
    [{ kind: 'status', status: 502 }, 'upstream_status', true, null],
    [{ kind: 'status', status: 408 }, 'upstream_timeout', true, null],
    [{ kind: 'status', status: 403 }, 'upstream_closed', false, null],
    [{ kind: 'status', status: 304 }, 'upstream_status', false, null],
    [{ kind: 'truncate', afterBytes: 1000 }, 'upstream_truncated', true, null],
    [{ kind: 'stall', afterBytes: 1000 }, 'upstream_timeout', true, null],
    [{ kind: 'stall', afterBytes: 0 }, 'upstream_timeout', true, null],
    [{ kind: 'reset', afterBytes: 1000 }, 'upstream_unreachable', true, null],
    [{ kind: 'content-encoding', value: 'gzip' }, 'upstream_status', false, null],
    [{ kind: 'redirect', location: 'ftp://127.0.0.1/x' }, 'upstream_status', false, null],
    [{ kind: 'redirect', location: 'http://127.0.0.2:1/x' }, 'upstream_status', false, null],
    [{ kind: 'redirect', location: '/file', times: 9 }, 'upstream_status', false, null],
  ])('%j', async (fault, code, retryable, retryAfterMs) => {
    expect(await failureOf(fault)).toMatchObject({ code, retryable, retryAfterMs });
  });

  test('a body that only drips counts as stalled, one that is merely slow does not', async () => {
    const drip: UpstreamFault = { kind: 'drip', bytes: 10, intervalMs: 20 };
    expect((await failureOf(drip, { minimumBytesPerSecond: 100_000 })).code).toBe('upstream_timeout');
    const server = await serve({
      files: new Map([['file', BYTES.subarray(0, 300)]]),
      faults: { file: [drip] },
    });
    const adapter = adapterFor({
      kind: 'manifest',
      manifest: { url: server.url },
      ...FAST,
      minimumBytesPerSecond: 1,
    });
    expect(await readBody(adapter, entryAt(`${server.url}/file`))).toHaveLength(300);
  });

  test('no listener', async () => {
    const server = await serve({});
    const adapter = adapterFor({ kind: 'manifest', manifest: { url: server.url } });
    await server.close();
    expect(await upstreamErrorOf(readBody(adapter, entryAt(`${server.url}/file`)))).toMatchObject({
      code: 'upstream_unreachable',
      retryable: true,
    });
  });

  test('a server that accepts and never answers', async () => {
    const silent = createServer((socket) => socket.on('error', () => undefined));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as { port: number };
    // The client checks its timers about twice a second.
    const adapter = adapterFor({ kind: 'manifest', manifest: { url: `http://127.0.0.1:${port}` }, ...FAST });
    const error = await upstreamErrorOf(readBody(adapter, entryAt(`http://127.0.0.1:${port}/file`)));
    expect(error).toMatchObject({ code: 'upstream_timeout', retryable: true });
    await adapter.close();
    silent.close();
  });

  test('follows redirects within the origin', async () => {
    const server = await serve({
      files: new Map([['file', BYTES]]),
      faults: {
        one: [{ kind: 'redirect', location: '/two', status: 301 }],
        two: [{ kind: 'redirect', location: 'file', status: 307 }],
      },
    });
    const adapter = adapterFor({ kind: 'manifest', manifest: { url: server.url } });
    expect(await readBody(adapter, entryAt(`${server.url}/one`))).toEqual(BYTES);
  });

  test('an abort rejects with its own reason, also in the middle of a body', async () => {
    const server = await serve({
      files: new Map([['file', BYTES]]),
      faults: { file: [{ kind: 'stall', afterBytes: 1000 }] },
    });
    const adapter = adapterFor({ kind: 'manifest', manifest: { url: server.url } });
    const controller = new AbortController();
    const body = await adapter.open(
      entryAt(`${server.url}/file`),
      { start: 0, validator: null },
      controller.signal,
    );
    const iterator = body.chunks[Symbol.asyncIterator]();
    await iterator.next();
    const next = iterator.next();
    const reason = new Error('cancelled by an operator');
    controller.abort(reason);
    await expect(next).rejects.toBe(reason);
  });

  test('requests no coding, and a range only together with If-Range', async () => {
    const server = await serve({ files: new Map([['file', BYTES]]) });
    const adapter = adapterFor({ kind: 'manifest', manifest: { url: server.url } });
    const entry = entryAt(`${server.url}/file`);
    const whole = await adapter.open(entry, { start: 5, validator: null }, freeSignal());
    expect(whole.start).toBe(0);
    for await (const chunk of whole.chunks) if (chunk.length > 0) break;
    expect(server.requests[0]?.headers['range']).toBeUndefined();
    expect(server.requests[0]?.headers['accept-encoding']).toBe('identity');
    const part = await adapter.open(entry, { start: 299_990, validator: whole.validator }, freeSignal());
    expect(part.start).toBe(299_990);
    for await (const chunk of part.chunks) expect(chunk).toEqual(BYTES.subarray(299_990));
  });

  test('takes the coding that a request asks for, and no other one', async () => {
    const fault = { kind: 'content-encoding', value: 'zstd' } as const;
    const server = await serve({ files: new Map([['file', BYTES]]), faults: { file: [fault, fault] } });
    const configuration = configure({ kind: 'manifest', manifest: { url: server.url } });
    const client = createUpstreamHttpClient({
      configuration,
      location: parseUpstreamLocation(server.url),
      allowOtherOrigins: false,
      clock: systemClock,
    });
    onTestFinished(async () => await client.close());
    const ask = async (coding: string): Promise<number> => {
      const headers = { 'accept-encoding': coding };
      const request = { method: 'GET', url: `${server.url}/file`, headers, accept: [200] } as const;
      const answer = await client.send(request, freeSignal());
      answer.discard();
      return answer.status;
    };
    expect(await ask('zstd')).toBe(200);
    expect((await upstreamErrorOf(ask('gzip'))).message).toContain('although gzip was requested');
  });
});

describe('small rules', () => {
  test('redactUrl and quoteText', () => {
    expect(redactUrl('https://u:p@host:1/a/b?token=1#x')).toBe('https://host:1/a/b?…');
    expect(redactUrl(`https://host/${'a'.repeat(999)}`)).toHaveLength(300);
    expect(redactUrl('nonsense')).toBe('(not a URL)');
    expect(quoteText('a"\n\u001b\u202e\ud800')).toBe('"a\\"\\n\\u001b\\u202e\ufffd"');
    expect(quoteText('x'.repeat(999))).toHaveLength(202);
  });

  test('reports an upstream that is not configured', async () => {
    const adapter = createUpstreamAdapter(configure({}), { clock: systemClock });
    expect(await adapter.probe(freeSignal())).toMatchObject({ ok: false });
    const error = await upstreamErrorOf(adapter.fetchCatalog(null, freeSignal()));
    expect(error.message).toContain('upstream.kind');
  });
});
