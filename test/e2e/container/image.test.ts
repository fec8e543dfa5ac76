import { createHash, randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { makeKeys } from '../../support/make-keys.ts';
import { buildImage, makeBaseImage } from '../../support/container-image.ts';
import { startDocker, type Docker } from '../../support/docker.ts';
import { writeReleaseTree } from '../../support/release-tree.ts';
import { hasTool } from '../../support/tools.ts';
import { until } from '../../support/until.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const MEBIBYTE = 1024 * 1024;
const RUN = `slipway-test-${randomUUID().slice(0, 8)}`;
const BASE = `${RUN}-base:1`;
const IMAGE = `${RUN}:1`;
/** What the chart asks of every container. */
const RESTRICTED = ['--read-only', '--cap-drop=ALL', '--security-opt=no-new-privileges'];
const PROGRAMS = ['daemon', 'operator', 'server'];

const canRun = hasTool('docker') && hasTool('busybox');
const docker = canRun ? await startDocker() : null;

describe.skipIf(docker === null)('the image', () => {
  const { run, tryRun, env } = docker ?? ({} as Docker);
  let directory = '';

  /** Runs a command in a fresh container of the image. */
  const inImage = (...command: readonly string[]): string =>
    run('run', '--rm', '--network=none', ...RESTRICTED, '--entrypoint=sh', IMAGE, '-c', command.join(' '));

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'slipway-image-'));
    await chmod(directory, 0o755);
    await makeBaseImage(docker as Docker, BASE, join(directory, 'base'));
    buildImage(docker as Docker, BASE, IMAGE);
  });

  afterAll(async () => {
    for (const id of run('ps', '--all', '--quiet', `--filter=label=${RUN}`).split('\n').filter(Boolean)) {
      tryRun('rm', '--force', id);
    }
    for (const part of ['snapshot', 'data']) tryRun('volume', 'rm', `${RUN}-${part}`);
    tryRun('image', 'rm', '--force', IMAGE, BASE);
    await docker?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  it('says what it is, and runs as a number without rights', async () => {
    const [{ Config }] = JSON.parse(run('image', 'inspect', IMAGE)) as [{ Config: Record<string, unknown> }];
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(Config).toMatchObject({
      User: '65532:65532',
      Labels: {
        'org.opencontainers.image.title': 'Slipway',
        'org.opencontainers.image.licenses': 'Apache-2.0',
        'org.opencontainers.image.version': version,
      },
    });
    // What scanners read the packages from.
    const packages = JSON.parse(inImage('cat /app/node_modules/.package-lock.json')) as { packages: object };
    expect(Object.keys(packages.packages)).toContain('node_modules/zod');
  });

  it('has nothing that its user could change, and no tests or tools', () => {
    const writable = run(
      'run',
      '--rm',
      '--network=none',
      '--cap-drop=ALL',
      '--entrypoint=sh',
      IMAGE,
      '-c',
      'touch /app/x /compile-cache/x 2>/dev/null; find / -xdev -type f -user 65532; ls /app',
    );
    expect(writable.split('\n')).toEqual(['LICENSE', 'cmd', 'docs', 'node_modules', 'package.json', 'src']);
  });

  it('has every program in its compile cache, and uses it as this user', () => {
    for (const program of PROGRAMS) {
      const trace = inImage(`NODE_DEBUG_NATIVE=COMPILE_CACHE node cmd/${program}.ts --help 2>&1 >/dev/null`);
      const lines = trace.split('\n').filter((line) => line.includes('/app/src/'));
      expect(lines.filter((line) => /accepted|success/.test(line)).length).toBeGreaterThan(10);
      // The operator is interpreted: of what others compiled it takes the stripped types alone.
      const misses = program === 'operator' ? /no such file/ : /no such file|not initialized|rejected/;
      expect(lines.filter((line) => misses.test(line))).toEqual([]);
    }
  });

  it('is built twice with the same files', () => {
    const again = `${RUN}:2`;
    buildImage(docker as Docker, BASE, again);
    const digest = (image: string): string =>
      run(
        'run',
        '--rm',
        '--network=none',
        '--entrypoint=sh',
        image,
        '-c',
        'find /app -type f | sort | xargs -d "\\n" sha256sum | sha256sum',
      );
    const digests = [digest(IMAGE), digest(again)];
    tryRun('image', 'rm', '--force', again);
    expect(digests[0]).toBe(digests[1]);
  });

  it('syncs and serves as a pod does, and SIGTERM lets a running download finish', async () => {
    const film = Buffer.alloc(64 * MEBIBYTE, 'slipway ');
    film.writeUInt32BE(4_711, 12_345_678);
    await writeReleaseTree(join(directory, 'upstream'), {
      id: 'R1',
      files: new Map([
        ['film.mp4', film],
        ['text.json', Buffer.from('{}')],
      ]),
    });
    const keys = join(directory, 'keys');
    await makeKeys(keys);
    await chmod(join(keys, 'signing.key'), 0o644);
    await mkdir(join(directory, 'config'));
    await writeFile(
      join(directory, 'config/daemon.yaml'),
      stringify({
        snapshot: { root: '/var/lib/slipway/snapshot/store' },
        data: { dir: '/var/lib/slipway/data/databases' },
        attestation: { signingKeyFiles: ['/keys/signing.key'] },
        upstream: { kind: 'directory', directory: { path: '/upstream' } },
      }),
    );
    await writeFile(
      join(directory, 'config/server.yaml'),
      stringify({
        publicBaseUrl: 'http://127.0.0.1:8080',
        snapshot: { root: '/var/lib/slipway/snapshot/store' },
        attestation: { publicKeyFiles: ['/keys/signing.pub'] },
        cdn: { host: 'cdn.test.invalid' },
        shutdown: { propagationDelaySeconds: 0 },
      }),
    );
    const mount = (source: string, target: string, mode = 'ro'): string =>
      `--volume=${source}:${target}:${mode}`;
    const config = mount(join(directory, 'config'), '/config');
    const keyMount = mount(keys, '/keys');
    // What fsGroup does in a cluster.
    for (const part of ['snapshot', 'data']) {
      run('volume', 'create', `${RUN}-${part}`);
      run(
        'run',
        '--rm',
        '--network=none',
        '--user=0:0',
        mount(`${RUN}-${part}`, '/volume', 'rw'),
        '--entrypoint=chown',
        IMAGE,
        '65532:65532',
        '/volume',
      );
    }
    const common = ['run', '--detach', `--label=${RUN}`, ...RESTRICTED, config, keyMount];
    const daemon = run(
      ...common,
      '--network=none',
      '--tmpfs=/tmp',
      mount(join(directory, 'upstream'), '/upstream'),
      mount(`${RUN}-snapshot`, '/var/lib/slipway/snapshot', 'rw'),
      mount(`${RUN}-data`, '/var/lib/slipway/data', 'rw'),
      IMAGE,
      'cmd/daemon.ts',
      '--config',
      '/config/daemon.yaml',
    );
    const server = run(
      ...common,
      `--network=container:${daemon}`,
      mount(`${RUN}-snapshot`, '/var/lib/slipway/snapshot'),
      IMAGE,
      'cmd/server.ts',
      '--config',
      '/config/server.yaml',
    );
    // The daemon's container shares the loopback of the server's and outlives it, as in a pod.
    const fetchText = (path: string, headers = '{}'): string =>
      run(
        'exec',
        daemon,
        'node',
        '-e',
        `fetch("http://127.0.0.1:8080${path}", { headers: ${headers} }).then(async (r) => console.log(r.status, await r.text()))`,
      );
    await until(() => {
      const isRunning = run('inspect', '--format={{.State.Running}}', server) === 'true';
      return !isRunning || fetchText('/readyz').startsWith('200 ');
    }, 120_000).catch((error: unknown) => {
      throw new Error(`not ready:\n${run('logs', daemon)}\n${run('logs', server)}`, { cause: error });
    });
    expect(run('inspect', '--format={{.State.Running}}', server), run('logs', server)).toBe('true');
    expect(fetchText('/cdn.test.invalid/text.json', '{ range: "bytes=1-1" }')).toBe('206 }');

    const download = spawn(
      'docker',
      [
        'exec',
        '--interactive',
        daemon,
        'node',
        '--input-type=module',
        '-e',
        `import { createHash } from 'node:crypto';
         import { once } from 'node:events';
         import http from 'node:http';
         const [response] = await once(http.get('http://127.0.0.1:8080/cdn.test.invalid/R1/film.mp4'), 'response');
         const hash = createHash('sha256');
         const body = response.iterator();
         hash.update((await body.next()).value);
         console.log('begun');
         await once(process.stdin, 'data');
         process.stdin.pause();
         for await (const chunk of body) hash.update(chunk);
         console.log(hash.digest('hex'));`,
      ],
      { env, stdio: ['pipe', 'pipe', 'inherit'] },
    );
    const lines = createInterface({ input: download.stdout })[Symbol.asyncIterator]();
    expect(await lines.next()).toMatchObject({ value: 'begun' });
    run('kill', '--signal=TERM', server);
    // It says so when it has stopped taking requests; the download is still held.
    await until(() => tryRun('exec', daemon, 'node', '-e', REFUSED).code === 0, 30_000);
    expect(run('inspect', '--format={{.State.Running}}', server)).toBe('true');
    download.stdin.end('go on\n');
    expect(await lines.next()).toMatchObject({ value: createHash('sha256').update(film).digest('hex') });
    if (download.exitCode === null) await once(download, 'exit');
    expect(download.exitCode).toBe(0);
    expect(run('wait', server)).toBe('0');
    run('kill', '--signal=TERM', daemon);
    expect(run('wait', daemon)).toBe('0');
  });
});

/** Ends with 0 when the server takes no connection any more. */
const REFUSED = `fetch("http://127.0.0.1:8080/healthz").then(() => process.exit(1), () => process.exit(0))`;
