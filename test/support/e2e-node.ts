import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import type { TestProject } from 'vitest/node';
import { startDocker, type Docker } from './docker.ts';
import { CHART } from './helm.ts';
import { kubeNodePrograms, startKubeNode } from './kube-node.ts';
import { kubeTools } from './kube-tools.ts';
import { hasTool } from './tools.ts';

const IMAGE = 'localhost/slipway:e2e';
const CHILD = join(import.meta.dirname, 'e2e-image-child.ts');

/** A cluster that runs, with the image loaded. */
export interface StartedCluster {
  readonly kubeconfig: string;
  /** The image, as `repository:tag`. */
  readonly image: string;
  /** The command prefix that runs a program of this machine in the cluster's network; `null` for a cluster elsewhere. */
  readonly enter: readonly string[] | null;
  readonly directory: string;
}

declare module 'vitest' {
  // oxlint-disable-next-line typescript/consistent-type-definitions -- only an interface adds to that of vitest
  interface ProvidedContext {
    readonly e2eCluster: StartedCluster | null;
  }
}

/**
 * Provides one cluster to all files of its tests: that of `E2E_KUBECONFIG` with the image `E2E_IMAGE` (repository:tag), or
 * else one that is started on this machine with an image that is built now; `null` when neither is available.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), 'slipway-e2e-'));
  const ends: Array<() => Promise<void>> = [
    async () => await rm(directory, { recursive: true, force: true }),
  ];
  const end = async (): Promise<void> => {
    for (const each of ends.toReversed()) await each();
  };
  try {
    const cluster = await findCluster(directory, (each) => ends.push(each));
    if (cluster !== null) installDefinition(cluster);
    project.provide('e2eCluster', cluster);
  } catch (error) {
    await end();
    throw error;
  }
  return end;
}

async function findCluster(
  directory: string,
  atEnd: (end: () => Promise<void>) => void,
): Promise<StartedCluster | null> {
  const { E2E_KUBECONFIG: kubeconfig, E2E_IMAGE: image } = process.env;
  if (kubeconfig !== undefined && image !== undefined) return { kubeconfig, image, enter: null, directory };
  if (!hasTool('docker') || !hasTool('busybox')) return null;
  const programs = kubeNodePrograms();
  if (programs === null) return null;
  const docker = await startDocker();
  if (docker === null) return null;
  atEnd(docker.stop);
  const [packed, started] = await Promise.allSettled([packImage(docker, directory), startKubeNode(programs)]);
  if (started.status === 'rejected') throw started.reason;
  const node = started.value;
  atEnd(async () => await node.stop());
  if (packed.status === 'rejected') throw packed.reason;
  node.importImage(packed.value);
  await rm(packed.value);
  return { kubeconfig: node.kubeconfig, image: IMAGE, enter: node.enter, directory: node.directory };
}

/** @returns the path of an archive with the image and that of pod sandboxes */
async function packImage({ env }: Docker, directory: string): Promise<string> {
  const child = spawn(process.execPath, [CHILD, directory, IMAGE], { env, stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`the image could not be built: ${CHILD} ended with ${code}`);
  return join(directory, 'images.tar');
}

/** Installs the definition that the chart brings. Otherwise installations in two files could each be the first to create it. */
function installDefinition({ kubeconfig, enter }: StartedCluster): void {
  const kubectl = kubeTools('kubectl')?.kubectl;
  if (kubectl === undefined) throw new Error('kubectl is missing');
  const file = join(CHART, 'files/slipway.dev_releasechannels.yaml');
  const [command, ...args] = [...(enter ?? []), kubectl, `--kubeconfig=${kubeconfig}`];
  execFileSync(command, [...args, 'apply', '--server-side', '-f', file]);
}
