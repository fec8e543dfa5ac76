import { describe, expect, it } from 'vitest';
import { exampleOf } from '../../../scripts/reference/examples.ts';
import type { ReleaseChannelStatus } from '../../../src/contract/crd/release-channel.ts';
import { ReleaseStatusReport } from '../../../src/contract/reports/report-releases.ts';
import { HealthAnswer } from '../../../src/contract/schemas/answers/health.ts';
import { success } from '../../../src/domain/result.ts';
import { alwaysLeading } from '../../../src/operator/election/leadership.ts';
import { parseReleaseChannel } from '../../../src/operator/kubernetes/objects.ts';
import type { ReleaseStatus, TaskState } from '../../../src/operator/pods/server-client.ts';
import { createReconciler, type Reconciled } from '../../../src/operator/reconcile/reconciler.ts';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { translationStatus } from '../../support/fake-slipway.ts';

const NOW = exampleOf(ReleaseStatusReport).official;
/** An object, its pod and the daemon in it; the tests change them between two reconciliations. */
function createWorld(spec: Record<string, unknown>) {
  const clock = new FakeClock();
  const daemon = {
    status: {
      ...ReleaseStatusReport.schema.parse(exampleOf(ReleaseStatusReport)),
      official: NOW,
      localized: null,
      announced: null,
      announced_localized: null,
    } as ReleaseStatus,
    task: { id: 't1', status: 'running', failure: null } as TaskState,
    /** Reports that are answered before the current one. */
    reports: [] as ReleaseStatus[],
    posted: [] as string[],
    read: 0,
  };
  const health = structuredClone(HealthAnswer.schema.parse(exampleOf(HealthAnswer)));
  const verdict = { distributable: true, reason: null, message: '', since: 1, release_id: null };
  health.verdicts = {
    official: { ...verdict, release_id: NOW?.release_id ?? null },
    localized: { ...verdict },
  };
  const pod = { name: 'a', origin: 'http://a', endpoint: 'ready', health, failure: null };
  const written: { status: ReleaseChannelStatus | null } = { status: null };
  const object = { spec, requestedAt: null as string | null };
  const channel = (): ReturnType<typeof parseReleaseChannel> =>
    parseReleaseChannel({
      metadata: {
        namespace: 'games',
        name: 'a',
        uid: 'u1',
        resourceVersion: '1',
        generation: 1,
        creationTimestamp: '2026-01-01T00:00:00Z',
        annotations: object.requestedAt === null ? {} : { 'slipway.dev/requestedAt': object.requestedAt },
      },
      spec: {
        channel: 'official',
        serverRef: { name: 'slipway', port: 80 },
        adminTokenSecretRef: { name: 'token', key: 'token' },
        ...object.spec,
      },
    });
  const reconciler = createReconciler({
    view: { channel, servicesWithPodsOf: () => [] },
    pods: () => success([pod]),
    edges: () => null,
    health: { ask: async (asked: readonly unknown[]) => await Promise.resolve(asked) },
    tokens: { read: async () => await Promise.resolve(success('secret')) },
    client: {
      releaseStatus: async () => await Promise.resolve(daemon.reports.shift() ?? daemon.status),
      releases: async () => await Promise.resolve([]),
      schedules: async () => await Promise.resolve([]),
      translationStatus: async () => await Promise.resolve(translationStatus()),
      task: async () => {
        daemon.read += 1;
        return await Promise.resolve(daemon.task);
      },
      control: async (_origin: string, _token: string, action: string) => {
        if (action !== 'schedule-add') daemon.posted.push(action);
        return await Promise.resolve({ task_id: daemon.task.id, status: daemon.task.status });
      },
    },
    leadership: alwaysLeading,
    started: new Map<string, string>(),
    definition: { fit: (status: unknown) => status, gaps: () => [], warnings: () => [] },
    writer: {
      applyStatus: async (_channel: unknown, status: ReleaseChannelStatus) => {
        written.status = status;
        return await Promise.resolve('2');
      },
      record: async () => {
        await Promise.resolve();
      },
    },
    cleaner: { forget: () => undefined },
    clock,
    logger: createSilentLogger(),
  } as unknown as Parameters<typeof createReconciler>[0]);
  const look = async (): Promise<Reconciled> => await reconciler.reconcile('games/a');
  return { clock, daemon, pod, object, written, look };
}

type World = ReturnType<typeof createWorld>;

function reconciling({ written }: World): string {
  const found = written.status?.conditions.find(({ type }) => type === 'Reconciling');
  return `${found?.reason}: ${found?.message}`;
}

function stalled({ written }: World): string {
  const found = written.status?.conditions.find(({ type }) => type === 'Stalled');
  return `${found?.reason}: ${found?.message}`;
}

/** The localized release of the daemon, and of the pod's server. */
function publish({ daemon, pod }: World, releaseId: string): void {
  daemon.status = {
    ...daemon.status,
    relation: 'in_sync',
    localized: { ...daemon.status.official, release_id: releaseId } as ReleaseStatus['localized'],
  };
  pod.health.verdicts.localized.release_id = releaseId;
}

describe('a pinned release', () => {
  const PIN = { channel: 'localized', release: 'l1' };

  it('is followed while its task runs, less often the longer it takes, and not while it is announced', async () => {
    const world = createWorld(PIN);
    expect(await world.look()).toEqual({ outcome: 'following', againMs: 500 });
    world.clock.jumpAhead(60_000);
    expect(await world.look()).toEqual({ outcome: 'following', againMs: 6_000 });
    world.daemon.status = {
      ...world.daemon.status,
      announced_localized: { release_id: 'l1', current_at: 2_000_000_000 },
    };
    expect((await world.look()).outcome).toBe('waiting');
    expect(reconciling(world)).toContain('ReleaseChanging: l1 is announced');
  });

  it('that became current after the report was read has not failed', async () => {
    const world = createWorld(PIN);
    await world.look();
    world.daemon.task = { ...world.daemon.task, status: 'succeeded' };
    const before = world.daemon.status;
    publish(world, 'l1');
    world.daemon.reports.push(before);
    expect((await world.look()).outcome).toBe('following');
    expect([stalled(world), reconciling(world)]).toEqual([
      'NotStalled: nothing waits for a person',
      'ReleaseChanging: localized-publish of l1 succeeded (task t1)',
    ]);
    expect((await world.look()).outcome).toBe('settled');
  });

  it('whose task failed is asked for again, which the daemon answers with another task when it has forgotten the key', async () => {
    const world = createWorld(PIN);
    await world.look();
    world.daemon.task = { ...world.daemon.task, status: 'failed', failure: 'disk_full: no space' };
    await world.look();
    expect(stalled(world)).toBe('TaskFailed: localized-publish of l1 failed (task t1): disk_full: no space');
    expect([world.daemon.posted.length, world.daemon.read]).toEqual([1, 1]);
    // The daemon still knows the key; why the task failed is asked for once.
    await world.look();
    expect(stalled(world)).toContain('disk_full: no space');
    expect([world.daemon.posted.length, world.daemon.read]).toEqual([2, 2]);
    world.daemon.task = { id: 't2', status: 'queued', failure: null };
    expect((await world.look()).outcome).toBe('following');
    expect(reconciling(world)).toContain('is queued (task t2)');
  });
});

describe('a request', () => {
  it('for a localized channel is handled when its publication has ended', async () => {
    const world = createWorld({ channel: 'localized', release: 'l1' });
    world.object.requestedAt = 'r1';
    await world.look();
    expect(world.written.status?.lastHandledReconcileAt).toBeUndefined();
    publish(world, 'l1');
    await world.look();
    expect(world.written.status?.lastHandledReconcileAt).toBe('r1');
  });

  it('that is made while the object is suspended is left for later', async () => {
    const world = createWorld({ suspend: true });
    world.object.requestedAt = 'r1';
    await world.look();
    expect(world.written.status?.lastHandledReconcileAt).toBeUndefined();
    expect(world.daemon.posted).toEqual([]);
    world.object.spec = {};
    world.daemon.task = { ...world.daemon.task, status: 'succeeded' };
    await world.look();
    expect(world.daemon.posted).toEqual(['sync']);
    expect(world.written.status?.lastHandledReconcileAt).toBe('r1');
  });

  it('waits for a pod that serves another release, each request anew, and for one that loads as long as it takes', async () => {
    const world = createWorld({});
    world.daemon.task = { ...world.daemon.task, status: 'succeeded' };
    world.pod.health.verdicts.official.release_id = 'before';
    await world.look();
    world.clock.jumpAhead(31_000);
    // It has been behind for long, and nobody has asked.
    expect((await world.look()).outcome).toBe('settled');
    world.object.requestedAt = 'r1';
    expect((await world.look()).outcome).toBe('following');
    expect(reconciling(world)).toContain('RequestInProgress: pod a');
    world.clock.jumpAhead(31_000);
    await world.look();
    expect(world.written.status?.lastHandledReconcileAt).toBe('r1');
    world.object.requestedAt = 'r2';
    world.pod.health.verdicts.official.reason = 'SnapshotLoading' as never;
    await world.look();
    world.clock.jumpAhead(600_000);
    expect(await world.look()).toEqual({ outcome: 'following', againMs: 60_000 });
    expect(world.written.status?.lastHandledReconcileAt).toBe('r1');
  });
});
