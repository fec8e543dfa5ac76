import { randomBytes } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import { buildReleaseChannelDefinition } from '../../scripts/reference/custom-resource-definition.ts';
import { GROUP_VERSION } from '../../src/contract/crd/resource-names.ts';
import {
  startKubeControlPlane,
  type KubeAccess,
  type KubeApi,
  type KubeControlPlane,
} from './kube-control-plane.ts';
import { kubeTools } from './kube-tools.ts';
import { until } from './until.ts';

/** An API server with the definition of ReleaseChannel, and a user with no permission but those of its roles. */
export interface OperatorAccess extends KubeAccess {
  /** Token of the user `operator`. */
  readonly operatorToken: string;
}

declare module 'vitest' {
  // oxlint-disable-next-line typescript/consistent-type-definitions -- only an interface adds to that of vitest
  interface ProvidedContext {
    readonly operatorPlane: OperatorAccess | null;
  }
}

/** Provides one control plane to all files of the tier; `null` when its programs are missing. */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (kubeTools('etcd', 'kube-apiserver') === null) {
    project.provide('operatorPlane', null);
    return undefined;
  }
  const { plane, operatorToken } = await startOperatorPlane();
  const { url, token, ca, kubeconfig, directory } = plane;
  project.provide('operatorPlane', { url, token, ca, kubeconfig, directory, operatorToken });
  return async () => await plane.stop();
}

/** @throws Error when the programs are missing */
export async function startOperatorPlane(): Promise<{
  readonly plane: KubeControlPlane;
  readonly operatorToken: string;
}> {
  const operatorToken = randomBytes(16).toString('hex');
  const plane = await startKubeControlPlane({
    users: { [operatorToken]: { name: 'operator', groups: ['operators'] } },
  });
  if (plane === null) throw new Error('the programs are missing');
  try {
    await installDefinition(plane);
  } catch (error) {
    await plane.stop();
    throw error;
  }
  return { plane, operatorToken };
}

/** Installs the definition and waits until it is served. */
export async function installDefinition(plane: KubeApi): Promise<void> {
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const { status, body } = await plane.request('POST', path, { body: buildReleaseChannelDefinition() });
  if (status !== 201) throw new Error(`the definition was refused: ${JSON.stringify(body)}`);
  await until(
    async () => (await plane.request('GET', `/apis/${GROUP_VERSION}/releasechannels`)).status === 200,
  );
}
