import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ReleaseChannelStatus } from '../../src/contract/crd/release-channel.ts';
import { publicKeyOf } from '../support/edge.ts';
import { FAKE_TOKEN } from '../support/fake-slipway.ts';
import { kubeTools } from '../support/kube-tools.ts';
import { endpointSlice, IMPATIENT, sharedOperatorWorld } from '../support/operator-world.ts';
import { startOriginProxy, type OriginProxy } from '../support/origin-proxy.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { sharedFixture } from '../support/shared-fixture.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

const missing = kubeTools('etcd', 'kube-apiserver') === null;

/** A real origin whose admin surface accepts the token of the fakes, and the folder of its upstream. */
async function startOrigin(
  daemon: Readonly<Record<string, object>> = {},
): Promise<{ readonly origin: TestSystem; readonly upstream: string }> {
  const upstream = await temporaryDirectory();
  await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
  const token = join(await temporaryDirectory(), 'token');
  await writeFile(token, `${FAKE_TOKEN}\n`);
  const origin = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    server: { admin: { tokenFiles: [token], exposeControl: true } },
    daemon,
  });
  await origin.untilReady(true);
  return { origin, upstream };
}

/** A real edge, which a test can cut off from its origin. */
async function startEdge(
  origin: TestSystem,
): Promise<{ readonly edge: TestSystem; readonly way: OriginProxy }> {
  const way = await startOriginProxy(origin.serverUrl, onTestFinished);
  const key = join(await temporaryDirectory(), 'origin.pub');
  await copyFile(publicKeyOf(origin), key);
  const edge = await startSystem({
    upstream: { kind: 'slipway', slipway: { url: way.url, trustedKeys: [key], pollSeconds: 1 } },
  });
  return { edge, way };
}

const portOf = ({ serverUrl }: TestSystem): { readonly port: number } => ({
  port: Number(new URL(serverUrl).port),
});

describe.skipIf(missing)('an operator with a real origin and real edges', () => {
  const world = sharedFixture(sharedOperatorWorld);

  it('reports how many edges serve the release of the origin, and which is the slowest', async () => {
    const { origin, upstream } = await startOrigin();
    const [first, second] = await Promise.all([startEdge(origin), startEdge(origin)]);
    await Promise.all([first.edge.untilReady(true), second.edge.untilReady(true)]);
    const namespace = await world().createNamespace();
    await world().expose(namespace, 'slipway', [portOf(origin)]);
    await world().expose(namespace, 'slipway-edge', [portOf(first.edge), portOf(second.edge)]);
    await world().startOperator(namespace, { args: IMPATIENT });
    await world().apply(namespace, 'official');
    const untilEdges = async (expected: ReleaseChannelStatus['edges']): Promise<void> => {
      let last: ReleaseChannelStatus['edges'];
      await until(async () => {
        last = (await world().get(namespace, 'official'))?.status?.edges;
        return isDeepStrictEqual(last, expected);
      }).catch((cause: unknown) => {
        throw new Error(`${JSON.stringify(last)} is not ${JSON.stringify(expected)}`, { cause });
      });
    };

    // Nothing says yet that the other Service is one of edges.
    const before = await world().untilCondition(namespace, 'official', 'Ready', 'True');
    expect(before.edges).toBeUndefined();
    const service = `/api/v1/namespaces/${namespace}/services/slipway-edge`;
    const labels = { 'slipway.dev/edges-of': 'slipway' };
    const { status: labelled } = await world().plane.request('PATCH', service, {
      contentType: 'application/merge-patch+json',
      body: { metadata: { labels } },
    });
    expect(labelled).toBe(200);
    const at = (release: string, count: number): { release: string; count: number } => ({ release, count });
    await untilEdges({ count: 2, ready: 2, atRelease: 2, summary: '2/2', releases: [at('r90_one', 2)] });

    second.way.isDown = true;
    await writeReleaseTree(upstream, {
      id: 'r90_two',
      files: sampleFiles().set('new.txt', Buffer.from('new')),
    });
    await origin.succeed('sync');
    const behind = { name: 'slipway-edge-pod-1', release: 'r90_one' };
    const mixed = [at('r90_two', 1), at('r90_one', 1)];
    await untilEdges({ count: 2, ready: 2, atRelease: 1, summary: '1/2', slowest: behind, releases: mixed });
    // Edges do not decide whether the origin is sound.
    await world().untilCondition(namespace, 'official', 'Ready', 'True');

    second.way.isDown = false;
    await untilEdges({ count: 2, ready: 2, atRelease: 2, summary: '2/2', releases: [at('r90_two', 2)] });

    await second.edge.server.kill();
    const silent = { name: 'slipway-edge-pod-1' };
    const left = [at('r90_two', 1)];
    await untilEdges({ count: 2, ready: 2, atRelease: 1, summary: '1/2', slowest: silent, releases: left });

    await world().plane.request('PATCH', service, {
      contentType: 'application/merge-patch+json',
      body: { metadata: { labels: { 'slipway.dev/edges-of': null } } },
    });
    await untilEdges(undefined);
  });

  it('brings a switch forward when every edge is whole, not while one is broken, and without one that is scaled down', async () => {
    const { origin, upstream } = await startOrigin({
      releases: { announceSeconds: 3600, switchLeadSeconds: 3 },
    });
    const [first, second] = await Promise.all([startEdge(origin), startEdge(origin)]);
    await Promise.all([first.edge.untilReady(true), second.edge.untilReady(true)]);
    const namespace = await world().createNamespace();
    await world().expose(namespace, 'slipway', [portOf(origin)]);
    await world().expose(namespace, 'slipway-edge', [portOf(first.edge), portOf(second.edge)]);
    const patch = async (path: string, body: object): Promise<void> => {
      const contentType = 'application/merge-patch+json';
      const { status } = await world().plane.request('PATCH', path, { contentType, body });
      expect(status).toBe(200);
    };
    await patch(`/api/v1/namespaces/${namespace}/services/slipway-edge`, {
      metadata: { labels: { 'slipway.dev/edges-of': 'slipway' } },
    });

    const announcedBy = async ({ serverUrl }: TestSystem): Promise<Announced | null> => {
      const answer = await fetch(`${serverUrl}/healthz`);
      return ((await answer.json()) as { announced: { official: Announced | null } }).announced.official;
    };
    const currentOf = async ({ serverUrl }: TestSystem): Promise<string | null> =>
      ((await (await fetch(`${serverUrl}/readyz`)).json()) as { release_id: string | null }).release_id;
    const announce = async (id: string): Promise<Announced | null> => {
      await writeReleaseTree(upstream, { id, files: sampleFiles().set('new.txt', Buffer.from(id)) });
      expect((await origin.run('sync')).status).toBe('succeeded');
      // It may be current before it is seen.
      await until(
        async () => (await announcedBy(origin))?.release_id === id || (await currentOf(origin)) === id,
      );
      return await announcedBy(origin);
    };
    const untilCurrent = async (id: string, systems: readonly TestSystem[]): Promise<void> => {
      for (const system of systems) await until(async () => (await currentOf(system)) === id);
    };

    await world().startOperator(namespace);
    await world().apply(namespace, 'official');
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    await announce('r90_two');
    await untilCurrent('r90_two', [origin, first.edge, second.edge]);

    second.way.isDown = true;
    const stated = await announce('r90_three');
    await until(async () => (await announcedBy(first.edge))?.release_id === 'r90_three');
    // Each request is handled in a reconciliation of its own, which sees the edges as they are.
    for (const value of ['once', 'again']) {
      await world().apply(namespace, 'official', {}, { 'slipway.dev/requestedAt': value });
      await until(
        async () => (await world().get(namespace, 'official'))?.status?.lastHandledReconcileAt === value,
      );
    }
    expect(await announcedBy(origin)).toEqual(stated);

    const slices = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
    const { endpoints } = endpointSlice(namespace, 'slipway-edge', 1, portOf(second.edge).port);
    const conditions = { ready: false, serving: true, terminating: true };
    await patch(`${slices}/slipway-edge-1`, {
      endpoints: endpoints.map((endpoint) => ({ ...endpoint, conditions })),
    });
    await untilCurrent('r90_three', [origin, first.edge]);
    expect(await currentOf(second.edge)).toBe('r90_two');
  });
});

/** The announced release of a channel in the answer of `/healthz`. */
interface Announced {
  readonly release_id: string;
  readonly current_at: number;
}
