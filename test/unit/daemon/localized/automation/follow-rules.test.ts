import { describe, expect, it } from 'vitest';
import {
  followState,
  type FollowFacts,
} from '../../../../../src/daemon/localized/automation/follow-rules.ts';
import { noReleaseUnits } from '../../../../../src/domain/translation/expected-outcomes.ts';
import { noUnits } from '../../../../../src/domain/translation/unit-state.ts';
import { EVERYTHING } from '../../../../support/freeze-world.ts';

const ROLLBACK = { from_release_id: 'l1', at: 5, reviewer: null, reason: null };
const STOPPED = { rollback: ROLLBACK, progress: 'in_effect' } as const;

const DUE_UNITS = { ...noReleaseUnits(), units: { ...noUnits(), proofread: 9, untranslated: 1 } };

const DUE: FollowFacts = {
  isOn: true,
  officialId: 'r2',
  isOfficialDamaged: false,
  localizedBaseId: 'r1',
  stop: null,
  isWithdrawn: false,
  built: { releaseId: 'r2', generation: 7 },
  index: { release_id: 'r2', generation: 7 },
  units: DUE_UNITS,
  policy: { ...EVERYTHING, minCoverage: 0.9 },
};

describe('a localized release', () => {
  it.each<[string, Partial<FollowFacts>, string]>([
    ['is due after a new official release', {}, 'due'],
    ['is due when there was none before', { localizedBaseId: null }, 'due'],
    ['is off', { isOn: false }, 'off'],
    ['follows already', { localizedBaseId: 'r2' }, 'followed'],
    ['waits for an official release', { officialId: null }, 'waiting'],
    ['waits for the repair of the official release', { isOfficialDamaged: true }, 'waiting'],
    ['waits for the index', { index: { release_id: 'r1', generation: 6 } }, 'waiting'],
    ['waits for the tasks', { built: { releaseId: 'r1', generation: 6 } }, 'waiting'],
    ['waits for the tasks of this index', { built: { releaseId: 'r2', generation: 6 } }, 'waiting'],
    ['waits for the least coverage', { policy: { ...EVERYTHING, minCoverage: 0.91 } }, 'waiting'],
    [
      'waits for any unit',
      {
        units: { ...noReleaseUnits(), units: { ...noUnits(), translated: 9 } },
        policy: { ...EVERYTHING, minCoverage: 0 },
      },
      'waiting',
    ],
    [
      'waits for units that are not on hold',
      { units: { ...DUE_UNITS, heldUnits: { ...noUnits(), proofread: 9 } } },
      'waiting',
    ],
    ['is stopped after a rollback', { stop: STOPPED }, 'stopped'],
    ['is stopped although it follows', { stop: STOPPED, localizedBaseId: 'r2' }, 'stopped'],
    ['is off after a rollback', { stop: STOPPED, isOn: false }, 'off'],
    [
      'is stopped while the channel is withdrawn, also when it is off',
      { stop: STOPPED, isOn: false, isWithdrawn: true },
      'stopped',
    ],
  ])('%s', (_name, facts, state) => {
    expect(followState({ ...DUE, ...facts }).state).toBe(state);
  });

  it('says since when it is stopped, and how to resume it', () => {
    expect(followState({ ...DUE, stop: STOPPED })).toEqual({
      state: 'stopped',
      message:
        'automatic publishing is stopped since localized release l1 was rolled back; publish with args=resume=true to resume it',
      since: 5,
      awaits: null,
    });
  });

  it.each<[string, Partial<FollowFacts>]>([
    ['index', { index: { release_id: 'r1', generation: 6 } }],
    ['tasks', { built: { releaseId: 'r1', generation: 6 } }],
    ['tasks', { built: { releaseId: 'r2', generation: 6 } }],
    ['translations', { policy: { ...EVERYTHING, minCoverage: 0.95 } }],
    ['publication', {}],
  ])('awaits %s', (awaits, facts) => {
    expect(followState({ ...DUE, ...facts }).awaits).toBe(awaits);
  });

  it('awaits translations, which it lacked before, while its index and its tasks are made again', () => {
    const policy = { ...EVERYTHING, minCoverage: 0.95 };
    const again = { policy, built: { releaseId: 'r2', generation: 6 } };
    expect(followState({ ...DUE, ...again }).awaits).toBe('translations');
    expect(followState({ ...DUE, ...again, index: null }).awaits).toBe('translations');
    // The units are those of the release before.
    expect(followState({ ...DUE, policy, built: { releaseId: 'r1', generation: 6 } }).awaits).toBe('tasks');
  });

  it('does not say that a rollback happened which has not taken effect', () => {
    const { message } = followState({ ...DUE, stop: { ...STOPPED, progress: 'without_effect' } });
    expect(message).toBe(
      'automatic publishing is stopped since a rollback of localized release l1 was begun, which has not taken effect; roll back again, or publish with args=resume=true to resume it',
    );
  });

  it('says how many units are missing', () => {
    const { message } = followState({ ...DUE, policy: { ...EVERYTHING, minCoverage: 0.95 } });
    expect(message).toBe('9 units are proofread, and localized.minCoverage demands 10');
  });
});
