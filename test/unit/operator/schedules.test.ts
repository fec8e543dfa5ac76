import { describe, expect, it } from 'vitest';
import { EVERY_JOB } from '../../../scripts/reference/tables.ts';
import { parseControlBody } from '../../../src/contract/actions/parse-control-body.ts';
import { LOCALIZATION_JOBS } from '../../../src/contract/crd/localization-jobs.ts';
import {
  ReleaseChannelSpecSchema,
  type ReleaseChannelSpec,
} from '../../../src/contract/crd/release-channel.ts';
import type { ReportedSchedule } from '../../../src/operator/pods/server-client.ts';
import {
  desiredSchedules,
  scheduleCalls,
  scheduleIds,
  scheduleOwner,
  type DesiredSchedule,
} from '../../../src/operator/reconcile/desired-schedules.ts';

const BASE = {
  channel: 'official',
  serverRef: { name: 's', port: 80 },
  adminTokenSecretRef: { name: 'a', key: 'k' },
};

function desired(spec: object, holdSync = false): readonly DesiredSchedule[] {
  const parsed: ReleaseChannelSpec = ReleaseChannelSpecSchema.parse({ ...BASE, ...spec });
  return desiredSchedules({ namespace: 'ns', name: 'one', spec: parsed }, holdSync);
}

const ALL = { sync: { interval: '15m' }, verify: { interval: '24h' }, retention: { keep: 2 } };

function reported(schedule: DesiredSchedule, changes: Partial<ReportedSchedule> = {}): ReportedSchedule {
  return {
    id: schedule.id,
    group: schedule.group,
    origin: 'controller',
    replaced_by: null,
    action: schedule.action,
    args: [...schedule.args],
    enabled: schedule.enabled,
    next_run_unix_seconds: 1,
    every_seconds: schedule.everySeconds,
    max_runs: null,
    run_count: 0,
    last_run_unix_seconds: null,
    last_task_id: null,
    last_status: null,
    skipped_overlap: 0,
    exhausted: false,
    ...changes,
  };
}

describe('the schedules of a spec', () => {
  it('are exactly those that it requires', () => {
    expect(desired({})).toEqual([]);
    expect(desired(ALL)).toEqual([
      {
        id: 'relch:ns:one:sync',
        group: 'res',
        action: 'sync',
        args: [],
        everySeconds: 900,
        enabled: true,
      },
      {
        id: 'relch:ns:one:verify',
        group: 'res',
        action: 'verify',
        args: ['channel=official'],
        everySeconds: 86_400,
        enabled: true,
      },
      {
        id: 'relch:ns:one:cleanup',
        group: 'res',
        action: 'release-cleanup',
        args: ['count=2'],
        everySeconds: 86_400,
        enabled: true,
      },
    ]);
  });

  it('are disabled while it is suspended, and the sync while a pinned release is current', () => {
    expect(desired({ ...ALL, suspend: true }).map(({ enabled }) => enabled)).toEqual([false, false, false]);
    expect(desired(ALL, true).map(({ enabled }) => enabled)).toEqual([false, true, true]);
  });

  it('hold back the configured sync and cleanup of the daemon when the spec names no interval', () => {
    const held = { group: 'res', args: [], everySeconds: 86_400, enabled: false };
    const sync = { id: 'relch:ns:one:sync', action: 'sync', ...held };
    expect(desired({}, true)).toEqual([sync]);
    expect(desired({ suspend: true })).toEqual([
      sync,
      { id: 'relch:ns:one:cleanup', action: 'release-cleanup', ...held },
    ]);
    expect(desired({ channel: 'localized', suspend: true }, true)).toEqual([]);
    // The cleanup serves both channels.
    const localized = { channel: 'localized', verify: ALL.verify, retention: ALL.retention };
    expect(desired(localized).map(({ action }) => action)).toEqual(['verify', 'release-cleanup']);
    expect(desired({ ...localized, suspend: true }).map(({ action }) => action)).toEqual(['verify']);
  });

  it('run jobs of localization, which publish nothing while a release is pinned', () => {
    const schedules = [
      { action: 'worker-run', args: ['provider=fixture'], interval: '1h' },
      { action: 'localized-publish', args: ['from_worker=true'], interval: '24h' },
    ];
    const localized = { channel: 'localized', schedules };
    const [worker, publish] = desired(localized);
    expect(worker).toEqual({
      id: 'relch:ns:one:worker-run',
      group: 'i18n',
      action: 'worker-run',
      args: ['provider=fixture'],
      everySeconds: 3600,
      enabled: true,
    });
    expect(publish).toMatchObject({ args: ['from_worker=true'], everySeconds: 86_400, enabled: true });
    expect(desired({ ...localized, release: 'l1' }).map(({ enabled }) => enabled)).toEqual([true, false]);
    expect(desired({ ...localized, suspend: true }).map(({ enabled }) => enabled)).toEqual([false, false]);
    expect(scheduleOwner(worker?.id ?? '')).toEqual({ namespace: 'ns', name: 'one' });
  });

  it('can run exactly the jobs of the daemon that schedules of localization may run', () => {
    const jobs = EVERY_JOB.filter(({ groups }) => groups.some((group) => group === 'i18n'));
    expect(LOCALIZATION_JOBS.toSorted()).toEqual(jobs.map(({ kind }) => kind).toSorted());
  });

  it('have ids that no other object has', () => {
    const ids = [
      ['a', 'b'],
      ['a-b', 'c'],
      ['a', 'b-c'],
      ['a', 'b.c'],
    ].flatMap(([namespace = '', name = '']) => scheduleIds({ namespace, name }));
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('the calls that bring a schedule to its desired state', () => {
  const [sync, verify] = desired(ALL) as [DesiredSchedule, DesiredSchedule];

  it('are empty when it already matches', () => {
    expect(scheduleCalls(sync.id, sync, reported(sync))).toEqual([]);
    expect(scheduleCalls(sync.id, undefined, null)).toEqual([]);
  });

  it('are bodies that the daemon accepts', () => {
    const calls = [
      ...scheduleCalls(sync.id, sync, null),
      ...scheduleCalls(verify.id, verify, null),
      ...scheduleCalls(verify.id, verify, reported(verify, { max_runs: 3 })),
      ...scheduleCalls(sync.id, sync, reported(sync, { args: ['force=true'], action: 'verify' })),
      ...scheduleCalls(sync.id, undefined, reported(sync)),
    ];
    expect(calls.map(({ action }) => action)).toEqual([
      'schedule-add',
      'schedule-add',
      'schedule-remove',
      'schedule-add',
      'schedule-update',
      'schedule-remove',
    ]);
    for (const { action, body } of calls) expect(parseControlBody(action, body).ok).toBe(true);
  });

  it('change only the differences, so that an interval does not restart', () => {
    expect(scheduleCalls(sync.id, sync, reported(sync, { enabled: false }))).toEqual([
      { action: 'schedule-update', body: { id: sync.id, enabled: true } },
    ]);
    expect(scheduleCalls(sync.id, sync, reported(sync, { every_seconds: 5 }))).toEqual([
      { action: 'schedule-update', body: { id: sync.id, every_seconds: 900 } },
    ]);
    expect(scheduleCalls(verify.id, verify, reported(verify, { args: [] }))).toEqual([
      { action: 'schedule-update', body: { id: verify.id, args: ['channel=official'] } },
    ]);
  });
});
