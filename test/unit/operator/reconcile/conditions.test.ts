import { describe, expect, it } from 'vitest';
import {
  CHANNEL_REASONS,
  CONDITION_TYPES,
  LOCALIZED_CONDITION_TYPES,
} from '../../../../src/contract/crd/channel-reasons.ts';
import type { ChannelCondition } from '../../../../src/contract/crd/release-channel.ts';
import { HealthAnswer } from '../../../../src/contract/schemas/answers/health.ts';
import { failure, success } from '../../../../src/domain/result.ts';
import { REASONS, type Reason } from '../../../../src/domain/verdict/reasons.ts';
import type { PodEvidence } from '../../../../src/operator/pods/evidence-book.ts';
import { conditionsOf, type Findings } from '../../../../src/operator/reconcile/conditions.ts';
import { stageOutcome, STAGES } from '../../../../src/operator/reconcile/stages.ts';
import { translationStatus } from '../../../support/fake-slipway.ts';

const NOW = Date.UTC(2026, 0, 15, 12);

function pod(name: string, reason: Reason | null, releaseId = 'r1'): PodEvidence {
  const health = structuredClone(HealthAnswer.example);
  health.verdicts.official = {
    distributable: reason === null,
    reason,
    message: `says ${reason}`,
    since: 1,
    release_id: releaseId,
  };
  return { name, origin: `http://${name}`, endpoint: 'ready', health, failure: null };
}

const silent = (name: string): PodEvidence => ({
  name,
  origin: '',
  endpoint: 'ready',
  health: null,
  failure: 'no answer',
});

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
      ...findings,
    },
    3,
    previous,
    NOW,
  );
}

const brief = (all: readonly ChannelCondition[]): Record<string, string> =>
  Object.fromEntries(all.map(({ type, status, reason }) => [type, `${status} ${reason}`]));

describe('the conditions', () => {
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
    const unready = (each: PodEvidence): PodEvidence => ({ ...each, endpoint: 'unready' });
    const draining = (each: PodEvidence): PodEvidence => ({ ...each, endpoint: 'draining' });
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
