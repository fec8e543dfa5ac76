import type { V1Pod } from '@kubernetes/client-node';
import { describe, expect, it } from 'vitest';
import { resolveTarget, type TargetApis } from '../../../../../src/cli/ctl/cluster/forward-target.ts';

/** A pod whose public port has the usual name and an unusual number. */
const POD: V1Pod = {
  metadata: { name: 'slipway-1' },
  spec: {
    containers: [{ name: 'server', ports: [{ name: 'http', containerPort: 8123 }] }],
    initContainers: [{ name: 'daemon', ports: [{ name: 'daemon-metrics', containerPort: 9191 }] }],
  },
  status: { phase: 'Running' },
};

const selector = { matchLabels: { app: 'slipway' } };

const apis = {
  core: {
    readNamespacedService: async () => ({
      spec: { selector: { app: 'slipway' }, ports: [{ name: 'http', port: 8443, targetPort: 'http' }] },
    }),
    readNamespacedPod: async () => POD,
    listNamespacedPod: async () => ({ items: [POD] }),
  },
  apps: {
    readNamespacedDeployment: async () => ({ spec: { selector } }),
    readNamespacedStatefulSet: async () => ({ spec: { selector } }),
  },
  call: () => ({}),
} as unknown as TargetApis;

describe('the port behind a target', () => {
  const resolve = async (target: string, targetPort: string | null) =>
    await resolveTarget(apis, { target, targetPort, namespace: 'ns' }, new AbortController().signal);

  it.each(['service/slipway', 'deployment/slipway', 'statefulset/slipway', 'pod/slipway-1'])(
    'is found by its name at %s, whatever its number is',
    async (target) => {
      expect(await resolve(target, null)).toEqual({ pod: 'slipway-1', port: 8123 });
    },
  );

  it('may be another one, by name or number', async () => {
    expect(await resolve('deployment/slipway', 'daemon-metrics')).toMatchObject({ port: 9191 });
    expect(await resolve('deployment/slipway', '7000')).toMatchObject({ port: 7000 });
    expect(await resolve('service/slipway', '8443')).toMatchObject({ port: 8123 });
    await expect(resolve('pod/slipway-1', 'nothing')).rejects.toThrow(
      'no container of pod/slipway-1 has a port named "nothing"',
    );
  });
});
