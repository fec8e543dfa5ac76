import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { UpstreamEntry } from '../../../../../src/daemon/upstream/upstream.ts';
import type { Blake3Hex } from '../../../../../src/domain/release/digest.ts';
import { createDownloader } from '../../../../../src/daemon/upstream/http/downloader.ts';
import { blake3Hex } from '../../../../../src/platform/hashing/blake3.ts';
import type { HashPool } from '../../../../../src/platform/hashing/digests.ts';
import { createHashPool } from '../../../../../src/platform/hashing/hash-pool.ts';
import { createSilentLogger } from '../../../../../src/platform/logging/logging.ts';
import { systemClock } from '../../../../../src/platform/process/clock.ts';
import { exportBundle, makeAttestedStore } from '../../../../support/bundles.ts';
import { startFakeRegistry, type FakeRegistry } from '../../../../support/fake-registry.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { adapterFor, configure, freeSignal } from '../upstream-harness.ts';

/** Two packs, and an object that lies in both. */
const FILES = {
  'a.bin': Buffer.from('aaa'),
  'b.bin': Buffer.alloc(33 * 1024 * 1024, 'big'),
  'c.bin': Buffer.alloc(0),
};
const BASIC = `Basic ${Buffer.from('reader:secret').toString('base64')}`;

let pool: HashPool;
let bundle: string;
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
