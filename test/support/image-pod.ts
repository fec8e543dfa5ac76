import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Wait, type StartedTestContainer } from 'testcontainers';
import { stringify } from 'yaml';
import { RestrictedContainer } from './containers.ts';
import type { Docker } from './docker.ts';
import { freePorts } from './free-ports.ts';
import { makeKeys } from './make-keys.ts';
import { CDN_HOST } from './system.ts';

/** The ports of the programs in their own network. */
const POD_PORTS = [8081, 8080, 9090] as const;

/** Daemon and server in two containers that share a network and volumes, as in the chart's pod. */
export interface ImagePod {
  readonly daemon: StartedTestContainer;
  readonly server: StartedTestContainer;
  /** The server's base URL, from outside. */
  readonly url: string;
}

/** The parts of a pod. */
export interface ImagePodOptions {
  readonly docker: Docker;
  readonly image: string;
  /** An empty folder, readable for all users. */
  readonly directory: string;
  /** The folder that the daemon syncs from. */
  readonly upstream: string;
  /** Named volumes; the caller creates and removes them. */
  readonly volumes: { readonly snapshot: string; readonly data: string };
}

/**
 * Starts the pod and waits until it is ready. On a daemon with a bridge the containers have their own network and a
 * mapped port; otherwise they share the network of this machine.
 *
 * @throws Error with the log of the container that did not become ready
 */
export async function startImagePod(options: ImagePodOptions): Promise<ImagePod> {
  const { image, directory, upstream, volumes } = options;
  const { hasBridge } = options.docker;
  const [daemonPort = 0, port = 0, metricsPort = 0] = hasBridge ? POD_PORTS : await freePorts(3);
  await writeConfiguration(directory, { daemonPort, port, metricsPort });
  const shared = [
    { source: join(directory, 'config'), target: '/config', mode: 'ro' as const },
    { source: join(directory, 'keys'), target: '/keys', mode: 'ro' as const },
  ];
  const daemonContainer = new RestrictedContainer(image)
    .withCommand(['cmd/daemon.ts', '--config', '/config/daemon.yaml'])
    .withTmpFs({ '/tmp': '' })
    .withBindMounts([
      ...shared,
      { source: upstream, target: '/upstream', mode: 'ro' },
      { source: volumes.snapshot, target: '/var/lib/slipway/snapshot', mode: 'rw' },
      { source: volumes.data, target: '/var/lib/slipway/data', mode: 'rw' },
      { source: join(directory, 'pair'), target: '/pair', mode: 'rw' },
    ])
    .withWaitStrategy(Wait.forLogMessage('daemon listening'));
  // The daemon owns the network, because the server ends first.
  const daemon = await (
    hasBridge ? daemonContainer.withExposedPorts(port) : daemonContainer.withNetworkMode('host')
  ).start();
  try {
    const server = await new RestrictedContainer(image)
      .withCommand(['cmd/server.ts', '--config', '/config/server.yaml'])
      .withBindMounts([
        ...shared,
        { source: join(directory, 'pair'), target: '/pair', mode: 'ro' },
        { source: volumes.snapshot, target: '/var/lib/slipway/snapshot', mode: 'ro' },
      ])
      .withNetworkMode(hasBridge ? `container:${daemon.getId()}` : 'host')
      .withWaitStrategy(Wait.forSuccessfulCommand(`wget -q -O /dev/null http://127.0.0.1:${port}/readyz`))
      .start();
    const url = hasBridge
      ? `http://${daemon.getHost()}:${daemon.getMappedPort(port)}`
      : `http://127.0.0.1:${port}`;
    return { daemon, server, url };
  } catch (error) {
    await daemon.stop();
    throw error;
  }
}

async function writeConfiguration(
  directory: string,
  ports: { readonly daemonPort: number; readonly port: number; readonly metricsPort: number },
): Promise<void> {
  await makeKeys(join(directory, 'keys'));
  await chmod(join(directory, 'keys'), 0o755);
  await chmod(join(directory, 'keys/signing.key'), 0o644);
  await mkdir(join(directory, 'config'));
  // The user of the image is not the one of this machine.
  await mkdir(join(directory, 'pair'));
  await chmod(join(directory, 'pair'), 0o777);
  await writeFile(
    join(directory, 'config/daemon.yaml'),
    stringify({
      listen: { host: '127.0.0.1', port: ports.daemonPort },
      snapshot: { root: '/var/lib/slipway/snapshot/store' },
      data: { dir: '/var/lib/slipway/data/databases' },
      tokenFile: '/pair/api.token',
      attestation: { signingKeyFiles: ['/keys/signing.key'] },
      upstream: { kind: 'directory', directory: { path: '/upstream' } },
    }),
  );
  await writeFile(
    join(directory, 'config/server.yaml'),
    stringify({
      listen: { port: ports.port },
      metrics: { port: ports.metricsPort },
      publicBaseUrl: `http://127.0.0.1:${ports.port}`,
      daemon: { url: `http://127.0.0.1:${ports.daemonPort}`, tokenFile: '/pair/api.token' },
      snapshot: { root: '/var/lib/slipway/snapshot/store' },
      attestation: { publicKeyFiles: ['/keys/signing.pub'] },
      cdn: { host: CDN_HOST },
      shutdown: { propagationDelaySeconds: 0 },
    }),
  );
}
