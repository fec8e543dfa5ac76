import { exampleOf } from '../../../scripts/reference/examples.ts';
import { describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../../src/contract/operations/operations.ts';
import { HealthAnswer } from '../../../src/contract/schemas/answers/health.ts';
import type { EndpointState, ServiceRecord, SliceRecord } from '../../../src/operator/kubernetes/objects.ts';
import { AdminRefused, meaningOf } from '../../../src/operator/pods/admin-refused.ts';
import type { PodHealth } from '../../../src/operator/pods/pod-health.ts';
import { createServerClient, SERVER_PATHS } from '../../../src/operator/pods/server-client.ts';
import { edgePods } from '../../../src/operator/pods/server-pods.ts';
import { edgesRow } from '../../../src/operator/reconcile/edges-status.ts';
import { HttpFailure } from '../../../src/platform/http/http-client.ts';
import { FAKE_TOKEN, startFakeSlipway } from '../../support/fake-slipway.ts';

const client = createServerClient(500, 'test');

describe('the servers of the operator', () => {
  describe('a call of the operator to a server', () => {
    it('matches the table of operations', () => {
      const table = Object.entries(SERVER_PATHS).map(([id, path]) => [
        OPERATIONS[id as keyof typeof SERVER_PATHS].path,
        path,
      ]);
      for (const [expected, path] of table) expect(path).toBe(expected);
    });

    it('is done once, however often it is sent under one key, which may be any text', async () => {
      const fake = await startFakeSlipway();
      const origin = `http://127.0.0.1:${fake.port}`;
      const call = { key: 'Mon 23 Nov, 翻訳 '.repeat(50), signal: new AbortController().signal };
      const first = await client.control(origin, FAKE_TOKEN, 'sync', {}, call);
      const second = await client.control(origin, FAKE_TOKEN, 'sync', {}, call);
      expect([first.deduplicated, second.deduplicated]).toEqual([false, true]);
      expect(fake.actions).toHaveLength(1);
      expect(fake.actions[0]?.key).toMatch(/^[0-9a-f]{64}$/);
    });

    it('fails with its cause: refused, cut off, silent, or answered by another program', async () => {
      const fake = await startFakeSlipway();
      const origin = `http://127.0.0.1:${fake.port}`;
      await expect(client.releaseStatus(origin, 'wrong')).rejects.toMatchObject({
        status: 401,
        code: 'not_authenticated',
      });
      await expect(client.health(`${origin}/elsewhere`)).rejects.toThrow(HttpFailure);
      fake.setSilent(true);
      await expect(client.health(origin)).rejects.toThrow('no complete answer within 500 ms');
      fake.close();
      await expect(client.health(origin)).rejects.toThrow('other side closed');
      // Only a privileged program could listen there.
      await expect(client.health('http://127.0.0.1:1')).rejects.toThrow(/ECONNREFUSED/);
    });
  });

  describe('a failed call of the admin surface', () => {
    it.each([
      [new AdminRefused(401, 'not_authenticated', ''), 'TokenRejected'],
      [new AdminRefused(403, 'control_forbidden', ''), 'ControlNotExposed'],
      [new AdminRefused(400, 'invalid_request', ''), 'ActionRejected'],
      [new AdminRefused(501, 'not_implemented', ''), 'ActionRejected'],
      [new AdminRefused(502, 'qa_blocked', ''), 'ActionRejected'],
      [new AdminRefused(502, 'daemon_unreachable', ''), 'AdminUnavailable'],
      [new AdminRefused(502, 'store_locked', ''), 'AdminUnavailable'],
      [new AdminRefused(503, 'backend_unavailable', ''), 'AdminUnavailable'],
      // An ingress in between, during a deployment.
      [new AdminRefused(502, null, ''), 'AdminUnavailable'],
      [new AdminRefused(404, null, ''), 'AdminUnavailable'],
      [new HttpFailure('unreachable', 'ECONNREFUSED'), 'AdminUnavailable'],
    ] as const)('%s means %s', (error, reason) => {
      expect(meaningOf(error)).toBe(reason);
    });
  });
});

const SERVICE: ServiceRecord = {
  namespace: 'ns',
  name: 'edge',
  edgesOf: 'slipway',
  ports: [
    { name: 'more', port: 81 },
    { name: 'http', port: 80 },
  ],
};

function slice(pods: ReadonlyArray<readonly [string, EndpointState]>, service = 'edge'): SliceRecord {
  return {
    namespace: 'ns',
    service,
    ports: [
      { name: 'more', port: 8081 },
      { name: 'http', port: 8080 },
    ],
    endpoints: pods.map(([name, state], index) => ({ name, address: `10.0.0.${index}`, state })),
  };
}

describe('the edges behind a Service', () => {
  it('are those of its port http in order of name, ready or not', () => {
    const slices = [
      slice([
        ['b', 'unready'],
        ['a', 'ready'],
      ]),
      slice([['c', 'ready']], 'other'),
    ];
    expect(edgePods(SERVICE, slices, null)).toEqual([
      { name: 'a', origin: 'http://10.0.0.1:8080', endpoint: 'ready' },
      { name: 'b', origin: 'http://10.0.0.0:8080', endpoint: 'unready' },
    ]);
  });

  it('are those of its first port if none is named http, and none without a port', () => {
    const unnamed = { ...SERVICE, ports: [{ name: 'more', port: 81 }] };
    expect(edgePods(unnamed, [slice([['a', 'ready']])], '127.0.0.1')).toEqual([
      { name: 'a', origin: 'http://127.0.0.1:8081', endpoint: 'ready' },
    ]);
    // An override may be an address of IPv6, as the addresses of pods may.
    expect(edgePods(unnamed, [slice([['a', 'ready']])], 'fd00::1')[0]?.origin).toBe('http://[fd00::1]:8081');
    expect(edgePods({ ...SERVICE, ports: [] }, [slice([['a', 'ready']])], null)).toEqual([]);
  });
});

/** An edge that answers with this release; `null` for none, `undefined` for no answer. */
function edge(name: string, release: string | null | undefined, distributable = true): PodHealth {
  const pod = { name, origin: `http://${name}`, endpoint: 'ready' } as const;
  if (release === undefined) return { ...pod, health: null, failure: 'connection refused' };
  const health = structuredClone(HealthAnswer.schema.parse(exampleOf(HealthAnswer)));
  health.verdicts.official = { ...health.verdicts.official, release_id: release, distributable };
  return { ...pod, health, failure: null };
}

const row = (...asked: readonly PodHealth[]): ReturnType<typeof edgesRow> =>
  edgesRow({ count: asked.length, ready: asked.length, asked }, 'official', 'r3', ['r3', 'r2', 'r1']);

describe('the edges of a status', () => {
  it('name no slowest one when all serve the release of the origin', () => {
    expect(row(edge('a', 'r3'), edge('b', 'r3'))).toEqual({
      count: 2,
      ready: 2,
      atRelease: 2,
      summary: '2/2',
      releases: [{ release: 'r3', count: 2 }],
    });
    expect(row()).toEqual({ count: 0, ready: 0, atRelease: 0, summary: '0/0' });
  });

  it.each([
    [
      'one that is further back in the history',
      [edge('a', 'r2'), edge('b', 'r1')],
      { name: 'b', release: 'r1' },
    ],
    ['a release that the history has lost', [edge('a', 'r1'), edge('b', 'r0')], { name: 'b', release: 'r0' }],
    ['one without a release', [edge('a', 'r0'), edge('b', null)], { name: 'b' }],
    ['one that does not answer', [edge('a', 'r1'), edge('b', undefined)], { name: 'b' }],
    ['the first by name among equals', [edge('a', 'r2'), edge('b', 'r2')], { name: 'a', release: 'r2' }],
    [
      'one that cannot serve the release',
      [edge('a', 'r3'), edge('b', 'r3', false)],
      { name: 'b', release: 'r3' },
    ],
  ] as const)('name as the slowest %s', (_, edges, slowest) => {
    expect(row(...edges)).toMatchObject({ slowest });
  });

  it('count all, also those that are not asked', () => {
    const found = edgesRow({ count: 300, ready: 299, asked: [edge('a', 'r3')] }, 'official', 'r3', []);
    expect(found).toEqual({
      count: 300,
      ready: 299,
      atRelease: 1,
      summary: '1/300',
      releases: [{ release: 'r3', count: 1 }],
    });
  });

  it('are counted by release, the newest first, those that the history has lost last', () => {
    const edges = [
      edge('a', 'x'),
      edge('b', 'r1'),
      edge('c', null),
      edge('d', 'r3'),
      edge('e', 'r1'),
      edge('f', undefined),
    ];
    expect(row(...edges, edge('g', 'r3', false)).releases).toEqual([
      { release: 'r3', count: 2 },
      { release: 'r1', count: 2 },
      { release: 'x', count: 1 },
    ]);
    const many = Array.from({ length: 12 }, (_, at) =>
      edge(`e${at}`, `other-${String(at).padStart(2, '0')}`),
    );
    const { releases = [] } = row(...many, edge('z', 'r2'));
    expect(releases.map(({ release }) => release)).toEqual([
      'r2',
      ...Array.from({ length: 9 }, (_, at) => `other-0${at}`),
    ]);
  });

  it('are at no release while the origin has none', () => {
    const found = edgesRow({ count: 1, ready: 1, asked: [edge('a', 'r3')] }, 'official', undefined, []);
    expect(found).toMatchObject({ atRelease: 0, slowest: { name: 'a', release: 'r3' } });
  });
});
