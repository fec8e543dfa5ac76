import { describe, expect, it } from 'vitest';
import { HealthAnswer } from '../../../../src/contract/schemas/answers/health.ts';
import { alwaysLeading, LeadershipLost } from '../../../../src/operator/election/leadership.ts';
import { parseReleaseChannel } from '../../../../src/operator/kubernetes/objects.ts';
import type { PodEvidence } from '../../../../src/operator/pods/evidence-book.ts';
import type { ServerClient } from '../../../../src/operator/pods/server-client.ts';
import type { EndpointState } from '../../../../src/operator/kubernetes/objects.ts';
import { createEarlySwitch } from '../../../../src/operator/reconcile/early-switch.ts';
import type { ObservedEdges, Observation } from '../../../../src/operator/reconcile/observer.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { createSilentLogger } from '../../../../src/platform/logging/logging.ts';

const NOW = 1_784_000_000;
const AT = NOW + 300;

/** A pod that has this release announced and that one current; `undefined` for no answer. */
function pod(
  name: string,
  announced: string | null | undefined,
  { current = 'r1', currentAt = AT }: { readonly current?: string; readonly currentAt?: number } = {},
  endpoint: EndpointState = 'ready',
): PodEvidence {
  const base = { name, origin: `http://${name}`, endpoint };
  if (announced === undefined) return { ...base, health: null, failure: 'connection refused' };
  const health = structuredClone(HealthAnswer.schema.parse(HealthAnswer.example));
  const brief = announced === null ? null : { release_id: announced, current_at: currentAt };
  health.announced = { official: brief, localized: null };
  health.verdicts.official = { ...health.verdicts.official, release_id: current, distributable: true };
  return { ...base, health, failure: null };
}

function edgesOf(...asked: readonly PodEvidence[]): ObservedEdges {
  return { count: asked.length, ready: asked.filter(({ endpoint }) => endpoint === 'ready').length, asked };
}

function channel(spec: Record<string, unknown> = {}): ReturnType<typeof parseReleaseChannel> {
  return parseReleaseChannel({
    metadata: {
      namespace: 'games',
      name: 'official',
      uid: 'u1',
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: '2026-07-01T00:00:00Z',
    },
    spec: {
      channel: 'official',
      serverRef: { name: 'slipway', port: 80 },
      adminTokenSecretRef: { name: 'token', key: 'token' },
      ...spec,
    },
  });
}

/** The control calls of one step. */
async function calls(
  edges: ObservedEdges | null,
  {
    origin = pod('origin', 'r2'),
    of = channel(),
    token = 'secret',
    fails,
  }: {
    readonly origin?: PodEvidence;
    readonly of?: ReturnType<typeof channel>;
    readonly token?: string | null;
    readonly fails?: Error;
  } = {},
): Promise<readonly (readonly unknown[])[]> {
  const made: (readonly unknown[])[] = [];
  const control: ServerClient['control'] = async (url, _token, action, body, { key }) => {
    made.push([url, action, body.args, key]);
    if (fails !== undefined) throw fails;
    return await Promise.resolve({} as Awaited<ReturnType<ServerClient['control']>>);
  };
  const observed: Observation = {
    unknownPods: null,
    pods: [origin],
    draining: [],
    outcomes: [],
    obstacle: null,
    token,
    edges,
  };
  await createEarlySwitch({
    client: { control },
    leadership: alwaysLeading,
    clock: new FakeClock(NOW * 1000),
    logger: createSilentLogger(),
  })(of, observed);
  return made;
}

const ASKED = [['http://origin', 'refresh', ['current=r2'], `u1:current:r2:${AT}`]];

describe('the switch to an announced release', () => {
  it('is brought forward when every edge that gets requests has it whole', async () => {
    expect(await calls(edgesOf(pod('a', 'r2'), pod('b', 'r2')))).toEqual(ASKED);
    // By its clock, the time has come for this edge.
    expect(await calls(edgesOf(pod('a', 'r2'), pod('b', null, { current: 'r2' })))).toEqual(ASKED);
  });

  it('does not wait for an edge that starts, and not for one that was scaled down', async () => {
    const starting = pod('b', null, { current: 'r1' }, 'unready');
    expect(await calls(edgesOf(pod('a', 'r2'), starting))).toEqual(ASKED);
    // Pods that shut down are not among the observed ones.
    expect(await calls(edgesOf(pod('a', 'r2')))).toEqual(ASKED);
  });

  it.each<[string, ObservedEdges | null]>([
    ['lacks it', edgesOf(pod('a', 'r2'), pod('b', null))],
    ['has another one announced', edgesOf(pod('a', 'r2'), pod('b', 'r3'))],
    ['does not answer', edgesOf(pod('a', 'r2'), pod('b', undefined))],
    ['has just failed to answer', edgesOf({ ...pod('a', 'r2'), failure: 'timeout' })],
    ['is beyond those that are asked', { count: 300, ready: 300, asked: [pod('a', 'r2')] }],
    ['is the only one and starts', edgesOf(pod('a', 'r2', {}, 'unready'))],
    ['is not known', null],
  ])('comes at its stated time when an edge %s', async (_, edges) => {
    expect(await calls(edges)).toEqual([]);
  });

  it('is left alone when it is near, and when the object says so', async () => {
    const whole = edgesOf(pod('a', 'r2'));
    const near = pod('origin', 'r2', { currentAt: NOW + 20 });
    expect(await calls(whole, { origin: near })).toEqual([]);
    expect(await calls(whole, { origin: pod('origin', null) })).toEqual([]);
    expect(await calls(whole, { origin: pod('origin', undefined) })).toEqual([]);
    expect(await calls(whole, { of: channel({ suspend: true }) })).toEqual([]);
    expect(await calls(whole, { of: channel({ release: 'r1' }) })).toEqual([]);
    expect(await calls(whole, { of: channel({ release: 'r2' }) })).toEqual(ASKED);
    expect(await calls(whole, { token: null })).toEqual([]);
    expect(await calls(whole, { of: channel({ channel: 'localized' }) })).toEqual([]);
  });

  it('comes at its stated time when the origin refuses, and the reconciliation continues', async () => {
    const whole = edgesOf(pod('a', 'r2'));
    expect(await calls(whole, { fails: new Error('refused') })).toHaveLength(1);
    await expect(calls(whole, { fails: new LeadershipLost() })).rejects.toBeInstanceOf(LeadershipLost);
  });
});
