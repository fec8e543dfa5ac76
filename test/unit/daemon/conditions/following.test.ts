import { describe, expect, it } from 'vitest';
import {
  isFollowing,
  isPreparing,
  readFollowWork,
  type WorkOfKind,
} from '../../../../src/daemon/conditions/following.ts';
import type { Awaited } from '../../../../src/daemon/localized/automation/follow-rules.ts';
import type { KindHistory } from '../../../../src/daemon/tasks/task-reads.ts';
import type { Task } from '../../../../src/daemon/tasks/task.ts';

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
  const engineWith = (histories: Readonly<Record<string, Partial<KindHistory>>>) => ({
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
