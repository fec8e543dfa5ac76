import { describe, expect, it } from 'vitest';
import { stopOf } from '../../../../src/daemon/localized/rollback/rollback-effect.ts';
import type { Rollback } from '../../../../src/daemon/localized/rollback/rollback-records.ts';
import type { ReleaseRepository } from '../../../../src/daemon/releases/records/release-repository.ts';
import type { TaskEngine } from '../../../../src/daemon/tasks/task-engine.ts';

const rollback = (id: string, from: string, to: string | null, switchedAt: number | null): Rollback => ({
  task_id: id,
  from_release_id: from,
  to_release_id: to,
  reviewer: null,
  reason: null,
  at: 5,
  switched_at: switchedAt,
  held_units: null,
  reinstated_at: null,
  resumed_at: null,
});

/** Which rollback stops publishing, and how far it has come, while these tasks run. */
function stop(current: string | null, stops: readonly Rollback[], live: readonly string[] = []): unknown {
  const pointer = () => (current === null ? null : { release_id: current });
  const get = (id: string) => ({ status: live.includes(id) ? 'running' : 'failed' });
  const found = stopOf({
    releases: { pointer, announcedOf: () => null } as unknown as Pick<
      ReleaseRepository,
      'pointer' | 'announcedOf'
    >,
    rollbacks: { stops: () => stops },
    tasks: { get } as unknown as Pick<TaskEngine, 'get'>,
  });
  return found === null ? null : [found.rollback.task_id, found.progress];
}

describe('a rollback', () => {
  const open = rollback('t2', 'l3', 'l2', null);
  const withdrawing = rollback('t2', 'l1', null, null);

  it.each<[string, string | null, Rollback, readonly string[], string]>([
    ['is in effect when it is recorded', 'l4', rollback('t2', 'l3', 'l2', 7), [], 'in_effect'],
    ['is in effect when its release is current', 'l2', open, [], 'in_effect'],
    ['is in effect although its task runs', 'l2', open, ['t2'], 'in_effect'],
    ['is in effect when it withdrew the channel', null, withdrawing, ['t2'], 'in_effect'],
    ['is in progress while its task runs', 'l3', open, ['t2'], 'in_progress'],
    ['has no effect when its task has ended', 'l3', open, [], 'without_effect'],
    ['has no effect when it did not withdraw', 'l1', withdrawing, [], 'without_effect'],
    ['is overtaken by another release', 'l4', open, [], 'overtaken'],
  ])('%s', (_when, current, newest, live, progress) => {
    expect(stop(current, [newest], live)).toEqual(['t2', progress]);
  });

  it('leaves the previous one as the cause while its task runs', () => {
    const previous = rollback('t1', 'l4', 'l3', 4);
    expect(stop('l3', [open, previous], ['t2'])).toEqual(['t1', 'in_effect']);
    expect(stop('l3', [open, previous])).toEqual(['t2', 'without_effect']);
    expect(stop('l3', [])).toBeNull();
  });
});
