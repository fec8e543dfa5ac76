import { spawn, spawnSync, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { buildImage, makeBaseImage } from './container-image.ts';
import { startDocker } from './docker.ts';
import { CHART } from './helm.ts';
import { PAUSE_COMMAND, startKubeNode } from './kube-node.ts';
import { kubeTools } from './kube-tools.ts';
import { hasTool } from './tools.ts';

/** A cluster that really runs pods, with the image loaded. */
export interface E2eCluster {
  /** Values that name the image. */
  readonly image: { readonly repository: string; readonly tag: string; readonly pullPolicy: string };
  /** Runs kubectl. @throws Error with what it printed when it fails */
  readonly kubectl: (args: readonly string[], input?: string) => string;
  /** Starts kubectl with its input and output connected. */
  readonly startKubectl: (args: readonly string[]) => ChildProcessWithoutNullStreams;
  /** Runs Helm; with values, on the chart. */
  readonly helm: (args: readonly string[], values?: object) => string;
  /**
   * The command prefix that runs a program of this machine in the cluster's network; `null` for a cluster elsewhere.
   */
  readonly enter: readonly string[] | null;
  readonly directory: string;
  /** Starts metrics-server; a cluster elsewhere is expected to have one. */
  readonly startMetrics: () => Promise<void>;
  readonly logs: () => Promise<string>;
  readonly stop: () => Promise<void>;
}

/**
 * The cluster of `E2E_KUBECONFIG` with the image `E2E_IMAGE` (repository:tag), or else a cluster that is started on
 * this machine with an image that is built now.
 *
 * @returns `null` when neither is available
 */
export async function startE2eCluster(): Promise<E2eCluster | null> {
  const { E2E_KUBECONFIG: kubeconfig, E2E_IMAGE: image } = process.env;
  if (kubeconfig !== undefined && image !== undefined) {
    const directory = await mkdtemp(join(tmpdir(), 'slipway-e2e-'));
    return clusterOf(directory, kubeconfig, image, null, {
      startMetrics: async () => undefined,
      logs: async () => '',
      stop: async () => await rm(directory, { recursive: true, force: true }),
    });
  }
  if (!hasTool('docker') || !hasTool('busybox')) return null;
  const docker = await startDocker();
  if (docker === null) return null;
  const node = await startKubeNode();
  if (node === null) {
    await docker.stop();
    return null;
  }
  const own = 'localhost/slipway:e2e';
  try {
    await makeBaseImage(docker, 'localhost/base:1', join(node.directory, 'base'));
    buildImage(docker, 'localhost/base:1', own);
    const container = docker.run('create', 'localhost/base:1', 'true');
    docker.run(
      'commit',
      `--change=ENTRYPOINT ${JSON.stringify(PAUSE_COMMAND)}`,
      container,
      'localhost/pause:1',
    );
    const archive = join(node.directory, 'images.tar');
    docker.run('save', '--output', archive, own, 'localhost/pause:1');
    node.importImage(archive);
    await rm(archive);
  } catch (error) {
    await node.stop();
    throw error;
  } finally {
    await docker.stop();
  }
  return clusterOf(node.directory, node.kubeconfig, own, node.enter, {
    startMetrics: async () => await node.startMetrics(),
    logs: async () => await node.logs(),
    stop: async () => await node.stop(),
  });
}

function clusterOf(
  directory: string,
  kubeconfig: string,
  image: string,
  enter: readonly string[] | null,
  rest: Pick<E2eCluster, 'startMetrics' | 'logs' | 'stop'>,
): E2eCluster {
  const programs = kubeTools('helm', 'kubectl');
  if (programs === null) throw new Error('helm and kubectl are missing');
  const env = {
    PATH: process.env['PATH'],
    HOME: directory,
    KUBECONFIG: kubeconfig,
    HELM_CACHE_HOME: join(directory, 'helm/cache'),
    HELM_CONFIG_HOME: join(directory, 'helm/config'),
    HELM_DATA_HOME: join(directory, 'helm/data'),
  };
  const command = (words: readonly string[]): [string, string[]] => {
    const [program = '', ...args] = [...(enter ?? []), ...words];
    return [program, args];
  };
  const run = (words: readonly string[], input?: string): string => {
    const result = spawnSync(...command(words), {
      encoding: 'utf8',
      env,
      maxBuffer: 16 * 1024 * 1024,
      ...(input === undefined ? {} : { input }),
    });
    if (result.status !== 0) {
      throw new Error(`${words.join(' ')} failed:\n${result.stdout}${result.stderr}`);
    }
    return result.stdout.trim();
  };
  const colon = image.lastIndexOf(':');
  return {
    image: {
      repository: image.slice(0, colon),
      tag: image.slice(colon + 1),
      pullPolicy: enter === null ? 'IfNotPresent' : 'Never',
    },
    kubectl: (args, input) => run([programs.kubectl, ...args], input),
    startKubectl: (args) => spawn(...command([programs.kubectl, ...args]), { env }),
    helm: (args, values) =>
      values === undefined
        ? run([programs.helm, ...args])
        : run([programs.helm, ...args, CHART, '--values', '-'], JSON.stringify(values)),
    enter,
    directory,
    ...rest,
  };
}
