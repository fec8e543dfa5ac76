import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TRANSLATION_STATUSES } from '../../../../src/contract/schemas/vocabulary.ts';
import {
  canSetStatus,
  FIXED_STATUSES,
  nextStatuses,
  taskStatus,
} from '../../../../src/domain/translation/task-status.ts';
import { noUnits, type UnitState } from '../../../../src/domain/translation/unit-state.ts';

const units = (counts: Partial<Record<UnitState, number>>) => ({ ...noUnits(), ...counts });

describe('the status of a task', () => {
  it.each([
    [{ untranslated: 3 }, 'pending'],
    [{ stale: 3 }, 'pending'],
    [{ untranslated: 1, draft: 2 }, 'in_progress'],
    [{ stale: 1, proofread: 2 }, 'in_progress'],
    [{ draft: 1, proofread: 2 }, 'translated'],
    [{ proofread: 2 }, 'proofread'],
    [{ proofread: 2, blocked: 1 }, 'blocked'],
  ] as const)('of the units %j is %s', (counts, expected) => {
    expect(taskStatus({ stored: null, units: units(counts), isLeased: false })).toBe(expected);
  });

  it('is `in_progress` while a worker has a part of it, and what was asked for after that', () => {
    const facts = { units: units({ proofread: 1 }), isLeased: true };
    expect(taskStatus({ ...facts, stored: null })).toBe('in_progress');
    expect(taskStatus({ ...facts, stored: 'pending' })).toBe('in_progress');
    expect(taskStatus({ ...facts, isLeased: false, stored: 'pending' })).toBe('pending');
  });

  it('property: a fixed status does not depend on the units', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...FIXED_STATUSES),
        fc.nat(3),
        fc.nat(3),
        fc.boolean(),
        (stored, a, b, isLeased) => {
          expect(taskStatus({ stored, units: units({ blocked: a, proofread: b }), isLeased })).toBe(stored);
        },
      ),
    );
  });

  it('cannot be changed in a task that is superseded', () => {
    expect(nextStatuses('superseded')).toEqual([]);
    expect(canSetStatus('skipped', 'translated')).toBe(false);
    expect(canSetStatus('failed', 'pending')).toBe(true);
    expect(canSetStatus('published', 'in_progress')).toBe(true);
    const all = TRANSLATION_STATUSES.flatMap((from) => nextStatuses(from));
    expect(
      all.filter((status) => ['blocked', 'proofread', 'published', 'superseded'].includes(status)),
    ).toEqual([]);
  });
});
