import { describe, expect, it } from 'vitest';
import { collectFacts, type FactSources } from '../../../src/daemon/conditions/collect-facts.ts';
import { createConditionBoard } from '../../../src/daemon/conditions/open-conditions.ts';
import { conditionsOf } from '../../../src/daemon/conditions/conditions-of.ts';
import type { DaemonCondition } from '../../../src/domain/service-state/daemon-conditions.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

/** Sources of a sound daemon whose automation is stopped by a rollback to `to` that has no record of its effect. */
function sourcesOf(current: string | null, to: string | null, taskStatus: string): FactSources {
  const rollback = { task_id: 't1', from_release_id: 'l3', to_release_id: to, at: 5, switched_at: null };
  const sources: Record<keyof FactSources, unknown> = {
    releases: {
      announcedOf: () => null,
      current: () => null,
      pointer: (channel: string) =>
        channel === 'official' ? { release_id: 'r1' } : current === null ? null : { release_id: current },
    },
    attempts: { nextAtMs: () => null },
    attestor: { status: () => ({ status: 'ok' }), volumeError: () => null },
    engine: { runningSince: () => null, get: () => ({ status: taskStatus }) },
    hasUpstream: () => true,
    syncState: () => ({
      report: { last: null, next_at: null, consecutive_failures: 0 },
      failingSince: null,
      retriedCode: null,
      wait: null,
      missedBytes: null,
    }),
    mirroredLocalized: () => null,
    originTrouble: () => null,
    doctor: { latest: () => [] },
    lease: { status: () => ({ state: 'held' }) },
    dataSpace: { fullSince: () => null },
    clockCheck: { isBehindRecords: () => false },
    crashLoopSince: () => null,
    automation: () => ({ state: 'stopped', since: 5 }),
    rollbacks: { stoppedBy: () => rollback, stops: () => [rollback] },
    repairsAutomatically: () => false,
    maxVerifyAgeSeconds: () => 100,
    clock: new FakeClock(),
  };
  return sources as unknown as FactSources;
}

describe('the facts of conditions', () => {
  describe('the conditions of a rollback without a record of its effect', () => {
    const STOPPED = 'automatic publishing is stopped after a rollback';
    const REPEAT = 'the rollback of localized release l3 had no effect; roll back again';
    const WITHDRAWN = 'localized release l3 was rolled back, and none is published since';

    it.each<[string, string | null, string | null, string, readonly object[]]>([
      ['nothing while its task runs', 'l3', 'l2', 'running', []],
      ['nothing while its task waits', 'l3', 'l2', 'queued', []],
      [
        'that it took effect as soon as its release is current',
        'l2',
        'l2',
        'running',
        [{ code: 'publishing_stopped', message: STOPPED, since: 5 }],
      ],
      [
        'that it took effect after its task failed',
        'l2',
        'l2',
        'failed',
        [{ code: 'publishing_stopped', message: STOPPED, since: 5 }],
      ],
      [
        'that it took no effect when its task failed',
        'l3',
        'l2',
        'failed',
        [{ code: 'publishing_stopped', message: REPEAT, since: 5 }],
      ],
      [
        'that the channel is withdrawn, since the rollback',
        null,
        null,
        'running',
        [{ code: 'localized_withdrawn', message: WITHDRAWN, since: 5 }],
      ],
    ])('tell %s', (_what, current, to, status, expected) => {
      expect(conditionsOf(collectFacts(sourcesOf(current, to, status)))).toMatchObject(expected);
    });
  });

  it.each([null, 'l2'])(
    'a rollback from before the localized channel was copied no longer counts (%s)',
    (current) => {
      const told = 'the localized channel is copied from the origin';
      const sources = { ...sourcesOf(current, current, 'failed'), mirroredLocalized: () => told };
      expect(conditionsOf(collectFacts(sources))).toEqual([
        { code: 'localized_mirrored', channel: 'localized', message: told, since: null, next_try: null },
      ]);
    },
  );

  describe('a snapshot volume that refuses a file', () => {
    const toldWith = (...checks: readonly object[]): readonly string[] => {
      const sources = { ...sourcesOf(null, null, 'running'), doctor: { latest: () => checks } };
      return conditionsOf(collectFacts(sources as unknown as FactSources)).map(({ code }) => code);
    };

    it.each([
      ['is full without inodes, whatever bytes are free', true, 'volume_full'],
      ['is unwritable for another cause', false, 'volume_unwritable'],
    ])('%s', (_what, lacksSpace, code) => {
      expect(toldWith({ id: 'store.writable', status: 'failing', since: 7, lacksSpace })).toContain(code);
    });

    it.each([
      ['EROFS', ['volume_unwritable']],
      ['EIO', ['volume_unwritable']],
      ['ENOSPC', ['volume_full']],
      ['ELEASE', []],
    ])('is told until it holds the attestation that it refused with %s', (code, expected) => {
      const volumeError = (): Error => Object.assign(new Error(code), { code });
      const attestor = { status: () => ({ status: 'degraded' }), volumeError };
      const doctor = { latest: () => [{ id: 'store.writable', status: 'ok', since: 7, seenAt: 7 }] };
      const sources = { ...sourcesOf('l2', 'l2', 'running'), attestor, doctor };
      const told = conditionsOf(collectFacts(sources as unknown as FactSources)).map((one) => one.code);
      expect(told.filter((one) => one.startsWith('volume_'))).toEqual(expected);
    });

    it('is not told after a pause of the daemon, before the next renewal', () => {
      const told = (state: string): readonly string[] => {
        const lease = { status: () => ({ state, message: 'm', replacedBy: null }) };
        const sources = { ...sourcesOf(null, null, 'running'), lease };
        return conditionsOf(collectFacts(sources as unknown as FactSources)).map(({ code }) => code);
      };
      expect(told('expired')).not.toContain('volume_unwritable');
      expect(told('unconfirmed')).toContain('volume_unwritable');
    });

    it('says what is there instead of the store', () => {
      const status = {
        state: 'unconfirmed',
        message: 'not renewed',
        replacedBy: 'it holds another store (b)',
      };
      const sources = { ...sourcesOf(null, null, 'running'), lease: { status: () => status } };
      expect(conditionsOf(collectFacts(sources as unknown as FactSources))).toContainEqual(
        expect.objectContaining({
          code: 'volume_unwritable',
          message: 'the daemon cannot write to the snapshot volume: it holds another store (b)',
        }),
      );
    });
  });

  describe('a volume that refused the last sync', () => {
    const REFUSED_AT = 100;
    const toldWith = (
      code: string,
      missedBytes: number | null,
      ...checks: ReadonlyArray<readonly [id: string, found: object]>
    ): readonly string[] => {
      const failed = { status: 'failed', code, finished_at: REFUSED_AT };
      const sources = {
        ...sourcesOf(null, null, 'running'),
        syncState: () => ({
          report: { last: failed, next_at: null, consecutive_failures: 1 },
          failingSince: REFUSED_AT,
          retriedCode: null,
          wait: null,
          missedBytes,
        }),
        doctor: {
          latest: () =>
            checks.map(([id, found]) => ({ id, status: 'ok', since: 1, seenAt: REFUSED_AT + 1, ...found })),
        },
      };
      return conditionsOf(collectFacts(sources as unknown as FactSources))
        .map((condition) => condition.code)
        .filter((told) => told !== 'localized_withdrawn');
    };

    it.each<readonly [string, number | null, readonly string[]]>([
      ['no_space', 900, ['store.writable', 'store.space']],
      ['data_full', null, ['data.writable', 'data.space']],
    ])(
      'is no longer full when the doctor finds room after it; the failure stays told (%s)',
      (code, missedBytes, ids) => {
        const degraded = ids.map((id) => [id, { status: 'degraded', freeBytes: 900 }] as const);
        expect(toldWith(code, missedBytes, ...degraded)).toEqual(['sync_failed']);
      },
    );

    const WRITABLE = ['store.writable', {}] as const;
    it.each<readonly [string, number | null, ReadonlyArray<readonly [string, object]>]>([
      ['the doctor has not looked', 0, []],
      [
        'the doctor looked before the sync ended',
        0,
        [WRITABLE, ['store.space', { freeBytes: 900, seenAt: REFUSED_AT }]],
      ],
      [
        'it takes no file',
        0,
        [
          ['store.writable', { status: 'failing' }],
          ['store.space', { freeBytes: 900 }],
        ],
      ],
      ['the sync did not know how much it needs', null, [WRITABLE, ['store.space', { freeBytes: 900 }]]],
      ['it has less than the sync wanted', 901, [WRITABLE, ['store.space', { freeBytes: 900 }]]],
    ])('stays full while %s', (_what, missedBytes, checks) => {
      expect(toldWith('no_space', missedBytes, ...checks)).toContain('volume_full');
    });
  });
});

const SYNCING: DaemonCondition = { code: 'syncing', message: 'a sync runs', since: 1, next_try: null };

function board() {
  const clock = new FakeClock();
  let found: readonly DaemonCondition[] | Error = [];
  let looks = 0;
  let version = 1;
  const source = createConditionBoard({
    find: () => {
      looks += 1;
      if (found instanceof Error) throw found;
      return found;
    },
    attestationVersion: () => version,
    bootId: 'boot',
    clock,
  });
  return {
    clock,
    source,
    looks: () => looks,
    attest: () => {
      version += 1;
    },
    set: (next: typeof found) => {
      found = next;
    },
  };
}

describe('the board of conditions', () => {
  it('looks at most once a second, and gives a tag to each state', async () => {
    const { clock, source, looks, set } = board();
    const first = source.current();
    set([SYNCING]);
    expect(source.current()).toBe(first);
    await clock.advance(1000);
    const second = source.current();
    expect(second.conditions).toEqual([SYNCING]);
    expect(second.tag).not.toBe(first.tag);
    await clock.advance(1000);
    expect(source.current()).toBe(second);
    expect(looks()).toBe(3);
  });

  it('looks again for a new attestation, whose cause can be newer than the last look', () => {
    const { source, looks, set, attest } = board();
    source.current();
    set([SYNCING]);
    attest();
    expect(source.current().conditions).toEqual([SYNCING]);
    expect(source.current().conditions).toEqual([SYNCING]);
    expect(looks()).toBe(2);
  });

  it('ends a wait when the conditions change, when the time is over, or when the caller leaves', async () => {
    const { clock, source, set } = board();
    const { tag } = source.current();
    const change = source.waitForChange(tag, 60_000, new AbortController().signal);
    set([SYNCING]);
    await clock.advance(1000);
    await change;
    const now = source.current().tag;
    const over = source.waitForChange(now, 1500, new AbortController().signal);
    await clock.advance(1000);
    await clock.advance(500);
    await over;
    await source.waitForChange(now, 60_000, AbortSignal.abort());
    await source.waitForChange('another tag', 60_000, new AbortController().signal);
  });

  it('tells a damaged database that cannot be read, and keeps the last conditions on another error', async () => {
    const { clock, source, set } = board();
    set([SYNCING]);
    expect(source.current().conditions).toEqual([SYNCING]);
    set(new Error('busy'));
    await clock.advance(1000);
    expect(source.current().conditions).toEqual([SYNCING]);
    set(Object.assign(new Error('malformed'), { code: 'ERR_SQLITE_ERROR', errcode: 11 }));
    await clock.advance(1000);
    expect(source.current().conditions).toMatchObject([{ code: 'database_damaged' }]);
  });
});
