import type { CoreV1Api, V1Pod } from '@kubernetes/client-node';
import { describe, expect, it } from 'vitest';
import { resolveTarget, type TargetApis } from '../../../src/cli/ctl/cluster/forward-target.ts';
import { KubernetesError } from '../../../src/platform/kubernetes/kubernetes-error.ts';

const POD: V1Pod = {
  metadata: { name: 'slipway-1' },
  spec: {
    containers: [{ name: 'server', ports: [{ name: 'http', containerPort: 8123 }] }],
    initContainers: [{ name: 'daemon', ports: [{ name: 'daemon-metrics', containerPort: 9191 }] }],
  },
  status: { phase: 'Running' },
};

const selector = { matchLabels: { app: 'slipway' } };

const workload = (name: string) => ({
  metadata: { name },
  spec: { template: { metadata: { labels: { app: name } } } },
});

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
    listNamespacedDeployment: async () => ({ items: [workload('game'), workload('slipway')] }),
    listNamespacedStatefulSet: async () => ({ items: [workload('slipway-daemon')] }),
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

  describe('without a running pod', () => {
    const PENDING: V1Pod = { metadata: { name: 'slipway-1' }, status: { phase: 'Pending' } };
    const event = (kind: string, name: string, reason: string, message: string, minute: number): object => ({
      involvedObject: { kind, name },
      reason,
      message,
      lastTimestamp: new Date(Date.UTC(2026, 0, 1, 0, minute)),
      metadata: {},
    });
    const EVENTS = [
      event('Pod', 'slipway-1', 'FailedMount', 'secret "signing" not found', 2),
      event('Pod', 'slipway-1', 'FailedScheduling', '0/1 nodes are available', 1),
      event('Pod', 'another', 'BackOff', 'another pod', 3),
      event('ReplicaSet', 'slipway-74d', 'FailedCreate', 'must specify limits.cpu', 3),
      // Another program, also one whose name begins the same.
      event('ReplicaSet', 'game-74d', 'FailedCreate', 'exceeded quota', 4),
      event('ReplicaSet', 'slipway-daemon-74d', 'FailedCreate', 'exceeded quota', 5),
      event('StatefulSet', 'slipway-daemon', 'FailedCreate', 'exceeded quota', 6),
    ];
    const resolveWith = async (pods: readonly V1Pod[], listEvents: () => Promise<object>) =>
      await resolveTarget(
        {
          ...apis,
          core: {
            readNamespacedService: async (service: Parameters<CoreV1Api['readNamespacedService']>[0]) =>
              await apis.core.readNamespacedService(service),
            listNamespacedPod: async () => ({ items: pods }),
            listNamespacedEvent: listEvents,
          } as unknown as TargetApis['core'],
        },
        { target: 'service/slipway', targetPort: null, namespace: 'ns' },
        new AbortController().signal,
      );
    const ABSENT = 'service/slipway has no running pod in namespace "ns"';

    it.each([
      ['its pod', [PENDING], `${ABSENT}: slipway-1: secret "signing" not found; check`],
      ['its owner when there is none', [], `${ABSENT}: slipway-74d: must specify limits.cpu; check`],
    ])('names the newest warning about %s', async (_, pods, message) => {
      await expect(resolveWith(pods, async () => ({ items: EVENTS }))).rejects.toThrow(message);
    });

    it('says so without a reason when there is no warning, or events must not be read', async () => {
      const forbidden = async (): Promise<object> => {
        throw new KubernetesError(403, 'Forbidden', 'events is forbidden');
      };
      for (const listEvents of [forbidden, async () => ({ items: [] })]) {
        await expect(resolveWith([PENDING], listEvents)).rejects.toThrow(`${ABSENT}; check`);
      }
    });
  });
});
