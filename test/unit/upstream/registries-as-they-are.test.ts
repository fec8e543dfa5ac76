import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDownloader } from '../../../src/upstream/http/downloader.ts';
import type { UpstreamEntry } from '../../../src/upstream/upstream.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import type { HashPool } from '../../../src/platform/hashing/digests.ts';
import { createHashPool } from '../../../src/platform/hashing/hash-pool.ts';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import { exportBundle, makeAttestedStore } from '../../support/bundles.ts';
import { startFakeRegistry, type FakeRegistry, type RegistrySwitches } from '../../support/fake-registry.ts';
import { collect } from '../../support/collect.ts';
import { seededBytes } from '../../support/generate-release.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { adapterFor, configure, freeSignal } from '../../support/upstream-harness.ts';

const SMALL = Object.fromEntries(
  Array.from({ length: 6 }, (_, at) => [`${at}.bin`, seededBytes(`small ${at}`, 3000 + at)]),
);
/** 30 MiB in one pack. */
const LARGE = Object.fromEntries(
  Array.from({ length: 60 }, (_, at) => [`${at}.bin`, seededBytes(`large ${at}`, 512 * 1024)]),
);

let pool: HashPool;
let keyFile: string;
const bundles = { small: '', large: '' };

beforeAll(async () => {
  const ends: Array<() => unknown> = [];
  pool = createHashPool({ threads: 1 });
  const directory = await temporaryDirectory((end) => void ends.push(end));
  const store = await makeAttestedStore(join(directory, 'origin'));
  ({ keyFile } = store);
  for (const [name, files] of Object.entries({ small: SMALL, large: LARGE })) {
    await store.release({ releaseId: name, files });
    bundles[name as keyof typeof bundles] = join(directory, `${name}.tar`);
    await exportBundle(store, name, join(directory, `${name}.tar`));
  }
  return async () => {
    for (const end of ends) await end();
  };
});
afterAll(async () => pool.close());

interface Pull {
  readonly user?: string;
  readonly files?: Readonly<Record<string, Buffer>>;
}

/** Pulls files one after the other, as a repair does: nothing says which ones will follow. */
async function pull(
  registry: FakeRegistry,
  { user = 'reader:secret@', files = SMALL }: Pull = {},
): Promise<void> {
  const url = registry.url.replace('//', `//${user}`);
  const section = { kind: 'oci', oci: { url, repository: 'a/b', tags: ['current'], trustedKeys: [keyFile] } };
  const adapter = adapterFor(section);
  await adapter.attested?.source.current(null, freeSignal());
  const downloader = createDownloader({
    adapter,
    pool,
    clock: systemClock,
    logger: createSilentLogger(),
    limits: configure(section),
  });
  const staging = await temporaryDirectory();
  for (const [name, bytes] of Object.entries(files)) {
    const blake3 = blake3Hex(bytes);
    const entry: UpstreamEntry = {
      destination: name as UpstreamEntry['destination'],
      size: bytes.length,
      digests: { blake3 },
      locator: blake3,
    };
    const found = await downloader.download(entry, join(staging, name), freeSignal(), () => undefined);
    expect(found.blake3).toBe(blake3);
  }
}

async function registryWith(switches: RegistrySwitches, bundle = bundles.small): Promise<FakeRegistry> {
  const registry = await startFakeRegistry(bundle);
  registry.switches = switches;
  return registry;
}

describe('a registry as it is', () => {
  it.each<[string, RegistrySwitches]>([
    ['anonymous, and gets a password anyway', {}],
    ['wants a password (ECR)', { access: 'basic' }],
    ['wants a password and says so only when it refuses', { access: 'basic', tellsAtV2: false }],
    [
      'wants a password and answers without one with 403',
      { access: 'basic', tellsAtV2: false, refusal: 403 },
    ],
    [
      'wants a password and hides without one (Artifactory)',
      { access: 'basic', tellsAtV2: false, refusal: 404 },
    ],
    ['wants a password and names a token service', { access: 'basic', namesTokenService: true }],
    ['wants a token (Docker Hub, ACR)', { access: 'bearer' }],
    ['wants a token and denies a password (ghcr.io)', { access: 'bearer', passwordRefusal: 403 }],
    ['wants a token and hides without one (Harbor, GitLab)', { access: 'bearer', refusal: 404 }],
    ['wants a token and denies without one', { access: 'bearer', refusal: 403 }],
    ['wants a token and says so only when it refuses', { access: 'bearer', tellsAtV2: false }],
    ['whose tokens are good for two requests', { access: 'bearer', tokenUses: 2 }],
    ['whose tokens expire, and which then hides', { access: 'bearer', tokenUses: 2, refusal: 404 }],
    ['whose tokens expire, and which then denies', { access: 'bearer', tokenUses: 2, refusal: 403 }],
    ['has no HEAD', { head: 'is refused' }],
    ['has no HEAD and wants a token', { head: 'is refused', access: 'bearer' }],
    ['ignores ranges', { ranges: 'ignored' }],
    ['answers another range', { ranges: 'elsewhere' }],
    ['answers with less than a range', { ranges: 'shorter' }],
    ['refuses ranges', { ranges: 'refused' }],
    ['has no ranges', { ranges: 'not implemented' }],
    ['whose tag leads to an index of one manifest', { tags: 'an index of one' }],
    [
      'everything at once',
      {
        access: 'bearer',
        passwordRefusal: 403,
        refusal: 404,
        tokenUses: 2,
        head: 'is refused',
        ranges: 'elsewhere',
        tags: 'an index of one',
      },
    ],
  ])('gives a bundle: %s', async (_case, switches) => {
    await pull(await registryWith(switches));
  });

  it.each([400, 406, 501, 302])('gives a bundle although /v2/ answers %s', async (status) => {
    const registry = await registryWith({ access: 'bearer', tellsAtV2: false });
    registry.intercept = ({ url }, response) => {
      if (url === '/v2/') response.writeHead(status, { location: 'http://localhost/login' }).end();
      return url === '/v2/';
    };
    await pull(registry);
  });

  it.each<[string, RegistrySwitches, string]>([
    ['an index of two', { tags: 'an index of two' }, 'an index of 2 manifests, of which none is chosen'],
    [
      'a Docker image',
      { tags: 'a Docker image' },
      'a Docker image (application/vnd.docker.distribution.manifest.v2+json)',
    ],
    [
      'another image',
      { tags: 'an image' },
      'an image or artifact of the type "application/vnd.oci.image.config.v1+json"',
    ],
  ])('is told what its tag leads to: %s', async (_case, switches, message) => {
    await expect(pull(await registryWith(switches))).rejects.toThrow(`the tag current leads to ${message}`);
  });

  it.each<[string, RegistrySwitches, string]>([
    [
      'wrong credentials',
      { access: 'basic' },
      'the registry says "UNAUTHORIZED: the registry has a reason for 401"',
    ],
    [
      'wrong credentials for a token',
      { access: 'bearer' },
      'the registry says "UNAUTHORIZED: the registry has',
    ],
    [
      'a denial',
      { access: 'basic', refusal: 403 },
      'the registry says "DENIED: the registry has a reason for 403"',
    ],
    ['nothing there', { access: 'bearer', tellsAtV2: false, refusal: 404 }, 'the registry says'],
  ])('is quoted when it refuses: %s', async (_case, switches, message) => {
    const failure = pull(await registryWith(switches), { user: 'reader:wrong@' });
    if (switches.refusal === 404) await expect(failure).rejects.toThrow('holds no bundle yet');
    else await expect(failure).rejects.toThrow(message);
  });

  it('costs one request for each look after the first', async () => {
    const registry = await registryWith({ access: 'bearer', refusal: 404 });
    const url = registry.url.replace('//', '//reader:secret@');
    const oci = { url, repository: 'a/b', tags: ['current'], trustedKeys: [keyFile] };
    const source = adapterFor({ kind: 'oci', oci }).attested?.source;
    const state = await source?.current(null, freeSignal());
    registry.seen.length = 0;
    expect(await source?.current(state?.tag ?? null, freeSignal())).toBeNull();
    expect(registry.seen.map(({ line }) => line)).toEqual(['HEAD /v2/a/b/manifests/current']);
  });

  it.each(['ignored', 'elsewhere', 'refused'] as const)(
    'sends a pack of 30 MiB once for all that is read of it when ranges are %s',
    async (ranges) => {
      const registry = await registryWith({ ranges }, bundles.large);
      const files = Object.fromEntries(Object.entries(LARGE).filter((_, at) => at % 3 === 0));
      await pull(registry, { files });
      const packs = registry.sentBytes() / (60 * 512 * 1024);
      expect(packs).toBeGreaterThan(0.9);
      expect(packs).toBeLessThan(1.1);
    },
  );

  it('is asked past caches for a pack whose bytes were wrong, also for one that was kept', async () => {
    const registry = await registryWith({ ranges: 'ignored' });
    let wrong = 1;
    registry.intercept = (request, response) => {
      const isPack = request.headers.range !== undefined || request.headers['cache-control'] === 'no-cache';
      if (!isPack || wrong === 0 || !(request.url ?? '').includes('/blobs/')) return false;
      wrong -= 1;
      const size = Object.values(SMALL).reduce((sum, { length }) => sum + length, 0);
      response.writeHead(200, { 'content-length': size }).end(Buffer.alloc(size));
      return true;
    };
    await pull(registry);
    expect(wrong).toBe(0);
  });

  it('is asked once past caches for a pack of which all files were wrong, and once more after a look', async () => {
    const registry = await registryWith({ ranges: 'ignored' });
    let asked = 0;
    registry.intercept = ({ headers }) => {
      if (headers['cache-control'] === 'no-cache') asked += 1;
      return false;
    };
    const oci = { url: registry.url, repository: 'a/b', tags: ['current'], trustedKeys: [keyFile] };
    const adapter = adapterFor({ kind: 'oci', oci });
    for (const looks of [1, 2]) {
      await adapter.attested?.source.current(null, freeSignal());
      for (const [name, bytes] of Object.entries(SMALL)) {
        const destination = name as UpstreamEntry['destination'];
        const entry = { destination, size: bytes.length, digests: {}, locator: blake3Hex(bytes) };
        const body = await adapter.open(entry, { start: 0, validator: null, pastCaches: true }, freeSignal());
        expect(Buffer.concat(await collect(body.chunks))).toEqual(bytes);
      }
      expect(asked).toBe(looks);
    }
  });
});
