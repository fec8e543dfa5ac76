import { exampleOf } from '../../../scripts/reference/examples.ts';
import { describe, expect, it } from 'vitest';
import {
  CHANNEL_REASONS,
  CONDITION_TYPES,
  LOCALIZED_CONDITION_TYPES,
} from '../../../src/contract/crd/channel-reasons.ts';
import {
  HISTORY_MAX,
  ReleaseChannelStatusSchema,
  type ChannelCondition,
  type ReleaseChannelStatus,
} from '../../../src/contract/crd/release-channel.ts';
import { ReleaseStatusReport } from '../../../src/contract/reports/report-releases.ts';
import { HealthAnswer } from '../../../src/contract/schemas/answers/health.ts';
import type { Channel } from '../../../src/domain/release/channel.ts';
import { failure, success } from '../../../src/domain/result.ts';
import { CALM_REASONS } from '../../../src/domain/service-state/calm-reasons.ts';
import { REASONS, type Reason } from '../../../src/domain/verdict/reasons.ts';
import type { ChannelDefinition } from '../../../src/operator/kubernetes/channel-definition.ts';
import type { ChannelWriter } from '../../../src/operator/channels/channel-writer.ts';
import type { ReleaseChannel } from '../../../src/operator/kubernetes/objects.ts';
import type { PodHealth } from '../../../src/operator/pods/pod-health.ts';
import { conditionsOf, type Findings } from '../../../src/operator/reconcile/conditions.ts';
import { stageOutcome, STAGES } from '../../../src/operator/reconcile/stages.ts';
import { untilSyncMs } from '../../../src/operator/reconcile/reconciler.ts';
import { writeStatus } from '../../../src/operator/reconcile/write-status.ts';
import { statusOf, type StatusInput } from '../../../src/operator/reconcile/status.ts';
import { syncEvent } from '../../../src/operator/reconcile/sync-status.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import type { ReleaseStatus } from '../../../src/operator/pods/server-client.ts';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { releaseRow, translationStatus } from '../../support/fake-slipway.ts';

const NOW = Date.UTC(2026, 0, 15, 12);

const silent = (name: string): PodHealth => ({
  name,
  origin: '',
  endpoint: 'ready',
  health: null,
  failure: 'no answer',
});

const brief = (all: readonly ChannelCondition[]): Record<string, string> =>
  Object.fromEntries(all.map(({ type, status, reason }) => [type, `${status} ${reason}`]));

describe('the conditions', () => {
  function pod(name: string, reason: Reason | null, releaseId = 'r1'): PodHealth {
    const health = structuredClone(exampleOf(HealthAnswer));
    health.verdicts.official = {
      distributable: reason === null,
      reason,
      message: `says ${reason}`,
      since: 1,
      release_id: releaseId,
    };
    return { name, origin: `http://${name}`, endpoint: 'ready', health, failure: null };
  }

  function conditions(
    findings: Partial<Findings>,
    previous: readonly ChannelCondition[] = [],
  ): ChannelCondition[] {
    return conditionsOf(
      {
        channel: 'official',
        suspended: false,
        wanted: null,
        resting: null,
        unknownPods: null,
        pods: [pod('a', null)],
        draining: [],
        stalled: null,
        waiting: null,
        crashLoop: null,
        texts: null,
        gaps: [],
        ...findings,
      },
      3,
      previous,
      NOW,
    );
  }

  it('are all present, in one order, for any evidence', () => {
    expect(conditions({}).map(({ type }) => type)).toEqual(Object.keys(CONDITION_TYPES));
    expect(conditions({ pods: [] }).map(({ type }) => type)).toEqual(Object.keys(CONDITION_TYPES));
    const localized = Object.keys({ ...CONDITION_TYPES, ...LOCALIZED_CONDITION_TYPES });
    for (const texts of [null, success(translationStatus())])
      expect(conditions({ channel: 'localized', texts }).map(({ type }) => type)).toEqual(localized);
  });

  it('are not Ready while the pods still serve another release than the spec names', () => {
    const late = brief(conditions({ wanted: 'r2' }));
    expect(late).toMatchObject({
      Ready: 'False ReleaseChanging',
      Reconciling: 'True ReleaseChanging',
      Serving: 'True Serving',
    });
    // Nor while a daemon that does not answer cannot change it.
    const silentDaemon = { reason: 'AdminUnavailable', message: 'm' } as const;
    expect(brief(conditions({ wanted: 'r2', waiting: silentDaemon }))).toMatchObject({
      Ready: 'False ReleaseChanging',
      Reconciling: 'True AdminUnavailable',
    });
    expect(brief(conditions({ wanted: 'r1', waiting: silentDaemon }))['Ready']).toBe('True Distributable');
    expect(brief(conditions({ wanted: 'r1' }))['Ready']).toBe('True Distributable');
    expect(brief(conditions({ wanted: 'r2', suspended: true }))['Ready']).toBe('True Distributable');
  });

  it('of translations do not change those of serving', () => {
    const sound = (texts: Findings['texts']): Record<string, string> =>
      brief(conditions({ texts, channel: 'localized' }));
    const good = sound(success(translationStatus()));
    const poor = sound(
      success(
        translationStatus({
          blockers: [
            ['qa_blocked', 2],
            ['untranslated', 18],
          ],
        }),
      ),
    );
    const differing = Object.keys(good).filter((type) => good[type] !== poor[type]);
    expect(differing).toEqual(['Translated', 'Publishable']);
  });

  it('of translations that nobody can read are Unknown, with the reason', () => {
    const stalled = { reason: 'TokenRejected', message: 'm' } as const;
    const unknown = brief(conditions({ channel: 'localized', stalled }));
    const unread = brief(
      conditions({ channel: 'localized', texts: failure({ reason: 'AdminUnavailable', message: 'm' }) }),
    );
    for (const type of Object.keys(LOCALIZED_CONDITION_TYPES)) {
      expect(unknown[type]).toBe('Unknown TokenRejected');
      expect(unread[type]).toBe('Unknown AdminUnavailable');
    }
  });

  it.each(Object.keys(REASONS) as Reason[])(
    'put %s at exactly one stage, and unchanged into Ready',
    (reason) => {
      const outcomes = STAGES.map((stage) => stageOutcome(reason, stage));
      expect(outcomes.filter((outcome) => outcome === 'failed')).toHaveLength(1);
      expect(outcomes.indexOf('failed')).toBeGreaterThan(outcomes.lastIndexOf('passed'));
      const found = brief(conditions({ pods: [pod('a', reason)] }));
      expect(found['Ready']).toBe(`False ${reason}`);
      expect(found['Serving']).toBe(`False ${reason}`);
      expect(found['Reconciling']).toBe(`True ${reason}`);
    },
  );

  it('have only reasons of the catalogues', () => {
    const known = new Set([...Object.keys(REASONS), ...Object.keys(CHANNEL_REASONS)]);
    const cases: Partial<Findings>[] = [
      {},
      { pods: [] },
      { pods: [silent('a')] },
      { pods: [{ ...pod('a', null), endpoint: 'unready' }] },
      { pods: [pod('a', null), pod('b', 'EntryMissing'), silent('c')] },
      { pods: [pod('a', null), pod('b', null, 'r2')] },
      { suspended: true },
      { unknownPods: { reason: 'ServiceNotFound', message: 'm' }, pods: [] },
      { channel: 'localized' },
      { channel: 'localized', texts: success(translationStatus()) },
      {
        channel: 'localized',
        texts: success(translationStatus({ stale: true, blockers: [['qa_blocked', 2]] })),
      },
      {
        channel: 'localized',
        texts: success(translationStatus({ base: null, blockers: [['tasks_not_built', 1]] })),
      },
    ];
    const used = cases.flatMap((each) => conditions(each).map(({ reason }) => reason));
    expect(used.filter((reason) => !known.has(reason))).toEqual([]);
  });

  it('count a channel as served while one pod serves it, but not as Ready', () => {
    const found = brief(conditions({ pods: [pod('a', null), pod('b', 'SnapshotLoading')] }));
    expect(found).toMatchObject({
      Ready: 'False SnapshotLoading',
      Attested: 'True Passed',
      SnapshotBound: 'False SnapshotLoading',
      Represented: 'True Passed',
      Serving: 'True Serving',
    });
  });

  it('say what a client of the Service gets, whatever the pods say of themselves', () => {
    const unready = (each: PodHealth): PodHealth => ({ ...each, endpoint: 'unready' });
    const draining = (each: PodHealth): PodHealth => ({ ...each, endpoint: 'draining' });
    expect(brief(conditions({ pods: [unready(pod('a', null))] }))).toMatchObject({
      Ready: 'False EndpointNotReady',
      Reconciling: 'True EndpointNotReady',
      Represented: 'True Passed',
      Serving: 'False EndpointNotReady',
    });
    expect(brief(conditions({ pods: [unready(silent('a'))] }))).toMatchObject({
      Ready: 'False EndpointNotReady',
      Attested: 'Unknown PodUnreachable',
      Serving: 'False EndpointNotReady',
    });
    expect(brief(conditions({ pods: [unready(pod('a', 'EntryDamaged'))] }))).toMatchObject({
      Serving: 'False EntryDamaged',
    });
    expect(brief(conditions({ pods: [pod('a', null), unready(pod('b', null))] }))).toMatchObject({
      Ready: 'False EndpointNotReady',
      Serving: 'True Serving',
    });
    // A ready pod gets all requests, also if it refuses them.
    expect(
      brief(conditions({ pods: [pod('a', 'EntryMissing')], draining: [draining(pod('b', null))] })),
    ).toMatchObject({ Serving: 'False EntryMissing' });
    const last = [draining(pod('b', null))];
    expect(brief(conditions({ pods: [unready(silent('a'))], draining: last }))).toMatchObject({
      Ready: 'False EndpointNotReady',
      Serving: 'True Serving',
    });
    expect(brief(conditions({ pods: [], draining: last }))).toMatchObject({
      Ready: 'False NoPods',
      Serving: 'True Serving',
    });
  });

  it('are Unknown without fresh evidence', () => {
    const found = brief(conditions({ pods: [silent('a'), silent('b')] }));
    expect(found).toMatchObject({
      Ready: 'Unknown PodUnreachable',
      Attested: 'Unknown PodUnreachable',
      Serving: 'Unknown PodUnreachable',
    });
    expect(brief(conditions({ pods: [silent('a'), pod('b', null)] }))).toMatchObject({
      Ready: 'False PodUnreachable',
      Attested: 'True Passed',
      Serving: 'True Serving',
    });
  });

  it('put Stalled first, and then omit Reconciling', () => {
    const stalled = { reason: 'TokenRejected', message: 'm' } as const;
    expect(brief(conditions({ stalled }))).toMatchObject({
      Ready: 'False TokenRejected',
      Stalled: 'True TokenRejected',
      Reconciling: 'False UpToDate',
      Serving: 'True Serving',
    });
  });

  it('stay Ready while a daemon does not answer, except during a change of release', () => {
    const silentDaemon = { reason: 'AdminUnavailable', message: 'm' } as const;
    expect(brief(conditions({ waiting: silentDaemon }))).toMatchObject({
      Ready: 'True Distributable',
      Reconciling: 'True AdminUnavailable',
    });
    const changing = { reason: 'ReleaseChanging', message: 'm' } as const;
    expect(brief(conditions({ waiting: changing }))).toMatchObject({ Ready: 'False ReleaseChanging' });
  });

  it('name the crash loop of a daemon, until a daemon answers that it is over', () => {
    const crashLoop = { reason: 'DaemonCrashLoop', message: 'pod a: crash loop' } as const;
    const silentDaemon = { reason: 'AdminUnavailable', message: 'm' } as const;
    const looping = conditions({ crashLoop });
    expect(brief(looping)).toMatchObject({
      Ready: 'True Distributable',
      Reconciling: 'True DaemonCrashLoop',
      Stalled: 'False NotStalled',
      Serving: 'True Serving',
    });
    // Between two of its lives the daemon does not answer.
    const between = conditions({ waiting: silentDaemon }, looping);
    expect(between.find(({ type }) => type === 'Reconciling')).toEqual(
      looping.find(({ type }) => type === 'Reconciling'),
    );
    expect(brief(conditions({ waiting: silentDaemon, crashLoop }))).toMatchObject({
      Reconciling: 'True DaemonCrashLoop',
    });
    expect(brief(conditions({}, between))).toMatchObject({ Reconciling: 'False UpToDate' });
    const changing = { reason: 'ReleaseChanging', message: 'm' } as const;
    expect(brief(conditions({ waiting: changing, crashLoop }, looping))).toMatchObject({
      Ready: 'False ReleaseChanging',
      Reconciling: 'True ReleaseChanging',
    });
  });

  it('keep their time exactly while their status stays', () => {
    const before = conditions({}).map((each) => ({ ...each, lastTransitionTime: '2020-01-01T00:00:00Z' }));
    const after = conditions({ pods: [pod('a', 'EntryDamaged')] }, before);
    const times = Object.fromEntries(after.map(({ type, lastTransitionTime }) => [type, lastTransitionTime]));
    expect(times).toMatchObject({
      Ready: '2026-01-15T12:00:00Z',
      Attested: '2020-01-01T00:00:00Z',
      Stalled: '2020-01-01T00:00:00Z',
      Serving: '2026-01-15T12:00:00Z',
    });
  });

  it('have messages of a bounded length', () => {
    const long = { ...pod('a', 'EntryMissing') };
    long.health!.verdicts.official.message = 'x'.repeat(5_000);
    const lengths = conditions({ pods: [long] }).map(({ message }) => message.length);
    expect(Math.max(...lengths)).toBe(1024);
  });
});

const RELEASE_ID = exampleOf(HealthAnswer).verdicts.official.release_id ?? '';
const DAEMON = ReleaseStatusReport.schema.parse(exampleOf(ReleaseStatusReport));

describe('a status', () => {
  function pod(name = 'a'): PodHealth {
    const health = HealthAnswer.schema.parse(exampleOf(HealthAnswer));
    return { name, origin: 'http://a', endpoint: 'ready', health, failure: null };
  }

  function status(
    changes: Partial<StatusInput> & { readonly pods?: readonly PodHealth[] } = {},
  ): ReleaseChannelStatus {
    const { pods = [pod()], ...rest } = changes;
    return statusOf({
      generation: 2,
      findings: {
        channel: 'official',
        suspended: false,
        wanted: null,
        resting: null,
        unknownPods: null,
        pods,
        draining: [],
        stalled: null,
        waiting: null,
        crashLoop: null,
        texts: null,
        gaps: [],
      },
      daemons: [DAEMON],
      history: null,
      edges: null,
      handledRequest: null,
      previous: null,
      nowMs: 1_790_000_000_000,
      ...rest,
    });
  }

  it('conforms to the definition, and is the same for the same evidence', () => {
    const first = status({ history: [releaseRow('official', 'r1', 'current')], handledRequest: 'now' });
    expect(ReleaseChannelStatusSchema.parse(first)).toEqual(first);
    expect(status({ history: [releaseRow('official', 'r1', 'current')], previous: first })).toEqual(first);
  });

  it('has edges only where the origin has some, compared with its release and history', () => {
    expect(status().edges).toBeUndefined();
    const edges = { count: 1, ready: 0, asked: [{ ...pod('edge-0'), health: null, failure: 'refused' }] };
    const history = [releaseRow('official', RELEASE_ID, 'current')];
    const found = status({ edges, history });
    expect(found.edges).toEqual({
      count: 1,
      ready: 0,
      atRelease: 0,
      summary: '0/1',
      slowest: { name: 'edge-0' },
    });
    expect(ReleaseChannelStatusSchema.parse(found)).toEqual(found);
  });

  it('joins the reports of pods and daemon on the same release', () => {
    expect(status().release).toMatchObject({
      id: RELEASE_ID,
      snapshotId: DAEMON.official?.snapshot_id,
      attestationVersion: 1042,
    });
  });

  it('trusts the pods where the daemon is ahead', () => {
    const ahead = {
      ...DAEMON,
      official: { ...DAEMON.official!, release_id: 'next', snapshot_id: 'blake3:1' },
    };
    expect(status({ daemons: [ahead] }).release).toEqual({
      id: RELEASE_ID,
      since: expect.any(String) as unknown,
      attestationVersion: 1042,
      attestationExpiresAt: expect.any(String) as unknown,
    });
  });

  it('keeps the last state while nobody answers, and drops a missing release', () => {
    const before = status();
    const silent: PodHealth = {
      name: 'a',
      origin: '',
      endpoint: 'ready',
      health: null,
      failure: 'no answer',
    };
    expect(status({ previous: before, pods: [silent], daemons: [] }).release).toEqual(before.release);
    const none = { ...pod() };
    none.health!.verdicts.official = {
      distributable: false,
      reason: 'ReleaseNotAuthorized',
      message: '',
      since: 1,
      release_id: null,
    };
    expect(
      status({ previous: before, pods: [none], daemons: [{ ...DAEMON, official: null }] }).release,
    ).toBeUndefined();
  });

  it('counts a pod as serving only if the Service sends it requests', () => {
    const unready: PodHealth = { ...pod('b'), endpoint: 'unready' };
    expect(status({ pods: [pod('a'), unready] })).toMatchObject({
      servingPods: '1/2',
      pods: [
        { name: 'a', serving: 'True' },
        { name: 'b', serving: 'False', reason: 'EndpointNotReady' },
      ],
    });
  });

  it('shows the syncs of the daemon with the most failures in a row, and keeps them while it is silent', () => {
    const failing = { ...DAEMON, sync: { ...DAEMON.sync, consecutive_failures: 7 } };
    const found = status({ daemons: [DAEMON, failing] });
    expect(found.sync).toEqual({
      result: 'Failed',
      finishedAt: expect.stringMatching(/Z$/) as unknown,
      reason: 'upstream_unreachable',
      message: 'upstream refused the connection; check upstream.url',
      nextAt: expect.stringMatching(/Z$/) as unknown,
      consecutiveFailures: 7,
    });
    expect(status({ daemons: [], previous: found }).sync).toEqual(found.sync);
    const none = { ...DAEMON, sync: { last: null, next_at: null, consecutive_failures: 0 } };
    expect(status({ daemons: [none], previous: found }).sync).toEqual({ consecutiveFailures: 0 });
  });

  it('shows a bounded history, and the last one if it could not be read', () => {
    const rows = Array.from({ length: 15 }, (_, index) => releaseRow('official', `r${index}`, 'superseded'));
    const long = status({ history: rows });
    expect(long.history).toHaveLength(HISTORY_MAX);
    expect(status({ history: null, previous: long }).history).toEqual(long.history);
  });
});

type SyncRow = ReleaseChannelStatus['sync'];

const failed = (reason: string, consecutiveFailures = 1): SyncRow => ({
  result: 'Failed',
  reason,
  message: 'm',
  consecutiveFailures,
});
const done: SyncRow = { result: 'Unchanged', consecutiveFailures: 0 };
const cancelled: SyncRow = { result: 'Cancelled', message: 'enough', consecutiveFailures: 0 };

describe('the event of a sync', () => {
  it.each([
    ['the first failure', failed('timeout'), undefined, 'Warning SyncFailed'],
    ['a failure after a success', failed('timeout'), done, 'Warning SyncFailed'],
    ['the same failure again', failed('timeout', 2), failed('timeout'), null],
    ['another failure', failed('disk_full', 2), failed('timeout'), 'Warning SyncFailed'],
    ['a success after a failure', done, failed('timeout'), 'Normal SyncSucceeded'],
    ['a success after a success', done, done, null],
    ['the first success', done, undefined, null],
    ['a cancelled sync', cancelled, failed('timeout'), null],
    ['no sync at all', undefined, undefined, null],
  ])('%s', (_what, now, before, expected) => {
    const event = syncEvent(now, before);
    expect(event === null ? null : `${event.type} ${event.reason}`).toBe(expected);
  });

  it('says why it failed and when the next one starts', () => {
    expect(syncEvent(failed('timeout'), undefined)?.note).toBe('timeout: m; no other one is planned');
    const next: SyncRow = { consecutiveFailures: 1, ...failed('timeout'), nextAt: '2026-01-15T12:00:00Z' };
    expect(syncEvent(next, done)?.note).toBe('timeout: m; the next one starts at 2026-01-15T12:00:00Z');
  });
});

/** The types of the events that a change from Ready to another state records. */
async function eventsOf(
  channel: Channel,
  ready: { readonly status: string; readonly reason: string },
): Promise<readonly string[]> {
  const events: string[] = [];
  const writer = {
    applyStatus: () => Promise.resolve('2'),
    record: (_channel: ReleaseChannel, { type, reason }: { type: string; reason: string }) => {
      events.push(`${type} ${reason}`);
      return Promise.resolve();
    },
  } as unknown as ChannelWriter;
  const statusOf = (condition: object) =>
    ({ conditions: [{ type: 'Ready', message: '', ...condition }] }) as never;
  const object = { key: 'games/a', resourceVersion: '1', spec: { channel } } as unknown as ReleaseChannel;
  const before = statusOf({ status: 'True', reason: 'Distributable' });
  const definition = { fit: (status: unknown) => status } as unknown as ChannelDefinition;
  const options = { writer, definition, clock: systemClock, logger: createSilentLogger() };
  await writeStatus(options, object, statusOf(ready), before, { written: null });
  return events;
}

describe('the events of a channel', () => {
  it.each(CALM_REASONS)('%s of a localized channel is a normal event', async (reason) => {
    expect(await eventsOf('localized', { status: 'False', reason })).toEqual([`Normal ${reason}`]);
  });

  it('other reasons, and those of the official channel, are warnings', async () => {
    expect(await eventsOf('localized', { status: 'False', reason: 'BaseReleaseChanged' })).toEqual([
      'Warning BaseReleaseChanged',
    ]);
    expect(await eventsOf('official', { status: 'False', reason: 'SnapshotLoading' })).toEqual([
      'Warning SnapshotLoading',
    ]);
    expect(await eventsOf('localized', { status: 'True', reason: 'Distributable' })).toEqual([]);
  });
});

describe('the time of a status', () => {
  const HOUR = Date.parse('2026-01-15T12:00:00Z');

  /** Whether a status that was confirmed some seconds ago, and has not changed but for this, is written. */
  async function isWritten(ageSeconds: number | null, changes: object = {}): Promise<boolean> {
    const applied: unknown[] = [];
    const writer = {
      applyStatus: (_channel: unknown, status: unknown) => {
        applied.push(status);
        return Promise.resolve('2');
      },
    } as unknown as ChannelWriter;
    const definition = { fit: (status: unknown) => status } as unknown as ChannelDefinition;
    const clock = { ...systemClock, now: () => HOUR };
    const object = { key: 'games/a', resourceVersion: '1', spec: {} } as unknown as ReleaseChannel;
    const status = { conditions: [], servingPods: '1/1' } as never;
    const observedAt = ageSeconds === null ? undefined : new Date(HOUR - ageSeconds * 1000).toISOString();
    const before = { conditions: [], servingPods: '1/1', observedAt, ...changes } as never;
    const options = { writer, definition, clock, logger: createSilentLogger() };
    await writeStatus(options, object, status, before, { written: null });
    if (applied.length > 0) expect(applied).toMatchObject([{ observedAt: '2026-01-15T12:00:00Z' }]);
    return applied.length > 0;
  }

  it('is renewed with each change, and every five minutes', async () => {
    expect(await isWritten(10)).toBe(false);
    expect(await isWritten(299)).toBe(false);
    expect(await isWritten(300)).toBe(true);
    expect(await isWritten(10, { servingPods: '0/1' })).toBe(true);
    expect(await isWritten(null)).toBe(true);
    // The clock was wrong, by an hour.
    expect(await isWritten(-3600)).toBe(true);
  });
});

describe('the end of a planned sync', () => {
  const daemon = (nextAt: number | null, last: string | null): ReleaseStatus => ({
    ...DAEMON,
    sync: {
      last:
        last === null
          ? null
          : {
              task_id: last,
              status: 'succeeded',
              result: 'changed',
              code: null,
              message: null,
              finished_at: 1,
            },
      next_at: nextAt,
      consecutive_failures: 0,
    },
  });

  it('is looked for when it starts, then after growing pauses, until another sync is the last one', () => {
    const memory = { awaited: null };
    const next = (status: ReleaseStatus, seconds: number): number | null =>
      untilSyncMs([status], memory, seconds * 1000);
    expect(next(daemon(null, null), 50)).toBeNull();
    expect(next(daemon(100, 'a'), 70)).toBe(30_500);
    // A running sync has no planned time, or that of the next one.
    expect(next(daemon(null, 'a'), 100)).toBe(500);
    expect(next(daemon(200, 'a'), 110)).toBe(1_000);
    expect(next(daemon(200, 'a'), 130)).toBe(3_000);
    expect(next(daemon(200, 'b'), 131)).toBe(69_500);
    // The plan has changed.
    expect(next(daemon(150, 'b'), 132)).toBe(18_500);
    // It ended without a trace: the next one has its turn.
    expect(next(daemon(300, 'b'), 160)).toBe(1_000);
    expect(next(daemon(300, 'b'), 300)).toBe(500);
    expect(untilSyncMs([], memory, 1)).toBeNull();
  });
});
