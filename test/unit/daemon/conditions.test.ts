import type { TaskEngine } from '../../../src/engine/tasks/task-engine.ts';
import { partial } from '../../support/partial.ts';
import { describe, expect, it } from 'vitest';
import { conditionsOf, type ConditionFacts } from '../../../src/daemon/conditions/conditions-of.ts';
import {
  isFollowing,
  isPreparing,
  readFollowWork,
  type WorkOfKind,
} from '../../../src/localization/following.ts';
import type { Awaited } from '../../../src/localization/localized/automation/follow-rules.ts';
import type { KindHistory } from '../../../src/engine/tasks/task-reads.ts';
import type { Task } from '../../../src/engine/tasks/task.ts';

/** A daemon with a release and no trouble. */
const CALM: ConditionFacts = {
  hasOfficial: true,
  hasUpstream: true,
  sync: {
    runningSince: null,
    consecutiveFailures: 0,
    failingSince: null,
    code: null,
    retriedCode: null,
    waitsUntil: null,
    nextAt: 900,
  },
  full: { snapshot: null, data: null },
  damaged: [],
  nextRepairAt: null,
  isClockOff: false,
  isAttesting: true,
  origin: null,
  isDatabaseDamaged: false,
  unwritable: { snapshot: null, data: null },
  unusable: [],
  crashLoopSince: null,
  stale: null,
  unverified: null,
  mirrored: null,
  publishingStoppedSince: null,
  withdrawn: null,
  openRollbackOf: null,
  now: 500,
};
const DAMAGED = {
  channel: 'official',
  releaseId: 'r1',
  count: 2,
  foundBy: 'verify',
  since: 100,
  failedRepair: null,
  isPublished: false,
} as const;

describe('the conditions of the daemon', () => {
  it.each<readonly [string, Partial<ConditionFacts>, readonly object[]]>([
    ['nothing', {}, []],
    [
      'a sync that upstream asked to wait',
      { sync: { ...CALM.sync, runningSince: 490, waitsUntil: 620 } },
      [
        {
          code: 'syncing',
          message: 'a sync waits, because upstream asked it to retry later',
          since: 490,
          next_try: 620,
        },
      ],
    ],
    [
      'the first sync',
      { hasOfficial: false, sync: { ...CALM.sync, runningSince: 490 } },
      [
        { code: 'syncing', since: 490, next_try: null },
        { code: 'never_synced', since: null, next_try: 900 },
      ],
    ],
    [
      'an origin that cannot be followed',
      { origin: { since: 100, code: 'origin_untrusted', servedUntil: 900 } },
      [
        {
          code: 'origin_not_followed',
          message:
            'the origin has not been followed since 1970-01-01T00:01:40Z (origin_untrusted); its releases are served until 1970-01-01T00:15:00Z',
          since: 100,
          next_try: null,
        },
      ],
    ],
    [
      'failed syncs',
      {
        hasOfficial: false,
        sync: { ...CALM.sync, consecutiveFailures: 3, failingSince: 200, code: 'upstream_unreachable' },
      },
      [
        {
          code: 'sync_failed',
          message: 'the last 3 syncs failed (upstream_unreachable)',
          since: 200,
          next_try: 900,
        },
      ],
    ],
    [
      'a first sync whose attempts fail',
      { hasOfficial: false, sync: { ...CALM.sync, retriedCode: 'upstream_unreachable' } },
      [
        {
          code: 'sync_failed',
          message: 'the first sync has not succeeded; its last attempt failed (upstream_unreachable)',
          since: null,
          next_try: 900,
        },
        { code: 'never_synced' },
      ],
    ],
    [
      'another attempt of the first sync',
      { hasOfficial: false, sync: { ...CALM.sync, runningSince: 490, retriedCode: 'upstream_unreachable' } },
      [
        { code: 'syncing', message: 'a sync runs; its last attempt failed (upstream_unreachable)' },
        { code: 'sync_failed' },
        { code: 'never_synced' },
      ],
    ],
    [
      'attempts of a later sync that fail, while there is a release',
      { sync: { ...CALM.sync, retriedCode: 'upstream_unreachable' } },
      [],
    ],
    [
      'a rollback that took no effect',
      { publishingStoppedSince: 8, openRollbackOf: 'r1-l2' },
      [
        {
          code: 'publishing_stopped',
          message: 'the rollback of localized release r1-l2 had no effect; roll back again',
          since: 8,
        },
      ],
    ],
    [
      'a localized channel that a rollback has withdrawn',
      { withdrawn: { releaseId: 'r1-l1', since: 9 }, publishingStoppedSince: 8 },
      [
        {
          code: 'localized_withdrawn',
          message: 'localized release r1-l1 was rolled back, and none is published since',
          since: 9,
        },
      ],
    ],
    [
      'no upstream, which does not make a sync the remedy',
      { hasOfficial: false, hasUpstream: false },
      [{ code: 'no_upstream', next_try: null }],
    ],
    ['a release of an upstream that is no longer configured', { hasUpstream: false }, []],
    [
      'a full data folder',
      { full: { snapshot: null, data: { since: 7 } } },
      [{ code: 'data_volume_full', since: 7 }],
    ],
    [
      'two full volumes',
      { full: { snapshot: { since: null }, data: { since: 7 } } },
      [
        { code: 'data_volume_full', since: 7 },
        { code: 'volume_full', since: null },
      ],
    ],
    [
      'damage that is being repaired',
      { damaged: [DAMAGED], nextRepairAt: 0 },
      [
        {
          code: 'repairing',
          channel: 'official',
          message: 'the daemon repairs 2 damaged files of release r1, found by verify',
          since: 100,
          next_try: null,
        },
      ],
    ],
    [
      'damage whose repair waits',
      { damaged: [{ ...DAMAGED, count: 0, foundBy: null }], nextRepairAt: 800 },
      [
        {
          code: 'repairing',
          message: 'the daemon repairs the manifest or the record of release r1',
          next_try: 800,
        },
      ],
    ],
    [
      'damage that a server found, whose finder it tells itself',
      { damaged: [{ ...DAMAGED, foundBy: 'server' }], nextRepairAt: 0 },
      [{ code: 'repairing', message: 'the daemon repairs 2 damaged files of release r1' }],
    ],
    ['damage that nobody repairs', { damaged: [DAMAGED] }, []],
    [
      'a failed repair',
      { damaged: [{ ...DAMAGED, failedRepair: { triedAt: 450, nextAt: 800 } }], nextRepairAt: 800 },
      [{ code: 'repair_failed', since: 450, next_try: 800 }],
    ],
    [
      'damage for which a publication builds the files again, although a repair failed',
      {
        damaged: [
          {
            ...DAMAGED,
            channel: 'localized',
            isPublished: true,
            failedRepair: { triedAt: 450, nextAt: 800 },
          },
        ],
      },
      [
        {
          code: 'repairing',
          channel: 'localized',
          message:
            'a publication builds those of 2 damaged files of release r1 again that are patched, found by verify',
        },
      ],
    ],
    [
      'a damaged manifest, which no publication writes again',
      {
        damaged: [{ ...DAMAGED, count: 0, isPublished: true, failedRepair: { triedAt: 450, nextAt: 800 } }],
      },
      [{ code: 'repair_failed' }],
    ],
    [
      'the damage of both channels, each with its own repair',
      {
        damaged: [
          DAMAGED,
          {
            ...DAMAGED,
            channel: 'localized',
            releaseId: 'l1',
            failedRepair: { triedAt: 450, nextAt: 800 },
          },
        ],
        nextRepairAt: 0,
      },
      [
        { code: 'repairing', channel: 'official' },
        { code: 'repair_failed', channel: 'localized' },
      ],
    ],
    ['a clock behind recorded times', { isClockOff: true }, [{ code: 'clock_off' }]],
    ['no attestation', { isAttesting: false }, [{ code: 'attestation_failing' }]],
    ['a damaged database', { isDatabaseDamaged: true }, [{ code: 'database_damaged' }]],
    [
      'volumes that cannot be written',
      { unwritable: { snapshot: { since: null }, data: { since: 8 } } },
      [
        {
          code: 'volume_unwritable',
          message: 'the daemon cannot write to the snapshot volume',
          since: null,
        },
        {
          code: 'volume_unwritable',
          message: 'the daemon cannot write to the volume of the data folder',
          since: 8,
        },
      ],
    ],
    [
      'a full volume once',
      { full: { snapshot: null, data: { since: 7 } }, unwritable: { snapshot: null, data: { since: 8 } } },
      [{ code: 'data_volume_full', since: 7 }],
    ],
    [
      'databases of people that cannot be used',
      {
        unusable: [
          { content: 'the translations', since: 9 },
          { content: 'the Glossary', since: 7 },
        ],
      },
      [
        {
          code: 'work_database_unusable',
          message: 'the database of the translations and of the Glossary cannot be used',
          since: 7,
        },
      ],
    ],
    ['a crash loop', { crashLoopSince: 3 }, [{ code: 'crash_loop', since: 3 }]],
    [
      'a stale localized release',
      { stale: { releaseId: 'l1', since: 4, isFollowed: false } },
      [
        {
          code: 'localized_stale',
          message: 'localized release l1 was made for an earlier official release',
          since: 4,
        },
      ],
    ],
    [
      'a localized release that is followed',
      { stale: { releaseId: 'l1', since: 4, isFollowed: true } },
      [
        {
          code: 'localized_following',
          message:
            'localized release l1 was made for an earlier official release, and the one for the current official release is being made',
          since: 4,
        },
        { code: 'localized_stale', since: 4 },
      ],
    ],
    [
      'a localized release that was not verified in time',
      { unverified: { releaseId: 'l1' } },
      [
        {
          code: 'localized_unverified',
          message: 'the last full verification of localized release l1 is too old',
        },
      ],
    ],
    ['stopped publishing', { publishingStoppedSince: 5 }, [{ code: 'publishing_stopped', since: 5 }]],
  ])('report %s', (_what, changes, expected) => {
    expect(conditionsOf({ ...CALM, ...changes })).toMatchObject(expected);
    expect(conditionsOf({ ...CALM, ...changes })).toHaveLength(expected.length);
  });
});

/** When the official release became current, Unix seconds. */
const SINCE = 100;
const idle: WorkOfKind = { isLive: false, isRetried: false, last: null };
const live: WorkOfKind = { ...idle, isLive: true };
const retried: WorkOfKind = { ...live, isRetried: true };
const ended = (at: number, hasSucceeded = true, createdAt = at): WorkOfKind => ({
  ...idle,
  last: { createdAt, at, hasSucceeded },
});
const failed = (at: number, createdAt = at): WorkOfKind => ended(at, false, createdAt);

interface Case {
  readonly awaits?: Awaited | null;
  readonly step: readonly WorkOfKind[];
  readonly publication?: WorkOfKind;
  readonly now: number;
}

const follows = ({ awaits = 'tasks', step, publication = idle, now }: Case): boolean =>
  isFollowing({ awaits, step, publication }, SINCE, now);

describe('the following of a localized release', () => {
  describe('a localized release is on its way', () => {
    it.each<[string, Case]>([
      ['while a task of the step waits or runs, however long', { step: [ended(101), live], now: 9000 }],
      ['immediately after the new official release, before a task is queued', { step: [idle], now: 100 }],
      ['between two tasks', { step: [ended(500), failed(90)], now: 501 }],
      ['after a failure of the release before', { step: [failed(101, 99)], now: 101 }],
      [
        'after a failed publication of the release before',
        { step: [live], publication: failed(101, 99), now: 9000 },
      ],
    ])('%s', (_when, facts) => {
      expect(follows(facts)).toBe(true);
    });
  });

  describe('a localized release is not on its way', () => {
    it.each<[string, Case]>([
      ['when none follows', { awaits: null, step: [], now: 100 }],
      ['while translations are missing', { awaits: 'translations', step: [], now: 100 }],
      ['for long, when nothing is queued', { step: [idle, idle], now: 110 }],
      ['when a step rests', { step: [ended(500), ended(501)], now: 511 }],
      ['after a failure', { step: [ended(500), failed(501)], now: 501 }],
      ['after a failure in the second of a success', { step: [ended(500), failed(500)], now: 500 }],
      ['after a failure, while another task tries', { step: [{ ...failed(500), isLive: true }], now: 501 }],
      ['while a task waits for another attempt', { step: [retried], now: 101 }],
      [
        'after a failed publication, while its index is made again',
        { awaits: 'index', step: [live], publication: failed(300), now: 301 },
      ],
    ])('%s', (_when, facts) => {
      expect(follows(facts)).toBe(false);
    });
  });

  describe('the work', () => {
    const NOTHING: KindHistory = {
      last: null,
      consecutiveFailures: 0,
      failingSince: null,
      succeededAt: null,
      nextRunAt: null,
      retriedCode: null,
    };
    const engineWith = (histories: Readonly<Record<string, Partial<KindHistory>>>): TaskEngine =>
      partial({
        runningSince: () => null,
        historyOf: (kind: string) => ({ ...NOTHING, ...histories[kind] }),
      });
    const published = (result: Task['result']) =>
      ({ status: 'succeeded', result, created_at: 101, finished_at: 102 }) as Task;

    it('is that of the step, so a task that cannot publish does not count', () => {
      const engine = engineWith({ parse: { nextRunAt: 200 } });
      expect(isFollowing(readFollowWork(engine, 'translations'), SINCE, 200)).toBe(false);
      expect(isFollowing(readFollowWork(engine, 'publication'), SINCE, 200)).toBe(false);
      expect(isFollowing(readFollowWork(engine, 'index'), SINCE, 200)).toBe(true);
    });

    it('has failed when a publication found too little translated, and not when it found another release', () => {
      const after = (result: Task['result']): boolean => {
        const engine = engineWith({ 'localized-follow': { nextRunAt: 200, last: published(result) } });
        return isFollowing(readFollowWork(engine, 'publication'), SINCE, 200);
      };
      expect(after({ published: false, awaits: 'translations' })).toBe(false);
      expect(after({ published: false, awaits: 'index' })).toBe(true);
    });

    it('prepares a release while its index or its tasks are made', () => {
      expect(isPreparing(engineWith({ 'parse-full': { nextRunAt: 200 } }))).toBe(true);
      expect(isPreparing(engineWith({ 'task-build': { nextRunAt: 200 } }))).toBe(true);
      expect(isPreparing(engineWith({ 'localized-follow': { nextRunAt: 200 } }))).toBe(false);
    });
  });
});
