import { describe, expect, it } from 'vitest';
import { HealthAnswer } from '../../../../src/contract/schemas/answers/health.ts';
import { alwaysLeading, LeadershipLost } from '../../../../src/operator/election/leadership.ts';
import { parseReleaseChannel } from '../../../../src/operator/kubernetes/objects.ts';
import type { PodEvidence } from '../../../../src/operator/pods/evidence-book.ts';
import type { ServerClient } from '../../../../src/operator/pods/server-client.ts';
import type { EndpointState } from '../../../../src/operator/kubernetes/objects.ts';
import { createEarlySwitch } from '../../../../src/operator/reconcile/early-switch.ts';
import {
  createObserver,
  type ObservedEdges,
  type ObserverOptions,
  type Observation,
} from '../../../../src/operator/reconcile/observer.ts';
import { success } from '../../../../src/domain/result.ts';
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

/** An origin that was observed with these pods. */
function observation(
  origin: PodEvidence,
  edges: ObservedEdges | null,
  token: string | null = 'secret',
): Observation {
  return { unknownPods: null, pods: [origin], draining: [], outcomes: [], obstacle: null, token, edges };
}

/** Observes edges as the operator does. */
async function observedEdges(...edges: readonly PodEvidence[]): Promise<ObservedEdges | null> {
  const observe = createObserver({
    pods: () => success([]),
    edges: () => edges,
    evidence: { ask: async (pods: readonly PodEvidence[]) => await Promise.resolve(pods) },
    tokens: { read: async () => await Promise.resolve(success('secret')) },
    rival: () => null,
  } as unknown as ObserverOptions);
  return (await observe(channel(), null)).edges;
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
  await createEarlySwitch({
    client: { control },
    leadership: alwaysLeading,
    clock: new FakeClock(NOW * 1000),
    logger: createSilentLogger(),
  })(of, observation(origin, edges, token));
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
    const leaving = pod('b', null, { current: 'r1' }, 'draining');
    const staying = await observedEdges(pod('a', 'r2'), leaving);
    expect(staying).toMatchObject({ count: 1, ready: 1, asked: [{ name: 'a' }] });
    expect(await calls(staying)).toEqual(ASKED);
    // It counts as long as it stays.
    expect(await calls(await observedEdges(pod('a', 'r2'), { ...leaving, endpoint: 'ready' }))).toEqual([]);
  });

  it('is asked for once for each announcement, and so it is logged', async () => {
    const made: unknown[] = [];
    const lines: unknown[] = [];
    const step = createEarlySwitch({
      client: {
        control: async (_url, _token, _action, _body, { key }) => {
          made.push(key);
          return await Promise.resolve({} as Awaited<ReturnType<ServerClient['control']>>);
        },
      },
      leadership: alwaysLeading,
      clock: new FakeClock(NOW * 1000),
      logger: {
        ...createSilentLogger(),
        info: (...logged: readonly unknown[]) => {
          lines.push(logged.at(-1));
        },
      },
    });
    const look = async (releaseId: string, currentAt: number): Promise<void> => {
      await step(
        channel(),
        observation(pod('origin', releaseId, { currentAt }), edgesOf(pod('a', releaseId))),
      );
    };
    await look('r2', AT);
    await look('r2', AT);
    // The nearer time that the origin states.
    await look('r2', NOW + 15);
    expect([made, lines]).toEqual([
      [`u1:current:r2:${AT}`],
      ['every edge has the announced release, so the origin was asked to bring its switch forward'],
    ]);
    // Other announcements.
    await look('r3', NOW + 60);
    await look('r3', NOW + 90);
    expect(made.slice(1)).toEqual([`u1:current:r3:${NOW + 60}`, `u1:current:r3:${NOW + 90}`]);
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

  it('is left alone when its time has come, and when the object says so', async () => {
    const whole = edgesOf(pod('a', 'r2'));
    const due = pod('origin', 'r2', { currentAt: NOW });
    expect(await calls(whole, { origin: due })).toEqual([]);
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
