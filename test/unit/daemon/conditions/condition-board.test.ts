import { expect, it } from 'vitest';
import type { DaemonCondition } from '../../../../src/domain/service-state/daemon-conditions.ts';
import { createConditionBoard } from '../../../../src/daemon/conditions/condition-board.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';

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
