import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { GenericContainer, Wait } from 'testcontainers';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import type { BillOfMaterials } from '../../support/bill-of-materials.ts';
import { writeHostCompose } from '../../support/compose.ts';
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
import { freePorts } from '../../support/free-ports.ts';
import { startImagePod } from '../../support/image-pod.ts';
import { makeReleaseCheckout } from '../../support/release-checkout.ts';
import { writeReleaseTree } from '../../support/release-tree.ts';
import { CDN_HOST } from '../../support/system.ts';
import { hasTool } from '../../support/tools.ts';
import { until } from '../../support/until.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const CADDYFILE = join(ROOT, 'deploy/compose/Caddyfile');
const MEBIBYTE = 1024 * 1024;
const RUN = `slipway-test-${randomUUID().slice(0, 8)}`;
const BASE = `${RUN}-base:1`;
const IMAGE = `${RUN}:1`;
const REVISION = '0123456789abcdef0123456789abcdef01234567';
const SOURCE = 'https://git.example.org/slipway';
const VOLUMES = { snapshot: `${RUN}-snapshot`, data: `${RUN}-data` };
const execute = promisify(execFile);
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
      'printf "id,text\\n1,おはよう\\n" >/tmp/t.csv && slipway parse /tmp/t.csv',
    );
    expect(shown).toContain('おはよう');
  });

  it('holds of its packages what its programs load, and no types, maps and documentation', async () => {
    const files = await inImage(
      "find /app/node_modules -type f \\( -name '*.ts' -o -name '*.cts' -o -name '*.mts' -o -name '*.map' -o -name '*.md' \\); ls /app/src",
    );
    expect(
      files.split('\n').filter((path) => path.startsWith('/') && !/\/licen[cs]e\.md$/i.test(path)),
    ).toEqual([]);
    expect(files.split('\n')).not.toContain('console');
    const [kibibytes] = (await inImage('du -sk /app/node_modules')).split('\t');
    expect(Number(kibibytes)).toBeLessThan(40 * 1024);
    const { packages } = JSON.parse(await inImage('cat /app/node_modules/.package-lock.json')) as {
      packages: object;
    };
    const bare = await inImage(
      `cd /app && for folder in ${Object.keys(packages).join(' ')}; do { [ -e "$folder/package.json" ] && ls "$folder" | grep -qiE '^((un)?licen[cs]e|copying|notice)'; } || echo "$folder"; done`,
    );
    // Their authors publish them without the text of the licence, which their package.json names.
    const known = /^node_modules\/(?:@antoniomuso\/lz4-napi-|@napi-rs\/(?:blake-hash-|lzma)|saxes$)/;
    expect(bare.split('\n').filter((name) => name !== '' && !known.test(name))).toEqual([]);
  });

  it('starts every program, also those that load a library on demand', async () => {
    // Each ends with what it misses outside of a pod, and not because of a module.
    const commands = [
      'cmd/operator.ts --kubernetes.kubeconfig=/missing',
      'cmd/slipway.ts ctl status --kubectl --kubeconfig /missing',
      'cmd/kubectl-slipway.ts status',
      'cmd/daemon-supervisor.ts --config /missing.yaml',
      'cmd/server.ts --config /missing.yaml',
    ];
    for (const command of commands) {
      const said = await inImage(`node ${command} 2>&1; true`);
      expect(said).toMatch(/missing|kubeconfig|cluster/i);
      expect(said).not.toMatch(/ERR_MODULE_NOT_FOUND|MODULE_NOT_FOUND/);
    }
  });

  it('has the same files in a release, whose sums, charts, materials and provenance say what it is', async () => {
    const checkout = join(directory, 'checkout');
    await makeReleaseCheckout(checkout);
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    const name = `${RUN}-release`;
    const release = (...more: readonly string[]): ReturnType<typeof spawnSync> => {
      const args = [
        `--version=${version}`,
        `--node-image=${BASE}`,
        `--image=${name}`,
        '--docker-flags=--network=none',
      ];
      return spawnSync(
        process.execPath,
        ['scripts/release.ts', ...args, '--registry=registry.example.org/games', ...more],
        {
          cwd: checkout,
          encoding: 'utf8',
          env: docker?.env,
        },
      );
    };
    await writeFile(join(checkout, 'left-over.txt'), '');
    expect(release()).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('?? left-over.txt') as string,
    });
    await rm(join(checkout, 'left-over.txt'));
    const built = release();
    expect(String(built.stderr)).not.toContain('release: ');
    expect(built.status).toBe(0);

    const digest = async (image: string): Promise<string> =>
      await runInContainer(new GenericContainer(image), 'find /app -type f -exec sha256sum {} + | sort -k 2');
    const digests = [await digest(IMAGE), await digest(`${name}:${version}`)];
    tryRun('image', 'rm', '--force', `${name}:${version}`);
    expect(digests[0]).toContain('/app/cmd/server.ts');
    expect(digests[0]).toBe(digests[1]);

    const folder = join(checkout, '.release', version);
    const inFolder = (command: string): string =>
      execFileSync('sh', ['-c', command], { cwd: folder, encoding: 'utf8' });
    const files = inFolder('ls').trim().split('\n');
    const platform = process.arch === 'arm64' ? 'arm64' : 'amd64';
    const expected = [
      'SHA256SUMS',
      `slipway-${version}-docs.tar.gz`,
      `slipway-${version}-linux-${platform}.cdx.json`,
      `slipway-${version}-linux-${platform}.tar`,
      `slipway-${version}-manifests.tar.gz`,
      `slipway-${version}.provenance.json`,
      `slipway-${version}.tgz`,
      `slipway-crds-${version}.tgz`,
    ];
    expect(files.toSorted()).toEqual(expected.toSorted());
    expect(inFolder('sha256sum -c SHA256SUMS').trim().split('\n')).toHaveLength(files.length - 1);
    // Users find the image where the release will be, with and without Helm.
    expect(parse(inFolder(`tar -xOf slipway-${version}.tgz slipway/values.yaml`))).toMatchObject({
      image: { registry: 'registry.example.org', repository: 'games/slipway', tag: '' },
    });
    for (const [path, before, after] of [
      ['manifests/install.yaml', '', '\n'],
      ['manifests/samples/demo-upstream.yaml', '', '\n'],
      ['deploy/compose/compose.yaml', '${SLIPWAY_IMAGE:-', '}\n'],
    ]) {
      expect(inFolder(`tar -xOf slipway-${version}-manifests.tar.gz ${path}`)).toContain(
        `image: ${before}registry.example.org/games/slipway:${version}${after}`,
      );
    }
    const statement = JSON.parse(inFolder(`cat slipway-${version}.provenance.json`)) as {
      readonly subject: ReadonlyArray<{
        readonly name: string;
        readonly digest: { readonly sha256: string };
      }>;
    };
    const sums = inFolder('cat SHA256SUMS');
    for (const {
      name: subject,
      digest: { sha256 },
    } of statement.subject) {
      expect(sums).toContain(`${sha256}  ${subject}\n`);
    }
    expect(statement).toMatchObject({
      predicateType: 'https://slsa.dev/provenance/v1',
      predicate: {
        buildDefinition: {
          resolvedDependencies: [
            { digest: { gitCommit: inFolder('git rev-parse HEAD').trim() } },
            { name: 'package-lock.json' },
            { uri: `docker://${BASE}` },
          ],
        },
      },
    });
    const { components } = JSON.parse(inFolder('cat *.cdx.json')) as BillOfMaterials;
    expect(components.map(({ name: component }) => component)).toContain('zod');
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

  it.skipIf(docker?.hasBridge === true || !hasTool('docker-compose') || !hasTool('caddy'))(
    'serves the demo with compose behind Caddy, and keeps its keys when it is started again',
    async () => {
      const [upstream = 0, port = 0, metrics = 0, daemonMetrics = 0, caddyPort = 0] = await freePorts(5);
      const url = `http://127.0.0.1:${port}`;
      const file = await writeHostCompose(directory, {
        daemon: { SLIPWAY_METRICS_PORT: String(daemonMetrics) },
        server: { SLIPWAY_LISTEN_PORT: String(port), SLIPWAY_METRICS_PORT: String(metrics) },
      });
      const env = {
        ...docker?.env,
        COMPOSE_PROJECT_NAME: RUN,
        COMPOSE_PROFILES: 'demo',
        SLIPWAY_IMAGE: IMAGE,
        PUBLIC_BASE_URL: url,
        UPSTREAM_PORT: String(upstream),
        UPSTREAM_URL: `http://127.0.0.1:${upstream}/`,
      };
      const compose = async (...args: readonly string[]): Promise<string> =>
        (await execute('docker-compose', ['--file', file, ...args], { env })).stdout;
      const inServer = async (command: string): Promise<string> =>
        await compose('exec', '-T', 'server', 'sh', '-c', command);
      const start = async (): Promise<void> => {
        await compose('up', '--detach');
        await untilReady(url);
      };
      onTestFinished(async () => {
        await compose('down', '--volumes', '--timeout', '10');
      });
      await start();
      // The container has the address and the token.
      expect(await inServer(`SLIPWAY_CTL_URL=${url} slipway ctl status`)).toContain('r89_demo');
      // Only the daemon has the key that signs.
      expect(await inServer('ls /keys /trust 2>/dev/null || true')).toBe(
        '/trust:\nadmin.token\nsigning.pub\n',
      );
      const made = await inServer('cat /trust/*');

      const site = `http://127.0.0.1:${caddyPort}`;
      const caddy = spawn('caddy', ['run', '--config', CADDYFILE, '--adapter', 'caddyfile'], {
        env: {
          PATH: process.env['PATH'],
          HOME: directory,
          SITE: site,
          CDN_HOST: 'files.example.org',
          SERVER: `127.0.0.1:${port}`,
        },
        stdio: 'ignore',
      });
      onTestFinished(() => {
        caddy.kill();
      });
      await untilReady(site);
      const range = await fetch(`${site}/files.example.org/TableBundles/Localize000.csv`, {
        headers: { range: 'bytes=0-9' },
      });
      expect([range.status, (await range.bytes()).length]).toEqual([206, 10]);
      expect((await fetch(`${site}/admin/status`)).status).toBe(404);

      await compose('down', '--timeout', '10');
      await start();
      expect(await inServer('cat /trust/*')).toBe(made);
    },
  );
});

async function untilReady(url: string): Promise<void> {
  await until(
    async () =>
      await fetch(`${url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ),
  );
}
