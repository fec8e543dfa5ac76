import { exampleOf } from '../../../scripts/reference/examples.ts';
import { describe, expect, it } from 'vitest';
import { parseControlBody } from '../../../src/contract/actions/parse-control-body.ts';
import type { ReleaseChannelSpec } from '../../../src/contract/crd/release-channel.ts';
import { ReleaseStatusReport } from '../../../src/contract/reports/report-releases.ts';
import { HealthAnswer } from '../../../src/contract/schemas/answers/health.ts';
import { success } from '../../../src/domain/result.ts';
import type { ClusterView } from '../../../src/operator/channels/cluster-view.ts';
import { alwaysLeading, LeadershipLost } from '../../../src/operator/election/leadership.ts';
import {
  parseReleaseChannel,
  type EndpointState,
  type ReleaseChannel,
} from '../../../src/operator/kubernetes/objects.ts';
import type { PodHealth } from '../../../src/operator/pods/pod-health.ts';
import type { ReleaseRow, ReleaseStatus, ServerClient } from '../../../src/operator/pods/server-client.ts';
import { createEarlySwitch } from '../../../src/operator/reconcile/early-switch.ts';
import {
  observe,
  type Observation,
  type ObservedEdges,
  type ObserverOptions,
} from '../../../src/operator/reconcile/observer.ts';
import { planPin, type PinPlan } from '../../../src/operator/reconcile/pin.ts';
import { isActing, rivalObstacle } from '../../../src/operator/reconcile/rivalry.ts';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { releaseRow, translationStatus } from '../../support/fake-slipway.ts';

interface World {
  readonly history?: readonly ReleaseRow[];
  readonly localized?: ReleaseStatus['localized'];
  readonly relation?: ReleaseStatus['relation'];
  readonly texts?: Parameters<typeof planPin>[3];
  readonly announced?: Partial<ReleaseStatus>;
}

describe('a pin', () => {
  const NOW: ReleaseStatus['official'] = {
    release_id: 'now',
    snapshot_id: 'blake3:0',
    state: 'current',
    integrity: 'ok',
    verified_at: null,
    damaged: [],
    damaged_count: 0,
  };

  function plan(
    channel: 'official' | 'localized',
    release: string | undefined,
    { history = [], localized = NOW, relation = 'in_sync', texts = null, announced = {} }: World = {},
  ): PinPlan {
    const spec = { channel, release } as ReleaseChannelSpec;
    const status = { ...ReleaseStatusReport.schema.parse(exampleOf(ReleaseStatusReport)), official: NOW };
    return planPin(spec, { ...status, localized, relation, ...announced }, history, texts);
  }

  it('that is absent or reached requires nothing', () => {
    expect(plan('official', undefined)).toEqual({ kind: 'none' });
    expect(plan('official', 'now')).toEqual({ kind: 'reached' });
    expect(plan('localized', 'now')).toEqual({ kind: 'reached' });
  });

  it('of an announced release waits for its time, and acts no more', () => {
    const next = { release_id: 'next', current_at: 1_784_000_000 };
    const message = 'next is announced and becomes current at 2026-07-14T03:33:20Z';
    const waiting = { kind: 'waiting', obstacle: { reason: 'ReleaseChanging', message } };
    expect(plan('official', 'next', { announced: { announced: next } })).toEqual(waiting);
    expect(plan('localized', 'next', { announced: { announced_localized: next } })).toEqual(waiting);
    expect(plan('localized', 'next', { announced: { announced: next } })).toMatchObject({ kind: 'act' });
  });

  it('of an earlier localized release rolls back to it, of an unknown one publishes it', () => {
    const rollback = plan('localized', 'old', {
      history: [releaseRow('localized', 'old', 'superseded')],
    });
    const publish = plan('localized', 'new');
    expect(rollback).toMatchObject({ kind: 'act', action: 'localized-rollback' });
    expect(publish).toMatchObject({ kind: 'act', action: 'localized-publish' });
    for (const each of [rollback, publish]) {
      expect(each.kind === 'act' && parseControlBody(each.action, each.body).ok).toBe(true);
    }
  });

  it('of a localized release that is damaged or missing is not followed blindly', () => {
    expect(plan('localized', 'bad', { history: [releaseRow('localized', 'bad', 'damaged')] })).toMatchObject({
      kind: 'stalled',
      obstacle: { reason: 'ActionRejected' },
    });
    expect(
      plan('localized', 'gone', { history: [releaseRow('localized', 'gone', 'deleted')] }),
    ).toMatchObject({
      kind: 'act',
      action: 'localized-publish',
    });
  });

  it('of a localized release publishes it again when none is current, because a rollback needs one to take back', () => {
    const history = [releaseRow('localized', 'old', 'rolled_back')];
    expect(plan('localized', 'old', { history, localized: null })).toMatchObject({
      kind: 'act',
      action: 'localized-publish',
    });
  });

  it('of the only localized release, which a rollback took back, stalls while its units are on hold', () => {
    const history = [releaseRow('localized', 'old', 'superseded')];
    const planOf = (
      blockers: ReadonlyArray<readonly [string, number]>,
      rolledBack: { at: number } | null,
    ): PinPlan => {
      const texts = {
        ...translationStatus({ base: null, blockers }),
        history: [{ localized_release_id: 'old', rolled_back: rolledBack }],
      };
      return plan('localized', 'old', { history, localized: null, texts });
    };
    expect(planOf([['on_hold', 2]], { at: 1 })).toMatchObject({
      kind: 'stalled',
      obstacle: {
        reason: 'ReleaseRolledBack',
        message: expect.stringContaining('review the units on hold, then publish with args') as string,
      },
    });
    expect(planOf([], { at: 1 })).toMatchObject({ kind: 'act', action: 'localized-publish' });
    expect(planOf([['on_hold', 2]], null)).toMatchObject({ kind: 'act', action: 'localized-publish' });
  });

  it('of any localized release stalls while a rollback has withdrawn the channel, which only a person resumes', () => {
    const texts = translationStatus({ base: null, blockers: [['release_rolled_back', 1]] });
    const stalls = {
      kind: 'stalled',
      obstacle: { reason: 'ReleaseRolledBack', message: 'because of release_rolled_back' },
    };
    expect(plan('localized', 'new', { localized: null, texts })).toMatchObject(stalls);
    const history = [releaseRow('localized', 'old', 'rolled_back')];
    expect(plan('localized', 'old', { history, localized: null, texts })).toMatchObject(stalls);
  });

  it('of a new localized release waits for the texts of the official one, and only for them', () => {
    const texts = (code: string): World => ({ texts: translationStatus({ blockers: [[code, 1]] }) });
    for (const code of ['tasks_not_built', 'no_official_release'])
      expect(plan('localized', 'new', texts(code))).toMatchObject({
        kind: 'waiting',
        obstacle: { reason: 'TextsNotReady', message: `because of ${code}` },
      });
    expect(plan('localized', 'new', texts('untranslated'))).toMatchObject({ kind: 'act' });
  });

  it('of a localized release that is not current stalls where the channel is copied from an origin', () => {
    const texts = translationStatus({ blockers: [['channel_mirrored', 1]] });
    const stalls = { kind: 'stalled', obstacle: { reason: 'ChannelMirrored' } };
    expect(plan('localized', 'new', { texts })).toMatchObject(stalls);
    const history = [releaseRow('localized', 'old', 'superseded')];
    expect(plan('localized', 'old', { history, texts })).toMatchObject(stalls);
    expect(plan('localized', 'now', { texts })).toMatchObject({ kind: 'reached' });
  });

  it('of a localized release for an earlier official one stalls, whether it is current or not', () => {
    const outdated = { kind: 'stalled', obstacle: { reason: 'PinOutdated' } };
    expect(plan('localized', 'now', { relation: 'stale' })).toMatchObject(outdated);
    const history = [{ ...releaseRow('localized', 'old', 'superseded'), base_release_id: 'before' }];
    expect(plan('localized', 'old', { history })).toMatchObject(outdated);
  });

  it('of an official release waits for it, and does not roll back to an old one', () => {
    expect(plan('official', 'next')).toMatchObject({
      kind: 'stalled',
      holdSync: false,
      obstacle: { reason: 'ReleaseUnknown' },
    });
    expect(plan('official', 'old', { history: [releaseRow('official', 'old', 'superseded')] })).toMatchObject(
      {
        kind: 'stalled',
        holdSync: true,
        obstacle: { reason: 'PinNotSupported' },
      },
    );
  });
});

function edgesOf(...asked: readonly PodHealth[]): ObservedEdges {
  return { count: asked.length, ready: asked.filter(({ endpoint }) => endpoint === 'ready').length, asked };
}

/** An origin that was observed with these pods. */
function observation(
  origin: PodHealth,
  edges: ObservedEdges | null,
  token: string | null = 'secret',
): Observation {
  return { unknownPods: null, pods: [origin], draining: [], outcomes: [], obstacle: null, token, edges };
}

describe('the switch to an announced release', () => {
  const NOW = 1_784_000_000;
  const AT = NOW + 300;

  /** A pod that has this release announced and that one current; `undefined` for no answer. */
  function pod(
    name: string,
    announced: string | null | undefined,
    { current = 'r1', currentAt = AT }: { readonly current?: string; readonly currentAt?: number } = {},
    endpoint: EndpointState = 'ready',
  ): PodHealth {
    const base = { name, origin: `http://${name}`, endpoint };
    if (announced === undefined) return { ...base, health: null, failure: 'connection refused' };
    const health = structuredClone(HealthAnswer.schema.parse(exampleOf(HealthAnswer)));
    const brief = announced === null ? null : { release_id: announced, current_at: currentAt };
    health.announced = { official: brief, localized: null };
    health.verdicts.official = { ...health.verdicts.official, release_id: current, distributable: true };
    return { ...base, health, failure: null };
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

  /** Observes edges as the operator does. */
  async function observedEdges(...edges: readonly PodHealth[]): Promise<ObservedEdges | null> {
    const options = {
      view: { servicesWithPodsOf: () => [] },
      pods: () => success([]),
      edges: () => edges,
      health: { ask: async (pods: readonly PodHealth[]) => await Promise.resolve(pods) },
      tokens: { read: async () => await Promise.resolve(success('secret')) },
    } as unknown as ObserverOptions;
    return (await observe(options, channel(), null)).edges;
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
      readonly origin?: PodHealth;
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
      client: { control } as ServerClient,
      leadership: alwaysLeading,
      clock: new FakeClock(NOW * 1000),
      logger: createSilentLogger(),
    })(of, observation(origin, edges, token));
    return made;
  }

  const ASKED = [['http://origin', 'refresh', ['current=r2'], `u1:current:r2:${AT}`]];

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
      } as ServerClient,
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

const EARLY = '2026-01-15T12:00:00Z';
const LATE = '2026-01-15T12:00:01Z';

function view(...all: readonly ReleaseChannel[]): ClusterView {
  const part: Partial<ClusterView> = {
    // Two Services of the chart lead to the same pods.
    servicesWithPodsOf: (_namespace, service) =>
      new Set(service.startsWith('slipway') ? ['slipway', 'slipway-admin'] : [service]),
    channel: (key) => all.find((each) => each.key === key),
    exists: (key) => key === 'ns/unreadable' || all.some((each) => each.key === key),
    channelsOf: (namespace, service) =>
      all.filter((each) => each.namespace === namespace && each.spec.serverRef.name === service),
  };
  return part as ClusterView;
}

describe('of several objects for one channel of one server', () => {
  function channel(
    name: string,
    creationTimestamp: string,
    { of = 'official', server = 'slipway', deletionTimestamp = null as string | null } = {},
  ): ReleaseChannel {
    return parseReleaseChannel({
      metadata: {
        name,
        namespace: 'ns',
        uid: name,
        resourceVersion: '1',
        creationTimestamp,
        deletionTimestamp,
      },
      spec: {
        channel: of,
        serverRef: { name: server, port: 80 },
        adminTokenSecretRef: { name: 'admin', key: 'token' },
      },
    });
  }

  it.each([
    ['the older one', [channel('z', EARLY), channel('a', LATE)], 'ns/z'],
    ['in a tie the one whose name sorts first', [channel('z', EARLY), channel('a', EARLY)], 'ns/a'],
    [
      'the oldest of many',
      [channel('b', LATE), channel('c', EARLY), channel('a', LATE), channel('d', EARLY)],
      'ns/c',
    ],
    [
      'no object that is being deleted',
      [channel('z', EARLY, { deletionTimestamp: LATE }), channel('a', LATE)],
      'ns/a',
    ],
    [
      'the older one, also through another Service of the same pods',
      [channel('z', EARLY, { server: 'slipway-admin' }), channel('a', LATE)],
      'ns/z',
    ],
  ])('%s acts, whatever the order', (_what, all, acting) => {
    for (const order of [all, [...all].reverse()]) {
      const cluster = view(...order);
      const idle = all.filter((each) => !each.isDeleting && each.key !== acting);
      expect(isActing(cluster, acting)).toBe(true);
      for (const each of idle) {
        expect(isActing(cluster, each.key)).toBe(false);
        expect(rivalObstacle(cluster, each)).toMatchObject({
          reason: 'ChannelTaken',
          message: expect.stringContaining(`"${acting.slice(3)}"`) as string,
        });
      }
    }
  });

  it('none is a rival of another channel or another server', () => {
    const cluster = view(
      channel('a', EARLY),
      channel('b', LATE, { of: 'localized' }),
      channel('c', LATE, { server: 'other' }),
    );
    expect(['ns/a', 'ns/b', 'ns/c'].map((key) => isActing(cluster, key))).toEqual([true, true, true]);
  });

  it('one that does not exist never acts, and one that cannot be read is left alone', () => {
    expect(['ns/gone', 'ns/unreadable'].map((key) => isActing(view(), key))).toEqual([false, true]);
  });
});
