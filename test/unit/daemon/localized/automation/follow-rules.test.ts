import { describe, expect, it } from 'vitest';
import {
  followState,
  type FollowFacts,
} from '../../../../../src/daemon/localized/automation/follow-rules.ts';
import { noUnits } from '../../../../../src/domain/translation/unit-state.ts';
import { EVERYTHING } from '../../../../support/freeze-world.ts';

const STOPPED = { from_release_id: 'l1', at: 5, switched_at: 6 };

const DUE: FollowFacts = {
  isOn: true,
  officialId: 'r2',
  localizedBaseId: 'r1',
  stoppedBy: null,
  built: { releaseId: 'r2', generation: 7 },
  index: { release_id: 'r2', generation: 7 },
  units: { ...noUnits(), proofread: 9, untranslated: 1 },
  policy: { ...EVERYTHING, minCoverage: 0.9 },
};

describe('a localized release', () => {
  it.each<[string, Partial<FollowFacts>, string]>([
    ['is due after a new official release', {}, 'due'],
    ['is due when there was none before', { localizedBaseId: null }, 'due'],
    ['is off', { isOn: false }, 'off'],
    ['follows already', { localizedBaseId: 'r2' }, 'followed'],
    ['waits for an official release', { officialId: null }, 'waiting'],
    ['waits for the index', { index: { release_id: 'r1', generation: 6 } }, 'waiting'],
    ['waits for the tasks', { built: { releaseId: 'r1', generation: 6 } }, 'waiting'],
    ['waits for the tasks of this index', { built: { releaseId: 'r2', generation: 6 } }, 'waiting'],
    ['waits for the least coverage', { policy: { ...EVERYTHING, minCoverage: 0.91 } }, 'waiting'],
    [
      'waits for any unit',
      { units: { ...noUnits(), translated: 9 }, policy: { ...EVERYTHING, minCoverage: 0 } },
      'waiting',
    ],
    [
      'is tried where globs make the counts say nothing',
      { policy: { ...EVERYTHING, minCoverage: 1, include: ['a'] } },
      'due',
    ],
    ['is stopped after a rollback', { stoppedBy: STOPPED }, 'stopped'],
    ['is stopped although it follows', { stoppedBy: STOPPED, localizedBaseId: 'r2' }, 'stopped'],
  ])('%s', (_name, facts, state) => {
    expect(followState({ ...DUE, ...facts }).state).toBe(state);
  });

  it('says since when it is stopped, and how to resume it', () => {
    expect(followState({ ...DUE, stoppedBy: STOPPED })).toEqual({
      state: 'stopped',
      message:
        'automatic publishing is stopped since localized release l1 was rolled back; publish with args ["resume=true"] to resume it',
      since: 5,
    });
  });

  it('does not say that a rollback happened which has not taken effect', () => {
    const { message } = followState({ ...DUE, stoppedBy: { ...STOPPED, switched_at: null } });
    expect(message).toBe(
      'automatic publishing is stopped since a rollback of localized release l1 was begun, which has not taken effect; roll back again, or publish with args ["resume=true"] to resume it',
    );
  });

  it('says how many units are missing', () => {
    const { message } = followState({ ...DUE, policy: { ...EVERYTHING, minCoverage: 0.95 } });
    expect(message).toBe('9 units are proofread, and localized.minCoverage demands 10');
  });
});
