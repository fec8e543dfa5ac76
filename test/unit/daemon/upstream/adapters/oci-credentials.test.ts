import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { exportBundle, makeAttestedStore } from '../../../../support/bundles.ts';
import {
  startFakeRegistry,
  startSeeing,
  type FakeRegistry,
  type SeeingServer,
} from '../../../../support/fake-registry.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { adapterFor, freeSignal } from '../upstream-harness.ts';

const BASIC = `Basic ${Buffer.from('reader:secret').toString('base64')}`;
const TOKEN = 'a.token-of_the~registry';
const BEARER = `Bearer ${TOKEN}`;

let registry: FakeRegistry;
let keyFile: string;

beforeEach(async () => {
  const directory = await temporaryDirectory();
  const store = await makeAttestedStore(join(directory, 'origin'));
  await store.release({ releaseId: 'r1', files: { 'a.bin': 'aaa' } });
  const bundle = join(directory, 'r1.tar');
  await exportBundle(store, 'r1', bundle);
  ({ keyFile } = store);
  registry = await startFakeRegistry(bundle);
});

interface Looking {
  readonly user?: string;
  readonly settings?: object;
  readonly common?: object;
}

/** Looks at the registry once and reads the manifest. */
async function look({ user = 'reader:secret@', settings = {}, common = {} }: Looking = {}): Promise<void> {
  const url = registry.url.replace('//', `//${user}`);
  const oci = { url, repository: 'a/b', tags: ['r1'], trustedKeys: [keyFile], ...settings };
  const { attested } = adapterFor({ kind: 'oci', oci, ...common });
  await attested?.source.current(null, freeSignal());
}

/** Makes the registry want a token. */
function wantToken(realm: string, more = ''): void {
  registry.intercept = (request, response) => {
    if (request.url?.startsWith('/token') === true) return giveToken(request, response);
    if (request.headers.authorization === BEARER) return false;
    response.writeHead(401, { 'www-authenticate': `Bearer realm="${realm}",service="x"${more}` }).end();
    return true;
  };
}

function giveToken(_request: IncomingMessage, response: ServerResponse): true {
  response.end(JSON.stringify({ token: TOKEN }));
  return true;
}

const startTokens = async (): Promise<SeeingServer> => await startSeeing(giveToken);

describe('the credentials of a registry', () => {
  it('go to the token service that has the origin of the registry', async () => {
    wantToken(`${registry.url}/token`);
    await look();
    const asked = registry.seen.filter(({ line }) => line.includes('/token'));
    expect(asked).toEqual([
      { line: 'GET /token?service=x&scope=repository%3Aa%2Fb%3Apull', authorization: BASIC },
    ]);
    expect(registry.seen.at(-1)?.authorization).toBe(BEARER);
  });

  it('ask for no other right than to read the repository, whatever the registry proposes', async () => {
    wantToken(`${registry.url}/token?scope=repository:x:push`, ',scope="repository:a/b:pull,push,delete"');
    await look();
    const asked = registry.seen.find(({ line }) => line.includes('/token'));
    expect(asked?.line).toBe('GET /token?scope=repository%3Aa%2Fb%3Apull&service=x');
  });

  it('go to no other token service, and the message says what to set', async () => {
    const other = await startTokens();
    wantToken(`${other.url}/token`);
    const common = { allowedPrivateRanges: ['127.0.0.0/8'] };
    await expect(look({ common })).rejects.toThrow(`set upstream.oci.tokenService to ${other.url}`);
    expect(other.seen).toEqual([]);
  });

  it('go to the token service that is configured', async () => {
    const tokens = await startTokens();
    wantToken(`${tokens.url}/token`);
    await look({ settings: { tokenService: tokens.url } });
    expect(tokens.seen.map(({ authorization }) => authorization)).toEqual([BASIC]);
  });

  it('are not needed at another token service, which then has no private address', async () => {
    const other = await startTokens();
    wantToken(`${other.url}/token`);
    await expect(look({ user: '' })).rejects.toThrow('has the private address');
    expect(other.seen).toEqual([]);
    await look({ user: '', common: { allowedPrivateRanges: ['127.0.0.0/8'] } });
    expect(other.seen.map(({ authorization }) => authorization)).toEqual([undefined]);
  });

  it('do not follow a redirect of the token service', async () => {
    const other = await startTokens();
    wantToken(`${registry.url}/token`);
    const { intercept } = registry;
    registry.intercept = (request, response) => {
      if (request.url?.startsWith('/token') !== true) return intercept(request, response);
      response.writeHead(307, { location: `${other.url}/token` }).end();
      return true;
    };
    await expect(look({ common: { allowedPrivateRanges: ['127.0.0.0/8'] } })).rejects.toThrow('redirects to');
    expect(other.seen).toEqual([]);
  });

  it.each(['with a password', 'with a token'])(
    'stay at the registry when a blob is elsewhere, %s',
    async (way) => {
      const storage = await startSeeing((request, response) => {
        // Back to the registry, on a path of the choice of the storage.
        response.writeHead(307, { location: `${registry.url}${request.url ?? ''}?back` }).end();
      });
      if (way === 'with a token') wantToken(`${registry.url}/token`);
      const { intercept } = registry;
      registry.intercept = (request, response) => {
        const { url = '' } = request;
        if (url.endsWith('?back')) {
          request.url = url.slice(0, -'?back'.length);
          return false;
        }
        if (!url.includes('/blobs/')) return intercept(request, response);
        response.writeHead(307, { location: `${storage.url}${url}` }).end();
        return true;
      };
      await look({ common: { allowedPrivateRanges: ['127.0.0.0/8'] } });
      expect(storage.seen.length).toBeGreaterThan(0);
      const away = [...storage.seen, ...registry.seen.filter(({ line }) => line.endsWith('?back'))];
      expect(away.map(({ authorization }) => authorization)).toEqual(away.map(() => undefined));
    },
  );

  it('are not sent where a storage sends them', async () => {
    const storage = await startSeeing((_request, response) => {
      const challenge = `Bearer realm="${registry.url}/token",service="another"`;
      response.writeHead(401, { 'www-authenticate': challenge }).end();
    });
    registry.intercept = (request, response) => {
      if (request.url?.startsWith('/token') === true) return giveToken(request, response);
      if (request.url?.includes('/blobs/') !== true) return false;
      response.writeHead(307, { location: `${storage.url}${request.url}` }).end();
      return true;
    };
    await expect(look({ common: { allowedPrivateRanges: ['127.0.0.0/8'] } })).rejects.toThrow('status 401');
    expect(registry.seen.filter(({ line }) => line.includes('/token'))).toEqual([]);
  });

  it('are not tried forever at a registry that always says 401', async () => {
    registry.intercept = (request, response) => {
      if (request.url?.startsWith('/token') === true) return giveToken(request, response);
      const challenge = `Bearer realm="${registry.url}/token"`;
      response.writeHead(401, { 'www-authenticate': challenge }).end();
      return true;
    };
    await expect(look()).rejects.toThrow('status 401: check the credentials');
    expect(registry.seen).toHaveLength(3);
  });

  it.each([
    ['an empty object', '{}'],
    ['no JSON', 'no JSON'],
    ['a token that ends its field', '{"token":"a\\r\\nX-Injected: 1"}'],
    ['an empty token', '{"token":""}'],
    ['an answer without end', `"${'x'.repeat(70_000)}"`],
  ])('are for nothing when the token service sends %s', async (_what, body) => {
    wantToken(`${registry.url}/token`);
    const { intercept } = registry;
    registry.intercept = (request, response) => {
      if (request.url?.startsWith('/token') !== true) return intercept(request, response);
      response.end(body);
      return true;
    };
    await expect(look()).rejects.toThrow(/gave no usable token|more than 65536 bytes/);
  });
});
