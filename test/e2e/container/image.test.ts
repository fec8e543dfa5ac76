import { createHash, randomUUID } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { get } from 'node:http';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { GenericContainer, Wait } from 'testcontainers';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { BillOfMaterials } from '../../support/bill-of-materials.ts';
import { buildImage, makeBaseImage } from '../../support/container-image.ts';
import {
  exitCodeOf,
  isRunning,
  RestrictedContainer,
  runInContainer,
  signalContainer,
  useDocker,
} from '../../support/containers.ts';
import { startDocker, type Docker } from '../../support/docker.ts';
import { startImagePod } from '../../support/image-pod.ts';
import { writeReleaseTree } from '../../support/release-tree.ts';
import { CDN_HOST } from '../../support/system.ts';
import { hasTool } from '../../support/tools.ts';
import { until } from '../../support/until.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const MEBIBYTE = 1024 * 1024;
const RUN = `slipway-test-${randomUUID().slice(0, 8)}`;
const BASE = `${RUN}-base:1`;
const IMAGE = `${RUN}:1`;
const REVISION = '0123456789abcdef0123456789abcdef01234567';
const SOURCE = 'https://git.example.org/slipway';
const VOLUMES = { snapshot: `${RUN}-snapshot`, data: `${RUN}-data` };
const PROGRAMS = ['daemon', 'operator', 'server'];

const canRun = hasTool('docker') && hasTool('busybox');
const docker = canRun ? await startDocker() : null;

describe.skipIf(docker === null)('the image', () => {
  const { run, tryRun } = docker ?? ({} as Docker);
  let directory = '';

  /** Runs a shell command in a container of the image. */
  const inImage = async (command: string): Promise<string> =>
    await runInContainer(new RestrictedContainer(IMAGE), command);

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'slipway-image-'));
    await chmod(directory, 0o755);
    useDocker(docker as Docker);
    await makeBaseImage(docker as Docker, BASE, join(directory, 'base'));
    buildImage(docker as Docker, BASE, IMAGE, { REVISION, SOURCE });
  });

  afterAll(async () => {
    tryRun('image', 'rm', '--force', IMAGE, BASE);
    await docker?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  it('has its labels, and runs as a numeric user without privileges', async () => {
    const [{ Config }] = JSON.parse(run('image', 'inspect', IMAGE)) as [{ Config: Record<string, unknown> }];
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(Config).toMatchObject({
      User: '65532:65532',
      Labels: {
        'org.opencontainers.image.title': 'Slipway',
        'org.opencontainers.image.licenses': 'Apache-2.0',
        'org.opencontainers.image.version': version,
        'org.opencontainers.image.revision': REVISION,
        'org.opencontainers.image.source': SOURCE,
        'org.opencontainers.image.base.name': BASE,
      },
    });
    // Scanners read the packages from this file.
    const packages = JSON.parse(await inImage('cat /app/node_modules/.package-lock.json')) as {
      packages: object;
    };
    expect(Object.keys(packages.packages)).toContain('node_modules/zod');
  });

  it('has a bill of materials that names every installed package', async () => {
    const { bomFormat, components } = JSON.parse(await inImage('cat /app/sbom.cdx.json')) as BillOfMaterials;
    expect(bomFormat).toBe('CycloneDX');
    const { packages } = JSON.parse(await inImage('cat /app/node_modules/.package-lock.json')) as {
      // With the name of a package that is installed under another one.
      packages: Readonly<Record<string, { readonly version: string; readonly name?: string }>>;
    };
    const named = new Set(components.map(({ name, version }) => `${name}@${version}`));
    const installed = Object.entries(packages).map(
      ([path, { version, name }]) => `${name ?? path.replace(/^.*node_modules\//, '')}@${version}`,
    );
    expect(installed.filter((name) => !named.has(name))).toEqual([]);
  });

  it('has no files that its user could change, and no tests or tools', async () => {
    const writable = await runInContainer(
      new GenericContainer(IMAGE).withDroppedCapabilities('ALL'),
      '(touch /app/x /compile-cache/x; find / -xdev -type f -user 65532; ls /app) 2>/dev/null',
    );
    expect(writable.split('\n')).toEqual([
      'LICENSE',
      'cmd',
      'demo',
      'docs',
      'node_modules',
      'package.json',
      'sbom.cdx.json',
      'src',
    ]);
  });

  it('has every program in its compile cache, and uses the cache as this user', async () => {
    for (const program of PROGRAMS) {
      const trace = await inImage(
        `NODE_DEBUG_NATIVE=COMPILE_CACHE node cmd/${program}.ts --help 2>&1 >/dev/null`,
      );
      const lines = trace.split('\n').filter((line) => line.includes('/app/src/'));
      expect(lines.filter((line) => /accepted|success/.test(line)).length).toBeGreaterThan(10);
      expect(lines.filter((line) => /no such file|not initialized|rejected/.test(line))).toEqual([]);
    }
  });

  it('loads the native modules that read game containers', async () => {
    const shown = await runInContainer(
      new GenericContainer(IMAGE),
      'printf "id,text\\n1,おはよう\\n" >/tmp/t.csv && node cmd/slipway.ts parse /tmp/t.csv',
    );
    expect(shown).toContain('おはよう');
  });

  it('has the same files when it is built twice', async () => {
    const again = `${RUN}:2`;
    buildImage(docker as Docker, BASE, again);
    const digest = async (image: string): Promise<string> =>
      await runInContainer(new GenericContainer(image), 'find /app -type f -exec sha256sum {} + | sort -k 2');
    const digests = [await digest(IMAGE), await digest(again)];
    tryRun('image', 'rm', '--force', again);
    expect(digests[0]).toContain('/app/cmd/server.ts');
    expect(digests[0]).toBe(digests[1]);
  });

  it('shows the log of a container that ends before it is ready', async () => {
    const container = new RestrictedContainer(IMAGE)
      .withNetworkMode('none')
      .withCommand(['cmd/daemon.ts', '--config', '/missing.yaml'])
      .withWaitStrategy(Wait.forLogMessage('daemon listening'));
    await expect(container.start()).rejects.toThrow('/missing.yaml');
  });

  it('syncs and serves as a pod does, and SIGTERM lets a running download finish', async () => {
    const film = Buffer.alloc(64 * MEBIBYTE, 'slipway ');
    film.writeUInt32BE(4_711, 12_345_678);
    const upstream = join(directory, 'upstream');
    await writeReleaseTree(upstream, {
      id: 'R1',
      files: new Map([
        ['film.mp4', film],
        ['text.json', Buffer.from('{}')],
      ]),
    });
    for (const volume of Object.values(VOLUMES)) {
      run('volume', 'create', volume);
      onTestFinished(() => {
        tryRun('volume', 'rm', volume);
      });
      // In a cluster, fsGroup does this.
      await runInContainer(
        new GenericContainer(IMAGE)
          .withUser('0:0')
          .withBindMounts([{ source: volume, target: '/volume', mode: 'rw' }]),
        'chown 65532:65532 /volume',
      );
    }
    const pod = await startImagePod({
      docker: docker as Docker,
      image: IMAGE,
      directory,
      upstream,
      volumes: VOLUMES,
    });
    onTestFinished(async () => {
      await pod.server.stop();
      await pod.daemon.stop();
    });
    const cdn = `${pod.url}/${CDN_HOST}`;
    const range = await fetch(`${cdn}/text.json`, { headers: { range: 'bytes=1-1' } });
    expect([range.status, await range.text()]).toEqual([206, '}']);

    const [response] = (await once(get(`${cdn}/R1/film.mp4`), 'response')) as [IncomingMessage];
    const body = response.iterator() as AsyncIterableIterator<Buffer>;
    const hash = createHash('sha256').update((await body.next()).value as Buffer);
    await signalContainer(pod.server, 'SIGTERM');
    // The server accepts no more connections, and the download is still open.
    await until(
      async () =>
        await fetch(`${pod.url}/healthz`).then(
          () => false,
          () => true,
        ),
    );
    expect(await isRunning(pod.server)).toBe(true);
    for await (const chunk of body) hash.update(chunk);
    expect(hash.digest('hex')).toBe(createHash('sha256').update(film).digest('hex'));
    expect(await exitCodeOf(pod.server)).toBe(0);
    await signalContainer(pod.daemon, 'SIGTERM');
    expect(await exitCodeOf(pod.daemon)).toBe(0);
  });
});
