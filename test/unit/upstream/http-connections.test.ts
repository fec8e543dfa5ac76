import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { Agent, request } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parseEntryDestination } from '../../../src/upstream/entry-rules.ts';
import { createGuardedConnector } from '../../../src/upstream/http/guarded-connector.ts';
import { createUpstreamHttpClient } from '../../../src/upstream/http/http-client.ts';
import { createPrivateAddressCheck } from '../../../src/upstream/private-addresses.ts';
import { parseUpstreamLocation, quoteText, redactUrl } from '../../../src/upstream/upstream-location.ts';
import type { UpstreamEntry, UpstreamErrorCode } from '../../../src/upstream/upstream.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import { serverInfoDocument } from '../../support/generate-release.ts';
import type { UpstreamFault } from '../../support/upstream-faults.ts';
import {
  adapterFor,
  configure,
  freeSignal,
  readBody,
  serve,
  upstreamErrorOf,
} from '../../support/upstream-harness.ts';
import type { UpstreamServer } from '../../support/upstream-server.ts';

function adapterOf(upstream: UpstreamServer, more: object = {}): ReturnType<typeof adapterFor> {
  return adapterFor({
    kind: 'manifest',
    manifest: { url: upstream.url, allowOtherOrigins: true },
    ...more,
  });
}

describe('guarded connections', () => {
  const BYTES = Buffer.from('bytes of a neighbour in the network');

  function entryAt(url: string): UpstreamEntry {
    return {
      destination: parseEntryDestination('file', 'test'),
      size: BYTES.length,
      digests: {},
      locator: url,
    };
  }

  /** A configured upstream, and another server in the operator's network. */
  async function serveTwo(): Promise<{ upstream: UpstreamServer; neighbour: UpstreamServer }> {
    return { upstream: await serve({}), neighbour: await serve({ files: new Map([['file', BYTES]]) }) };
  }

  describe('private addresses', () => {
    test.each([
      ['0.0.0.0', true],
      ['10.1.2.3', true],
      ['100.64.0.1', true],
      ['127.9.9.9', true],
      ['169.254.169.254', true],
      ['172.16.0.1', true],
      ['172.32.0.1', false],
      ['192.168.1.1', true],
      ['255.255.255.255', true],
      ['8.8.8.8', false],
      ['::', true],
      ['::1', true],
      ['::127.0.0.1', true],
      ['::808:808', true],
      ['::ffff:0:127.0.0.1', true],
      ['2001::1', true],
      ['2001:0:7f00:1::', true],
      ['fd12::1', true],
      ['fe80::1', true],
      ['fe80::1%eth0', true],
      ['ff02::1', true],
      ['::ffff:10.1.2.3', true],
      ['::ffff:7f00:1', true],
      ['::ffff:8.8.8.8', false],
      ['64:ff9b::a01:203', true],
      ['64:ff9b::169.254.169.254', true],
      ['64:ff9b::8.8.8.8', false],
      ['2002:a01:203::1', true],
      ['2001:4860:4860::8888', false],
    ])('%s: %s', (address, expected) => {
      expect(createPrivateAddressCheck([])(address)).toBe(expected);
    });

    test('are allowed by the ranges of the operator alone', () => {
      const isPrivateAddress = createPrivateAddressCheck(['10.1.0.0/16', 'fd00::/8']);
      expect(isPrivateAddress('10.1.2.3')).toBe(false);
      expect(isPrivateAddress('10.2.2.3')).toBe(true);
      expect(isPrivateAddress('fd00::7')).toBe(false);
    });

    test.each(['10.0.0.0', '10.0.0.0/33', 'example.org/8', '10.0.0.0/-1', 'fd00::/129', ''])(
      'the range %j is refused',
      (range) => {
        const section = { kind: 'manifest', manifest: { url: 'http://127.0.0.1' } };
        expect(() => configure({ ...section, allowedPrivateRanges: [range] })).toThrow('address range');
      },
    );
  });

  describe('an upstream that sends the daemon to other origins', () => {
    test('cannot send it to a private address with a redirect', async () => {
      const { upstream, neighbour } = await serveTwo();
      const targets = [
        neighbour.url,
        neighbour.url.replace('127.0.0.1', 'localhost'),
        neighbour.url.replace('127.0.0.1', '[::ffff:127.0.0.1]'),
        neighbour.url.replace('127.0.0.1', '0x7f.1'),
        neighbour.url.replace('127.0.0.1', '0.0.0.0'),
        'http://169.254.169.254',
        'http://[fe80::1]',
      ];
      for (const target of targets) {
        upstream.addFaults('file', { kind: 'redirect', location: `${target}/file` });
        const error = await upstreamErrorOf(readBody(adapterOf(upstream), entryAt(`${upstream.url}/file`)));
        expect(error).toMatchObject({ code: 'upstream_address_refused', retryable: false });
        expect(error.message).toContain('upstream.allowedPrivateRanges');
      }
      expect(neighbour.requests).toEqual([]);
    });

    test('cannot send it to a private address with a URL in a catalog', async () => {
      const { upstream, neighbour } = await serveTwo();
      const error = await upstreamErrorOf(readBody(adapterOf(upstream), entryAt(`${neighbour.url}/file`)));
      expect(error.code).toBe('upstream_address_refused');
      expect(neighbour.requests).toEqual([]);
    });

    test.each([{}, { allowOtherOrigins: false }, { allowOtherOrigins: true }])(
      'cannot send it to a private address with the root in a server-info document: %j',
      async (settings) => {
        const { upstream, neighbour } = await serveTwo();
        const { port } = new URL(neighbour.url);
        for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '0.0.0.0']) {
          upstream.files.set('info.json', Buffer.from(serverInfoDocument(`http://${host}:${port}/r90_x`)));
          const adapter = adapterFor({
            kind: 'server-info',
            serverInfo: { url: `${upstream.url}/info.json`, ...settings },
          });
          const error = await upstreamErrorOf(adapter.fetchCatalog(null, freeSignal()));
          expect(error).toMatchObject({ code: 'upstream_address_refused', retryable: false });
          expect(error.message).toContain('upstream.allowedPrivateRanges');
        }
        expect(neighbour.requests).toEqual([]);
      },
    );

    test('may name a root at a private address that the operator lists', async () => {
      const { upstream, neighbour } = await serveTwo();
      upstream.files.set('info.json', Buffer.from(serverInfoDocument(`${neighbour.url}/r90_x`)));
      const adapter = adapterFor({
        kind: 'server-info',
        allowedPrivateRanges: ['127.0.0.1/32'],
        serverInfo: { url: `${upstream.url}/info.json` },
      });
      const error = await upstreamErrorOf(adapter.fetchCatalog(null, freeSignal()));
      expect(error.code).toBe('upstream_not_found');
      expect(neighbour.requests).not.toEqual([]);
    });

    test('may send it to a private address that the operator lists', async () => {
      const { upstream, neighbour } = await serveTwo();
      for (const target of [neighbour.url, neighbour.url.replace('127.0.0.1', 'localhost')]) {
        upstream.addFaults('file', { kind: 'redirect', location: `${target}/file` });
        const adapter = adapterOf(upstream, { allowedPrivateRanges: ['127.0.0.0/8', '::1/128'] });
        expect(await readBody(adapter, entryAt(`${upstream.url}/file`))).toEqual(BYTES);
      }
    });

    test('cannot do it with a name whose address changes after the first look', async () => {
      const server = createHttpServer((_request, response) => response.end('here'));
      server.listen(0, '127.0.0.2');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const answers: LookupAddress[][] = [
        [{ address: '127.0.0.2', family: 4 }],
        [{ address: '127.0.0.1', family: 4 }],
        [
          { address: '127.0.0.1', family: 4 },
          { address: '127.0.0.2', family: 4 },
        ],
      ];
      const agent = new Agent({
        connect: createGuardedConnector({
          timeoutMs: 2000,
          origin: 'http://configured.invalid',
          allowedRanges: ['127.0.0.2/32'],
          resolve: (_hostname, _options, callback) => callback(null, answers.shift() ?? []),
        }),
        pipelining: 0, // every request makes a connection
      });
      onTestFinished(async () => {
        await agent.destroy();
        server.close();
      });
      const ask = async (): Promise<string> => {
        const { body } = await request(`http://moving.invalid:${port}/`, { dispatcher: agent });
        return await body.text();
      };
      expect(await ask()).toBe('here');
      await expect(ask()).rejects.toMatchObject({ code: 'upstream_address_refused' });
      expect(await ask()).toBe('here');
      await expect(ask()).rejects.toMatchObject({ code: 'upstream_address_refused' });
    });
  });
});

const FAST = { headersTimeoutMs: 200, connectTimeoutMs: 1000, stallTimeoutMs: 150 };

describe('the client of an upstream', () => {
  const BYTES = Buffer.alloc(300_000, 'abcdefg');

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
      [{ kind: 'status', status: 403 }, 'upstream_forbidden', false, null],
      [{ kind: 'status', status: 304, times: 2 }, 'upstream_not_modified', true, null],
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
      const silent = createTcpServer((socket) => socket.on('error', () => undefined));
      await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
      const { port } = silent.address() as { port: number };
      // The client checks its timers about twice a second.
      const adapter = adapterFor({
        kind: 'manifest',
        manifest: { url: `http://127.0.0.1:${port}` },
        ...FAST,
      });
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

    test('requests no coding, and a range only where something tells whether the pieces fit', async () => {
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
  });
});
