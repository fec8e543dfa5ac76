import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  chooseTokenService,
  parseChallenge,
  type TokenServiceRules,
} from '../../../src/upstream/adapters/oci-challenge.ts';
import { createDownloader } from '../../../src/upstream/http/downloader.ts';
import type { UpstreamEntry } from '../../../src/upstream/upstream.ts';
import type { Blake3Hex } from '../../../src/domain/release/digest.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import type { HashPool } from '../../../src/platform/hashing/digests.ts';
import { createHashPool } from '../../../src/platform/hashing/hash-pool.ts';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import { exportBundle, makeAttestedStore } from '../../support/bundles.ts';
import {
  startFakeRegistry,
  startSeeing,
  type FakeRegistry,
  type SeeingServer,
} from '../../support/fake-registry.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { adapterFor, configure, freeSignal } from '../../support/upstream-harness.ts';

const BASIC = `Basic ${Buffer.from('reader:secret').toString('base64')}`;

const RULES: TokenServiceRules = {
  registry: 'https://registry.example.net',
  tokenService: 'https://auth.example.net',
  hasCredentials: true,
  allowOtherOrigins: true,
};

describe('the challenges of registries', () => {
  describe('the challenge of a registry', () => {
    it.each([
      [
        'Bearer realm="https://auth.example.net/token",service="registry",scope="repository:a/b:pull"',
        { realm: 'https://auth.example.net/token', service: 'registry' },
      ],
      ['bearer realm="https://auth.example.net"', { realm: 'https://auth.example.net', service: null }],
      [
        'Basic realm="x", Bearer realm="https://a.net/t" , service=plain',
        { realm: 'https://a.net/t', service: 'plain' },
      ],
      ['Bearer realm="https://a.net/t", Basic realm="x"', { realm: 'https://a.net/t', service: null }],
      ['Bearer realm="https://a.net/t",realm="https://b.net/t"', { realm: 'https://a.net/t', service: null }],
      [String.raw`Bearer realm="https://a.net/\"t"`, { realm: 'https://a.net/"t', service: null }],
    ])('%j names a token service', (field, challenge) => {
      expect(parseChallenge(field)).toEqual(challenge);
    });

    it.each([
      '',
      'Basic realm="x"',
      'Bearers realm="https://x"',
      'Bearer',
      'Bearer service="x"',
      'Basic realm="Bearer realm=https://x"',
      'Bearer realm="https://x',
      '"',
      '=,=',
    ])('%j names none', (field) => {
      expect(parseChallenge(field)).toBeNull();
    });
  });

  describe('the token service that gets a password', () => {
    it.each(['https://registry.example.net/token', 'https://auth.example.net/a/b?c=d'])('is %s', (realm) => {
      expect(chooseTokenService(realm, RULES)).toMatchObject({ ok: true, isOwn: true });
    });

    it.each([
      ['https://other.example.net/token', 'set upstream.oci.tokenService to https://other.example.net'],
      ['https://registry.example.net:8443/token', 'is another origin'],
      ['https://registry.example.net.evil.example/token', 'is another origin'],
      ['https://registry.example.net@evil.example/token', 'holds a name or a password'],
      ['http://registry.example.net/token', 'http although the registry is https'],
      ['http://auth.example.net/token', 'http although the registry is https'],
      ['file:///etc/passwd', 'not an http(s) URL'],
      ['no URL', 'not an http(s) URL'],
    ])('is not %s', (realm, problem) => {
      const chosen = chooseTokenService(realm, RULES);
      expect(chosen.ok ? '' : chosen.problem).toContain(problem);
    });

    it('may be any other one where there is no password, unless other origins are forbidden', () => {
      const realm = 'https://other.example.net/token';
      const anonymous = { ...RULES, hasCredentials: false };
      expect(chooseTokenService(realm, anonymous)).toMatchObject({ ok: true, isOwn: false });
      expect(chooseTokenService(realm, { ...anonymous, allowOtherOrigins: false }).ok).toBe(false);
      expect(chooseTokenService('http://other.example.net/token', anonymous).ok).toBe(false);
    });

    it('may be http behind a registry of http', () => {
      const rules = { ...RULES, registry: 'http://localhost:1' };
      expect(chooseTokenService('http://localhost:1/token', rules)).toMatchObject({ ok: true, isOwn: true });
      expect(chooseTokenService('http://localhost:2/token', rules).ok).toBe(false);
    });
  });
});

const TOKEN = 'a.token-of_the~registry';
const BEARER = `Bearer ${TOKEN}`;

interface Looking {
  readonly user?: string;
  readonly settings?: object;
  readonly common?: object;
}

function giveToken(_request: IncomingMessage, response: ServerResponse): true {
  response.end(JSON.stringify({ token: TOKEN }));
  return true;
}

const startTokens = async (): Promise<SeeingServer> => await startSeeing(giveToken);

describe('the credentials of a registry', () => {
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
    // HEAD and GET, each with three more tokens, and the password once.
    expect(registry.seen).toHaveLength(17);
  });

  it.each(['token service', 'registry'])('hold no connection when the %s fails for them', async (failing) => {
    const ended: Array<Promise<unknown>> = [];
    registry.intercept = ({ url = '', headers, method }, response) => {
      if (method === 'HEAD') return false;
      if (url === '/v2/') response.writeHead(404).end();
      else if (url.startsWith('/token')) {
        if (failing === 'token service') response.writeHead(500);
        response.end(JSON.stringify({ token: TOKEN }));
      } else if (headers.authorization === BASIC) response.destroy();
      else {
        // A page without end: only who drops it frees the connection.
        response
          .writeHead(401, { 'www-authenticate': `Bearer realm="${registry.url}/token"` })
          .write('denied');
        ended.push(once(response, 'close'));
      }
      return true;
    };
    await expect(look()).rejects.toThrow(failing === 'token service' ? 'status 500' : 'cannot be reached');
    expect(await Promise.all(ended)).toHaveLength(failing === 'token service' ? 1 : 4);
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

/** Two packs, and an object that lies in both. */
const FILES = {
  'a.bin': Buffer.from('aaa'),
  'b.bin': Buffer.alloc(33 * 1024 * 1024, 'big'),
  'c.bin': Buffer.alloc(0),
};

let pool: HashPool;
let bundle: string;

async function* asAsync(values: readonly Blake3Hex[]): AsyncGenerator<Blake3Hex> {
  yield* await Promise.resolve(values);
}

function unreachable(): never {
  throw new Error('absent');
}

const DIGESTS = Object.fromEntries(Object.entries(FILES).map(([name, bytes]) => [name, blake3Hex(bytes)]));

/** The requests for blobs among these. */
function blobsAmong(seen: FakeRegistry['seen']): string[] {
  return seen.map(({ line }) => line).filter((line) => line.includes('/blobs/'));
}

/** Breaks an answer off after a part of its body. */
function breakOff(response: ServerResponse): void {
  const end = response.end.bind(response);
  response.end = ((body?: Buffer) => {
    if (body === undefined) return end();
    response.write(body.subarray(0, Math.floor(body.length * 0.9)), () => response.destroy());
    return response;
  }) as ServerResponse['end'];
}

describe('a pull of an object that lies in two packs', () => {
  let keyFile: string;
  let registry: FakeRegistry;

  beforeAll(async () => {
    const ends: Array<() => unknown> = [];
    pool = createHashPool({ threads: 1 });
    const directory = await temporaryDirectory((end) => void ends.push(end));
    const store = await makeAttestedStore(join(directory, 'origin'));
    await store.release({ releaseId: 'r1', files: FILES });
    bundle = join(directory, 'r1.tar');
    await exportBundle(store, 'r1', bundle);
    ({ keyFile } = store);
    return async () => {
      for (const end of ends) await end();
    };
  });
  afterAll(async () => pool.close());
  beforeEach(async () => {
    registry = await startFakeRegistry(bundle);
  });

  /** Pulls all objects of the bundle as a sync does. @returns their digests */
  async function pull({
    user = '',
    onReady = () => undefined,
  }: { readonly user?: string; readonly onReady?: () => void } = {}): Promise<Record<string, string>> {
    const url = registry.url.replace('//', `//${user}`);
    const section = { kind: 'oci', oci: { url, repository: 'a/b', tags: ['r1'], trustedKeys: [keyFile] } };
    const adapter = adapterFor(section);
    const { source } = adapter.attested ?? unreachable();
    await source.current(null, freeSignal());
    const entries = Object.entries(FILES).map(([destination, bytes]) => {
      const blake3 = blake3Hex(bytes);
      return {
        destination: destination as UpstreamEntry['destination'],
        size: bytes.length,
        digests: { blake3 },
        locator: blake3,
      };
    });
    await source.prepare?.(asAsync(entries.map(({ locator }) => locator)));
    const downloader = createDownloader({
      adapter,
      pool,
      clock: systemClock,
      logger: createSilentLogger(),
      limits: configure(section),
    });
    const staging = await temporaryDirectory();
    onReady();
    const found = await Promise.all(
      entries.map(async (entry) => {
        const staged = join(staging, entry.destination);
        const { blake3 } = await downloader.download(entry, staged, freeSignal(), () => undefined);
        return [entry.destination, blake3] as const;
      }),
    );
    return Object.fromEntries(found);
  }

  /**
   * Makes the registry want credentials.
   *
   * @param requests how many requests a token is good for
   */
  function wantCredentials(access: 'basic' | 'bearer', requests: number): { given(): number } {
    let given = 0;
    let left = 0;
    registry.intercept = (request, response) => {
      const { authorization } = request.headers;
      if (request.url?.startsWith('/token') === true) {
        given += 1;
        left = requests;
        const isRight = authorization === BASIC;
        response.writeHead(isRight ? 200 : 403).end(JSON.stringify({ token: `token-${given}` }));
        return true;
      }
      if (
        access === 'basic' ? authorization === BASIC : authorization === `Bearer token-${given}` && left > 0
      ) {
        left -= 1;
        return false;
      }
      const challenge =
        access === 'basic' ? 'Basic realm="r"' : `Bearer realm="${registry.url}/token",service="x"`;
      response.writeHead(401, { 'www-authenticate': challenge }).end();
      return true;
    };
    return { given: () => given };
  }

  it('fetches each pack once', async () => {
    let before = 0;
    expect(await pull({ onReady: () => (before = registry.seen.length) })).toEqual(DIGESTS);
    expect(blobsAmong(registry.seen.slice(before))).toHaveLength(2);
  });

  it.each([1, 2, 4])('continues where each of the first %s answers broke off', async (count) => {
    let left = 0;
    registry.intercept = (_request, response) => {
      if (left > 0) {
        left -= 1;
        breakOff(response);
      }
      return false;
    };
    expect(await pull({ onReady: () => (left = count) })).toEqual(DIGESTS);
    expect(left).toBe(0);
  });

  it.each(['basic', 'bearer'] as const)('takes a registry with %s access', async (access) => {
    const tokens = wantCredentials(access, Infinity);
    expect(await pull({ user: 'reader:secret@' })).toEqual(DIGESTS);
    expect(tokens.given()).toBe(access === 'bearer' ? 1 : 0);
  });

  it('asks for another token when one expires in the middle', async () => {
    // The tag twice and two lists; each later token is good for one request.
    const tokens = wantCredentials('bearer', 1);
    expect(await pull({ user: 'reader:secret@' })).toEqual(DIGESTS);
    expect(tokens.given()).toBeGreaterThanOrEqual(6);
  });
});
