import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parseDevUpstream, upstreamSection } from '../../demo/dev-upstream.ts';
import { runImport } from '../../src/cli/bundle/import.ts';
import { createUpstreamAdapter } from '../../src/upstream/adapters/connect-upstream.ts';
import { upstreamConfigurationSchema } from '../../src/upstream/upstream-config.ts';
import { acceptOrigin, NO_ORIGIN_MEMORY } from '../../src/mirror/accept-origin.ts';
import { readManifest } from '../../src/mirror/read-manifest.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import { systemClock } from '../../src/platform/process/clock.ts';
import { bytesOf, untilServed } from '../support/edge.ts';
import { startSystem } from '../support/system.ts';
import { exportBundle, makeAttestedStore, runBundleCommand, type AttestedStore } from '../support/bundles.ts';
import { kubeTools } from '../support/kube-tools.ts';
import { startRegistry } from '../support/oci-registry.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { hasTool } from '../support/tools.ts';

const tools = hasTool('skopeo') ? kubeTools('crane', 'oras', 'registry') : null;
const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';

interface World {
  readonly directory: string;
  /** Host and port of the registry. */
  readonly registry: string;
  readonly store: AttestedStore;
  readonly bundle: string;
  readonly unpacked: string;
}

let world: World;

function run(program: string, ...argv: readonly string[]): void {
  execFileSync(program, argv, { stdio: ['ignore', 'pipe', 'pipe'] });
}

describe.skipIf(tools === null)('a bundle in a registry', () => {
  beforeAll(async () => {
    if (tools === null) return undefined;
    const ends: Array<() => void> = [];
    const directory = await temporaryDirectory((end) => void ends.push(() => void end()));
    const store = await makeAttestedStore(join(directory, 'store'));
    // Two packs, and an object that lies in both.
    const files = { 'a.bin': 'aaa', 'b.bin': Buffer.alloc(33 * 1024 * 1024, 'big'), 'c.bin': '' };
    await store.release({ releaseId: 'r1', files, document: '{"ConnectionGroups":[]}' });
    const [bundle, unpacked] = [join(directory, 'r1.tar'), join(directory, 'unpacked')];
    await exportBundle(store, 'r1', bundle);
    await mkdir(unpacked);
    run('tar', '-xf', bundle, '-C', unpacked);
    const registry = await startRegistry(directory, tools.registry, (end) => void ends.push(end));
    world = { directory, registry, store, bundle, unpacked };
    return () => {
      for (const end of ends) end();
    };
  });

  const push = {
    skopeo: () => {
      const target = `docker://${world.registry}/skopeo:r1`;
      run(
        'skopeo',
        'copy',
        '--insecure-policy',
        '--dest-tls-verify=false',
        `oci-archive:${world.bundle}`,
        target,
      );
    },
    oras: () => {
      run(
        tools?.oras ?? '',
        'cp',
        '--from-oci-layout',
        `${world.bundle}:r1`,
        '--to-plain-http',
        `${world.registry}/oras:r1`,
      );
    },
    crane: () => {
      run(tools?.crane ?? '', 'push', world.unpacked, `${world.registry}/crane:r1`, '--insecure');
    },
  };

  const pull = {
    skopeo: (target: string) => {
      const source = `docker://${world.registry}/skopeo:r1`;
      run(
        'skopeo',
        'copy',
        '--insecure-policy',
        '--src-tls-verify=false',
        source,
        `oci-archive:${target}:r1`,
      );
    },
    oras: (target: string) => {
      run(
        tools?.oras ?? '',
        'cp',
        '--from-plain-http',
        `${world.registry}/oras:r1`,
        '--to-oci-layout',
        `${target}:r1`,
      );
    },
    crane: (target: string) => {
      run(tools?.crane ?? '', 'pull', '--insecure', '--format=oci', `${world.registry}/crane:r1`, target);
    },
  };

  it.each(['skopeo', 'oras', 'crane'] as const)(
    'is pushed and pulled by %s without a change',
    async (name) => {
      push[name]();
      const answer = await fetch(`http://${world.registry}/v2/${name}/manifests/r1`, {
        headers: { accept: MANIFEST },
      });
      const index = JSON.parse(await readFile(join(world.unpacked, 'index.json'), 'utf8')) as {
        manifests: ReadonlyArray<{ digest: string }>;
      };
      expect(answer.headers.get('docker-content-digest')).toBe(index.manifests[0]?.digest);
      const target = join(world.directory, `pulled-by-${name}`);
      pull[name](target);
      const argv = [target, '--keys', world.store.keyFile, '--check'];
      expect(await runBundleCommand(runImport, ...argv)).toMatchObject({ code: 0, err: '' });
    },
  );

  it.each(['anonymous', 'basic', 'bearer'] as const)('is read by digest with %s access', async (access) => {
    push.oras();
    const front = await startFront(world.registry, access);
    const adapter = createUpstreamAdapter(
      upstreamConfigurationSchema.parse({
        kind: 'oci',
        oci: {
          url: front.url,
          repository: 'oras',
          tags: ['none-yet', 'r1'],
          trustedKeys: [world.store.keyFile],
        },
      }),
      { clock: systemClock },
    );
    onTestFinished(async () => await adapter.close());
    const upstream = adapter.attested ?? unreachable();
    const { source } = upstream;
    const signal = AbortSignal.timeout(290_000);
    const state = (await source.current(null, signal)) ?? unreachable();
    const accepted = acceptOrigin(state.envelope, await upstream.trustedKeys(), NO_ORIGIN_MEMORY, Date.now());
    if (!accepted.ok) throw accepted.error;
    const release = {
      channel: 'official',
      attested: accepted.value.verified.statement.official ?? unreachable(),
    } as const;
    const manifest = await source.manifest(release, signal);
    expect(manifest.serverInfo?.toString()).toBe('{"ConnectionGroups":[]}');
    const found: Record<string, string> = {};
    for await (const page of readManifest(manifest, release)) {
      for (const { destination, size, blake3 } of page) {
        const entry = { destination, size, digests: { blake3 }, locator: blake3 };
        const body = await adapter.open(entry, { start: Math.floor(size / 2), validator: null }, signal);
        const pieces: Uint8Array[] = [];
        for await (const piece of body.chunks) pieces.push(piece);
        found[destination] = `${body.start} ${blake3Hex(Buffer.concat(pieces))}`;
      }
    }
    const half = 33 * 512 * 1024;
    expect(found).toEqual({
      'a.bin': `1 ${blake3Hex(Buffer.from('aa'))}`,
      'b.bin': `${half} ${blake3Hex(Buffer.alloc(2 * half, 'big').subarray(half))}`,
      'c.bin': `0 ${blake3Hex(Buffer.alloc(0))}`,
    });
    // An unchanged registry costs one small request for each tag.
    front.seen.length = 0;
    expect(await source.current(state.tag, signal)).toBeNull();
    expect(front.seen).toEqual(['HEAD /v2/oras/manifests/none-yet', 'HEAD /v2/oras/manifests/r1']);
  });

  it('is found through an index of one manifest, and an index of two is named', async () => {
    push.oras();
    const url = `http://${world.registry}/v2/oras/manifests`;
    const manifest = await fetch(`${url}/r1`, { headers: { accept: MANIFEST } });
    const digest = manifest.headers.get('docker-content-digest') ?? unreachable();
    const size = (await manifest.arrayBuffer()).byteLength;
    const type = 'application/vnd.oci.image.index.v1+json';
    const one = { mediaType: MANIFEST, digest, size };
    for (const [tag, manifests] of Object.entries({ one: [one], two: [one, one] })) {
      const body = JSON.stringify({ schemaVersion: 2, mediaType: type, manifests });
      const put = await fetch(`${url}/${tag}`, { method: 'PUT', body, headers: { 'content-type': type } });
      expect(put.status).toBe(201);
    }
    const look = async (tag: string) => {
      const { registry, store } = world;
      const oci = {
        url: `http://${registry}`,
        repository: 'oras',
        tags: [tag],
        trustedKeys: [store.keyFile],
      };
      const section = upstreamConfigurationSchema.parse({ kind: 'oci', oci });
      const adapter = createUpstreamAdapter(section, { clock: systemClock });
      onTestFinished(async () => await adapter.close());
      return await adapter.attested?.source.current(null, AbortSignal.timeout(290_000));
    };
    expect((await look('one'))?.envelope).toEqual((await look('r1'))?.envelope);
    await expect(look('two')).rejects.toThrow('the tag two leads to an index of 2 manifests');
  });

  it('is fetched pack by pack when most of it is missing, and object by object when little is', async () => {
    const { directory, registry } = world;
    const store = await makeAttestedStore(join(directory, 'many'));
    // Objects of two packs.
    const files = new Map(
      Array.from({ length: 1200 }, (_, at) => [`files/${at}.bin`, Buffer.alloc(40_000, `file ${at};`)]),
    );
    const publish = async (releaseId: string): Promise<void> => {
      await store.release({ releaseId, files: Object.fromEntries(files) });
      // Beside the bundle of the other tests.
      const bundle = join(directory, `many-${releaseId}.tar`);
      await exportBundle(store, releaseId, bundle);
      const target = `${registry}/many:current`;
      run(tools?.oras ?? '', 'cp', '--from-oci-layout', `${bundle}:${releaseId}`, '--to-plain-http', target);
    };
    await publish('r1');
    const front = await startFront(registry, 'anonymous');
    const system = await startSystem({
      upstream: {
        kind: 'oci',
        oci: {
          url: front.url,
          repository: 'many',
          tags: ['current'],
          trustedKeys: [store.keyFile],
          pollSeconds: 1,
        },
      },
    });
    await untilServed(system, 'r1');
    for (const [name, bytes] of files) {
      if (name.endsWith('99.bin')) expect(await bytesOf(system, 'r1', name)).toEqual(bytes);
    }
    const blobs = (): string[] => front.seen.filter((line) => line.includes('/blobs/'));
    // The attestation, the manifest twice at most, the list, two packs.
    expect(blobs().length).toBeLessThan(10);

    front.seen.length = 0;
    const before = front.sentBytes();
    files.set('files/7.bin', Buffer.from('another'));
    await publish('r2');
    await untilServed(system, 'r2');
    expect(await bytesOf(system, 'r2', 'files/7.bin')).toEqual(Buffer.from('another'));
    expect(blobs().length).toBeLessThan(10);
    expect(front.sentBytes() - before).toBeLessThan(3_000_000);
  });

  it('is adopted and served by a daemon that follows the registry', async () => {
    push.oras();
    const { registry, store } = world;
    // As make run UPSTREAM= writes it.
    const parsed = parseDevUpstream(`oci+http://${registry}/oras:r1`, store.keyFile);
    if (!parsed.ok) throw new Error(parsed.error);
    const system = await startSystem({ upstream: upstreamSection(parsed.value, '') });
    await system.succeed('sync');
    await untilServed(system, 'r1');
    expect(await bytesOf(system, 'r1', 'a.bin')).toEqual(Buffer.from('aaa'));
  });

  it.each(['basic', 'bearer'] as const)('is served by a daemon that has %s access', async (access) => {
    push.oras();
    const { url } = await startFront(world.registry, access);
    const system = await startSystem({
      upstream: {
        kind: 'oci',
        oci: { url, repository: 'oras', tags: ['r1'], trustedKeys: [world.store.keyFile] },
      },
    });
    await system.succeed('sync');
    await untilServed(system, 'r1');
    expect(await bytesOf(system, 'r1', 'a.bin')).toEqual(Buffer.from('aaa'));
  });
});

/** For values that cannot be absent. */
function unreachable(): never {
  throw new Error('absent');
}

/** A proxy of a registry that wants a name and a password, or a token that its token service gives for them. */
async function startFront(
  registry: string,
  access: 'anonymous' | 'basic' | 'bearer',
): Promise<{ readonly url: string; readonly seen: string[]; sentBytes(): number }> {
  const seen: string[] = [];
  let sent = 0;
  const basic = `Basic ${Buffer.from('reader:pass word').toString('base64')}`;
  const token = `Bearer ${randomUUID()}`;
  let host = '';
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const { method = '', url = '', headers } = request;
    const wanted = { anonymous: undefined, basic, bearer: token }[access];
    if (url.startsWith('/token?')) {
      const isRight = headers.authorization === basic && url.includes('scope=repository%3Aoras%3Apull');
      response
        .writeHead(isRight ? 200 : 403)
        .end(JSON.stringify({ access_token: token.slice('Bearer '.length) }));
      return;
    }
    if (wanted !== headers.authorization) {
      const challenge = `Bearer realm="http://${host}/token",service="tests",scope="repository:oras:pull"`;
      response.writeHead(401, { 'www-authenticate': challenge }).end();
      return;
    }
    seen.push(`${method} ${url}`);
    const { authorization: _authorization, ...kept } = headers;
    const onward = httpRequest(
      `http://${registry}${url}`,
      { method, headers: { ...kept, host: registry } },
      (back) => {
        response.writeHead(back.statusCode ?? 502, back.headers);
        back.on('data', (bytes: Buffer) => {
          sent += bytes.length;
        });
        back.pipe(response);
      },
    );
    onward.on('error', () => response.destroy());
    onward.end();
  };
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url = access === 'anonymous' ? `http://${host}` : `http://reader:pass%20word@${host}`;
  return { url, seen, sentBytes: () => sent };
}
