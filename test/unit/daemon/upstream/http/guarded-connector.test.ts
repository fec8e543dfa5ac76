import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent, request } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createGuardedConnector } from '../../../../../src/daemon/upstream/http/guarded-connector.ts';
import { createPrivateAddressCheck } from '../../../../../src/daemon/upstream/private-addresses.ts';
import type { UpstreamEntry } from '../../../../../src/daemon/upstream/upstream.ts';
import { parseEntryDestination } from '../../../../../src/daemon/upstream/entry-rules.ts';
import { serverInfoDocument } from '../../../../support/generate-release.ts';
import type { UpstreamServer } from '../../../../support/upstream-server.ts';
import { adapterFor, configure, freeSignal, readBody, serve, upstreamErrorOf } from '../upstream-harness.ts';

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

function adapterOf(upstream: UpstreamServer, more: object = {}): ReturnType<typeof adapterFor> {
  return adapterFor({
    kind: 'manifest',
    manifest: { url: upstream.url, allowOtherOrigins: true },
    ...more,
  });
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
    const server = createServer((_request, response) => response.end('here'));
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
