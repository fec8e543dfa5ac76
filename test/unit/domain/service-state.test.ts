import { exampleOf } from '../../../scripts/reference/examples.ts';
import { describe, expect, it } from 'vitest';
import { isControlAction } from '../../../src/contract/actions/actions.ts';
import { HealthAnswer } from '../../../src/contract/schemas/answers/health.ts';
import { decideServiceState } from '../../../src/domain/service-state/decide-service-state.ts';
import { describeLocalized } from '../../../src/domain/service-state/describe-state.ts';
import {
  DAEMON_CONDITION_CODES,
  DAEMON_CONDITIONS_MAX,
  type DaemonCondition,
  type DaemonConditionCode,
} from '../../../src/domain/service-state/daemon-conditions.ts';
import { REMEDIES, REMEDY_ACTIONS } from '../../../src/domain/service-state/service-reasons.ts';
import type { ServiceAnswer, ServiceFacts } from '../../../src/domain/service-state/service-state.ts';
import { REASONS, type Reason } from '../../../src/domain/verdict/reasons.ts';
import { factsOfVerdicts } from '../../support/service-answer.ts';

const SERVED = exampleOf(HealthAnswer).verdicts;
const ABSENT = { failure: 'unreachable', since: 2000 } as const;

function refused(reason: Reason, release: string | null = 'r1'): (typeof SERVED)['official'] {
  return { distributable: false, reason, message: `because of ${reason}`, since: 1000, release_id: release };
}

function condition(code: DaemonConditionCode, next: number | null = null): DaemonCondition {
  return { code, message: `told: ${code}`, since: 1500, next_try: next };
}

function decide(verdicts: Partial<typeof SERVED>, changes: Partial<ServiceFacts> = {}): ServiceAnswer {
  return decideServiceState(factsOfVerdicts({ ...SERVED, ...verdicts }, changes));
}

describe('the state of the service', () => {
  it('has a reason and a next step exactly unless it is healthy, whatever the facts are', () => {
    const reasons = [null, ...(Object.keys(REASONS) as Reason[])];
    const worlds: Array<Partial<ServiceFacts>> = [
      {},
      { conditions: null },
      { daemon: ABSENT },
      { isStopping: true },
      { refresh: { failures: 2, code: 'timeout', since: null } },
      ...DAEMON_CONDITION_CODES.map((code) => ({ conditions: [condition(code)] })),
    ];
    for (const official of reasons) {
      for (const localized of reasons) {
        for (const world of worlds) {
          const answer = decide(
            {
              ...(official === null ? {} : { official: refused(official) }),
              ...(localized === null ? {} : { localized: refused(localized) }),
            },
            world,
          );
          for (const each of [answer, answer.channels.official, answer.channels.localized]) {
            expect([each.reason === null, each.next_step === null]).toEqual(
              each.state === 'healthy' ? [true, true] : [false, false],
            );
          }
          const isServed = ['healthy', 'degraded'].includes(answer.channels.official.state);
          expect(isServed).toBe(official === null && world.isStopping !== true);
        }
      }
    }
  });

  it('names only actions that the daemon has', () => {
    expect(REMEDY_ACTIONS.filter((action) => !isControlAction(action))).toEqual([]);
  });

  it('names a daemon that is away as the cause of an expired attestation', () => {
    const answer = decide({ official: refused('AttestationExpired') }, { daemon: ABSENT });
    expect(answer).toMatchObject({ state: 'expired', reason: 'DaemonUnreachable', since: 1000 });
    expect(answer.next_step?.text).toBe(
      'Start the daemon; if it exits again, read its log or that of its supervisor, which says why.',
    );
  });

  it('keeps damage as the cause, and says that nobody repairs it', () => {
    const answer = decide({ official: refused('EntryDamaged') }, { daemon: ABSENT });
    expect(answer).toMatchObject({ state: 'damaged', reason: 'EntryDamaged', next_step: { action: null } });
    expect(answer.next_step?.text).toMatch(/^Start the daemon; /);
    expect(answer.message).toContain('nothing repairs it');
  });

  it('forgets the conditions of a daemon that does not answer', () => {
    const answer = decide({}, { daemon: ABSENT, conditions: [condition('volume_full')] });
    expect(answer.reason).toBe('DaemonUnreachable');
  });

  it('keeps a withdrawal while the daemon is away, because only the daemon ends it', () => {
    const answer = decide(
      { localized: refused('ReleaseNotAuthorized', null) },
      { daemon: ABSENT, conditions: [condition('localized_withdrawn')] },
    );
    expect(answer.channels.localized).toMatchObject({ state: 'withdrawn', reason: 'ReleaseWithdrawn' });
  });

  it('does not blame the token of a daemon that answers again before its next poll', () => {
    const refresh = { failures: 3, code: 'unreachable', since: 2000 };
    expect(decide({}, { refresh })).toMatchObject({ state: 'degraded', reason: 'DaemonStarting' });
  });

  it('has a damaged official release repaired before its localized release is published again', () => {
    const verdicts = { official: refused('EntryDamaged'), localized: refused('EntryDamaged', 'l1') };
    for (const told of [[condition('repair_failed')], []]) {
      const { localized } = decide(verdicts, { conditions: told }).channels;
      expect(localized).toMatchObject({ state: 'damaged', next_step: { action: 'repair' } });
    }
  });

  it('says when the daemon tries again', () => {
    const answer = decide(
      { official: refused('ReleaseNotAuthorized', null) },
      { conditions: [condition('sync_failed', 3000)] },
    );
    expect(answer).toMatchObject({ state: 'unpublished', reason: 'SyncFailed', since: 1500 });
    expect(answer.next_step).toEqual({
      text: 'Correct the cause that the sync task names, then run sync. The daemon tries again at 1970-01-01T00:50:00Z.',
      action: 'sync',
    });
  });

  it('counts a sync or a repair beside a served release as normal', () => {
    expect(decide({}, { conditions: [condition('syncing'), condition('repairing')] }).state).toBe('healthy');
  });

  it('does not blame the localized channel for what withdraws the official one', () => {
    const answer = decide({
      official: refused('EntryMissing'),
      localized: refused('BaseReleaseChanged', 'l1'),
    });
    expect(answer.channels.localized).toEqual(answer.channels.official);
    expect(answer.caused).toContainEqual({ what: 'localized channel', since: 1000 });
  });

  it('has damaged files of the localized release published again, because no repair brings them back', () => {
    for (const told of [[condition('repair_failed')], []]) {
      const answer = decide({ localized: refused('EntryDamaged', 'l1') }, { conditions: told });
      expect(answer).toMatchObject({ state: 'degraded', next_step: { action: 'localized-publish' } });
      // The official channel is sound.
      expect(answer.channels.official.state).toBe('healthy');
    }
    const full = decide(
      { localized: refused('EntryDamaged', 'l1') },
      { conditions: [condition('volume_full')] },
    );
    expect(full.channels.localized.next_step?.action).toBe('release-cleanup');
    const manifest = decide(
      { localized: refused('ManifestDamaged', 'l1') },
      { conditions: [condition('repair_failed')] },
    );
    expect(manifest.next_step?.action).toBe('repair');
  });

  it('names no publication on an edge, which refuses it, whatever the facts are', () => {
    const mirrored = condition('localized_mirrored');
    const worlds: ReadonlyArray<Partial<ServiceFacts>> = [
      { conditions: [mirrored] },
      { conditions: [mirrored], daemon: ABSENT },
      // A server that has just started and has not heard from its daemon.
      { conditions: null, daemon: ABSENT },
      ...DAEMON_CONDITION_CODES.map((code) => ({ conditions: [mirrored, condition(code)] })),
      { conditions: [mirrored, condition('localized_stale'), condition('publishing_stopped')] },
    ];
    for (const reason of Object.keys(REASONS) as Reason[]) {
      for (const release of ['l1', null]) {
        for (const world of worlds) {
          const { next_step: next, channels } = decide({ localized: refused(reason, release) }, world);
          expect([next?.action, channels.localized.next_step?.action]).not.toContain('localized-publish');
        }
      }
    }
  });

  it('speaks of the origin while an edge has no localized release', () => {
    const answer = decide(
      { localized: refused('ReleaseNotAuthorized', null) },
      { conditions: [condition('localized_mirrored')] },
    );
    expect(answer.state).toBe('healthy');
    expect(answer.channels.localized).toMatchObject({
      state: 'unpublished',
      reason: 'NothingPublished',
      message: 'told: localized_mirrored',
      next_step: { text: expect.stringMatching(/^Look at .* of the origin\./u) as string, action: null },
    });
  });

  it('has damaged files of the localized release of an edge repaired, because its origin has them', () => {
    const mirrored = condition('localized_mirrored');
    const stepWith = (...told: readonly DaemonCondition[]): unknown => {
      const conditions = [mirrored, ...told];
      return decide({ localized: refused('EntryDamaged', 'l1') }, { conditions }).next_step;
    };
    expect(stepWith()).toEqual({ text: 'Run repair.', action: 'repair' });
    expect(stepWith(condition('repair_failed'))).toMatchObject({ action: 'repair' });
    expect(stepWith(condition('repairing'))).toMatchObject({ text: 'Wait for the end of the repair.' });
  });

  it('says that a repair must be run when the daemon neither repairs nor has tried', () => {
    const text = (conditions: ServiceFacts['conditions']): string | undefined =>
      decide({ official: refused('EntryDamaged') }, { conditions }).next_step?.text;
    expect(text([])).toBe('Run repair.');
    expect(text([condition('repairing')])).toBe('Wait for the end of the repair.');
    // A daemon that tells nothing may repair.
    expect(text(null)).toMatch(/^Wait for the automatic repair/);
  });

  it.each([
    ['localized_stale', 'stale', 'BaseReleaseChanged'],
    ['localized_unverified', 'starting', 'LocalizedUnverified'],
  ] as const)('does not take a localized release that is left out (%s) for none', (code, state, reason) => {
    const answer = decide(
      { localized: refused('ReleaseNotAuthorized', null) },
      { conditions: [condition(code)] },
    );
    expect(answer).toMatchObject({ state: 'degraded', reason });
    expect(answer.channels.localized.state).toBe(state);
  });

  it.each([
    ['a rollback', refused('ReleaseNotAuthorized', null)],
    ['a rollback before the current official release', refused('BaseReleaseChanged', null)],
    ['a rollback beside the release of an earlier base', refused('BaseReleaseChanged', 'r0-l1')],
  ])('is healthy when %s has withdrawn the channel, and says how to resume', (_what, localized) => {
    const answer = decide({ localized }, { conditions: [condition('localized_withdrawn')] });
    expect(answer).toMatchObject({ state: 'healthy', reason: null, next_step: null });
    expect(answer.channels.localized).toMatchObject({
      state: 'withdrawn',
      reason: 'ReleaseWithdrawn',
      since: 1500,
      next_step: { text: expect.stringContaining('resume=true') as string, action: 'localized-publish' },
    });
    expect(describeLocalized(answer)).toBe('withdrawn (ReleaseWithdrawn): told: localized_withdrawn');
    const before = decide({ localized }, { conditions: [condition('publishing_stopped')] });
    expect(before).toMatchObject({ state: 'degraded', reason: 'PublishingStopped' });
  });

  it.each([refused('BaseReleaseChanged', 'r0-l1'), refused('ReleaseNotAuthorized', null)])(
    'takes a release that follows a new official one for a start, not for a fault: $reason',
    (localized) => {
      const stale = condition('localized_stale');
      const answer = decide({ localized }, { conditions: [condition('localized_following'), stale] });
      expect(answer).toMatchObject({ state: 'healthy', reason: null });
      expect(answer.channels.localized).toMatchObject({
        state: 'starting',
        reason: 'LocalizedFollowing',
        next_step: { action: null },
      });
      // The chain has failed, or waits for translations.
      expect(decide({ localized }, { conditions: [stale] })).toMatchObject({
        state: 'degraded',
        reason: 'BaseReleaseChanged',
      });
    },
  );

  it('is healthy while the daemon has replaced a stale release, and this server has not accepted the next one', () => {
    const localized = refused('BaseReleaseChanged', 'r0-l1');
    const stateWith = (changes: Partial<ServiceFacts>): readonly unknown[] => {
      const { state, channels } = decide({ localized }, changes);
      return [state, channels.localized.state, channels.localized.reason];
    };
    expect(stateWith({ conditions: [] })).toEqual(['healthy', 'starting', 'LocalizedFollowing']);
    // Nothing is known of the release that the daemon has.
    expect(stateWith({ conditions: null })).toEqual(['degraded', 'stale', 'BaseReleaseChanged']);
    expect(stateWith({ daemon: ABSENT })).toEqual(['degraded', 'stale', 'BaseReleaseChanged']);
    // No attestation of that release comes.
    const stale = ['stale', 'BaseReleaseChanged'];
    expect(stateWith({ conditions: [condition('attestation_failing')] }).slice(1)).toEqual(stale);
    const refresh = { failures: 1, code: 'unauthorized', since: null };
    expect(stateWith({ conditions: [], refresh }).slice(1)).toEqual(stale);
    // A full list can lack the condition of a stale release.
    const full = Array.from({ length: DAEMON_CONDITIONS_MAX }, () => condition('volume_unwritable'));
    expect(stateWith({ conditions: full }).slice(1)).toEqual(stale);
  });

  it('is healthy while the server reads a new localized release', () => {
    const answer = decide({ localized: refused('SnapshotLoading', 'l1') });
    expect([answer.state, answer.channels.localized.state]).toEqual(['healthy', 'starting']);
  });

  it.each([refused('BaseReleaseChanged', 'r0-l1'), refused('ReleaseNotAuthorized', null)])(
    'says that a rollback keeps a stale release from being followed: $reason',
    (localized) => {
      const { channels } = decide(
        { localized },
        { conditions: [condition('localized_stale'), condition('publishing_stopped')] },
      );
      expect(channels.localized).toMatchObject({
        state: 'stale',
        reason: 'PublishingStopped',
        message: 'told: localized_stale; told: publishing_stopped',
        next_step: { text: expect.stringContaining('resume=true') as string },
      });
    },
  );

  it('shows for each channel only its own repair', () => {
    const told = (code: DaemonConditionCode, channel: 'official' | 'localized'): DaemonCondition => ({
      ...condition(code),
      channel,
    });
    const { channels } = decide(
      { official: refused('EntryDamaged'), localized: refused('ManifestDamaged', 'l1') },
      { conditions: [told('repair_failed', 'official'), told('repairing', 'localized')] },
    );
    expect(channels.official).toMatchObject({
      message: expect.stringContaining('told: repair_failed') as string,
      next_step: { action: 'repair' },
    });
    expect(channels.localized).toMatchObject({
      message: expect.stringContaining('told: repairing') as string,
      next_step: { text: 'Wait for the end of the repair.' },
    });
  });

  it('does not advise a sync to a daemon without an upstream', () => {
    const answer = decide(
      { official: refused('ReleaseNotAuthorized', null) },
      // The first sync failed before the upstream was removed from the configuration.
      { conditions: [condition('sync_failed'), condition('no_upstream')] },
    );
    expect(answer).toMatchObject({ state: 'unpublished', reason: 'NoUpstream', next_step: { action: null } });
    expect(answer.next_step?.text).toMatch(/^Set upstream\.kind/);
  });

  it('names the remedy of the volume that is full', () => {
    const remedyOf = (...codes: readonly DaemonConditionCode[]): unknown =>
      decide({}, { conditions: codes.map((code) => condition(code)) }).next_step?.action;
    expect(remedyOf('data_volume_full')).toBe(null);
    expect(remedyOf('data_volume_full', 'volume_full')).toBe('release-cleanup');
    expect(decide({}, { conditions: [condition('data_volume_full')] }).next_step?.text).toContain('data.dir');
  });

  it('tells one story while only the official release is damaged', () => {
    const damaged = { official: refused('EntryDamaged'), localized: refused('EntryDamaged', 'l1') };
    const { verdicts, ...facts } = factsOfVerdicts({ ...SERVED, ...damaged });
    const fault = { reason: 'EntryDamaged', message: 'it is damaged' } as const;
    const checks = [{ name: 'base-release-current', ok: false, ...fault }] as const;
    const answer = decideServiceState({
      ...facts,
      verdicts: { ...verdicts, localized: { ...verdicts.localized, checks } },
    });
    expect(answer.channels.localized).toEqual(answer.channels.official);
    expect(answer.caused).toContainEqual({ what: 'localized channel', since: answer.since });
    // Damage of its own is not a consequence.
    expect(decide(damaged).caused.map(({ what }) => what)).not.toContain('localized channel');
  });

  it.each([
    ['AttestationInvalid', 'AttestationInvalid'],
    ['timeout', 'DaemonTimeout'],
    ['unauthorized', 'RefreshFailing'],
    [null, 'RefreshFailing'],
  ] as const)('gives polls that fail with %s the remedy of %s', (code, reason) => {
    const { state, next_step: next } = decide({}, { refresh: { failures: 2, code, since: null } });
    expect([state, next]).toEqual(['degraded', REMEDIES[reason]]);
  });

  it('is not healthy while a volume refuses writes, and says that nothing is repaired', () => {
    const conditions = [condition('volume_unwritable')];
    const answer = decide({}, { conditions });
    expect([answer.state, answer.reason]).toEqual(['degraded', 'VolumeUnwritable']);
    const damaged = decide({ official: refused('EntryDamaged') }, { conditions });
    expect(damaged).toMatchObject({ state: 'damaged', reason: 'EntryDamaged' });
    expect(damaged.next_step).toEqual(answer.next_step);
  });

  it('is not healthy while a database with work of people cannot be used', () => {
    const answer = decide({}, { conditions: [condition('work_database_unusable')] });
    expect([answer.state, answer.reason]).toEqual(['degraded', 'WorkDatabaseUnusable']);
    expect(answer.next_step?.text).toContain('slipway restore');
  });

  it('takes a volume that a daemon without a release has not made yet for a start, not for damage', () => {
    const unseen = refused('SnapshotMissing', null);
    const stateWith = (...codes: readonly DaemonConditionCode[]): readonly unknown[] => {
      const conditions = codes.map((code) => condition(code));
      const { state, reason } = decide({ official: unseen, localized: unseen }, { conditions });
      return [state, reason];
    };
    expect(stateWith('starting')).toEqual(['starting', 'DaemonStarting']);
    expect(stateWith('never_synced')).toEqual(['unpublished', 'NeverSynced']);
    expect(stateWith('syncing', 'never_synced')).toEqual(['starting', 'Syncing']);
    // The daemon has a release, so this server looks at another volume.
    expect(stateWith()).toEqual(['damaged', 'SnapshotMissing']);
    expect(
      decide({ official: refused('SnapshotMissing') }, { conditions: [condition('starting')] }).state,
    ).toBe('damaged');
  });

  it('raises no alarm before the first answer of the daemon', () => {
    const answer = decide({ official: refused('AttestationUnavailable', null) }, { conditions: null });
    expect(answer.next_step?.text).toMatch(/^Wait a moment after a start\. If it lasts, /);
  });

  it.each([
    ['data_volume_full', 'DataVolumeFull'],
    ['volume_full', 'VolumeFull'],
    ['volume_unwritable', 'VolumeUnwritable'],
  ] as const)('names the volume that the start of the daemon waits for (%s)', (code, reason) => {
    const conditions = [condition(code)];
    expect(decide({}, { conditions })).toMatchObject({ state: 'degraded', reason });
    expect(decide({ official: refused('AttestationExpired') }, { conditions })).toMatchObject({
      state: 'expired',
      reason,
    });
    expect(decide({ official: refused('AttestationUnavailable', null) }, { conditions })).toMatchObject({
      state: 'unpublished',
      reason,
    });
  });

  it('is degraded by a localized release that is stale, and not by one that was never published', () => {
    expect(decide({}).state).toBe('healthy');
    const stale = decide(
      { localized: refused('BaseReleaseChanged', 'l1') },
      { conditions: [condition('localized_stale')] },
    );
    expect(stale).toMatchObject({ state: 'degraded', reason: 'BaseReleaseChanged' });
    expect(stale.channels.localized.state).toBe('stale');
    expect(stale.channels.official.state).toBe('healthy');
  });
});
