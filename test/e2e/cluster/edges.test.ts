import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { e2eCluster, type E2eCluster } from '../../support/e2e-cluster.ts';
import { CDN_HOST, E2eNamespace } from '../../support/e2e-namespace.ts';

const NAMESPACE = `slipway-edges-${randomUUID().slice(0, 8)}`;

const cluster = e2eCluster();

// This node has no storage class: its volumes are host folders.
describe.skipIf(cluster === null || cluster.enter === null)('an installation with edges', () => {
  const { kubectl, helm } = cluster ?? ({} as E2eCluster);
  const { create, createVolumes, eventually, holdDownloads, readyPods, serve, startLoad } = new E2eNamespace(
    cluster ?? ({} as E2eCluster),
    NAMESPACE,
  );

  beforeAll(create);

  afterAll(() => {
    if (cluster !== null) kubectl(['delete', 'namespace', NAMESPACE, '--wait=false']);
  });

  it('edges scale under load and back without a failed request or download, and keep their claims', async () => {
    const edge = {
      enabled: true,
      storage: { snapshot: { size: '1Gi' }, data: { size: '1Gi' } },
      server: { resources: { requests: { cpu: '120m', memory: '128Mi' } } },
      daemon: {
        config: { upstream: { slipway: { pollSeconds: 1 } } },
        resources: { requests: { cpu: '10m', memory: '128Mi' } },
      },
      autoscaling: { enabled: true, minReplicas: 1, maxReplicas: 2, scaleDownSeconds: 0 },
    };
    const ordinals = ['0', '1'];
    await createVolumes('snapshot-edged-edge', ordinals);
    await createVolumes('data-edged-edge', ordinals);
    const begun = performance.now();
    const say = (what: string): void => {
      console.log(`${what} after ${((performance.now() - begun) / 1000).toFixed(1)} s`);
    };
    await serve('edged', { edge });
    await eventually('an edge is whole', () => readyPods('edged-edge') === 1);
    expect(helm(['test', 'edged', '-n', NAMESPACE, '--logs'])).toContain('edges serve release R-edged');
    await eventually('metrics are served', () =>
      kubectl(['get', '--raw', `/apis/metrics.k8s.io/v1beta1/namespaces/${NAMESPACE}/pods`]).includes(
        '"usage"',
      ),
    );
    say('metrics are served');

    const base = `http://edged-edge.${NAMESPACE}.svc/${CDN_HOST}/R-edged`;
    const calm = await startLoad(`${base}/text.json`, 40);
    const busy = await startLoad(`${base}/text.json`, 0.5);
    await eventually('the load makes a second edge', () => readyPods('edged-edge') === 2);
    say('a second edge was ready');
    const fieldOf = (pod: string, field: string): string =>
      kubectl(['-n', NAMESPACE, 'get', 'pod', pod, '--ignore-not-found', '-o', `jsonpath={${field}}`]);
    const address = fieldOf('edged-edge-1', '.status.podIP');
    const readOn = await holdDownloads(`http://${address}:8080/${CDN_HOST}/R-edged/film.mp4`);
    const load = await busy.stop();
    await eventually(
      'the edge that is no longer needed stops',
      () => fieldOf('edged-edge-1', '.metadata.deletionTimestamp') !== '',
    );
    say('the second edge began to stop');
    expect(await readOn()).toEqual([8_388_608, 8_388_608, 8_388_608, 8_388_608]);
    await eventually('the edge is gone', () => fieldOf('edged-edge-1', '.metadata.name') === '');
    say('the second edge was gone');
    const rest = await calm.stop();
    expect([...load.lost, ...rest.lost]).toEqual([]);
    expect(load.single + load.kept).toBeGreaterThan(100);
    expect(rest.single + rest.kept).toBeGreaterThan(10);
    const claims = kubectl(['-n', NAMESPACE, 'get', 'persistentvolumeclaims', '-o', 'name']).split('\n');
    expect(claims).toContain('persistentvolumeclaim/snapshot-edged-edge-1');
  });
});
