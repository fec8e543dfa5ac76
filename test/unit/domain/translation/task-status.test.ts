import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TRANSLATION_STATUSES } from '../../../../src/contract/schemas/vocabulary.ts';
import {
  FIXED_STATUSES,
  isClosed,
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
    expect(taskStatus({ stored: null, units: units(counts), isLeased: false, isGivenUp: false })).toBe(
      expected,
    );
  });

  it('is `in_progress` while a worker has a part of it, and what was asked for after that', () => {
    const facts = { units: units({ proofread: 1 }), isLeased: true, isGivenUp: false };
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
          expect(
            taskStatus({ stored, units: units({ blocked: a, proofread: b }), isLeased, isGivenUp: isLeased }),
          ).toBe(stored);
        },
      ),
    );
  });

  it('is `failed` when workers have given up and no unit has a target', () => {
    const facts = { stored: null, isLeased: false, isGivenUp: true };
    expect(taskStatus({ ...facts, units: units({ untranslated: 2, stale: 1 }) })).toBe('failed');
    expect(taskStatus({ ...facts, units: units({ untranslated: 2, draft: 1 }) })).toBe('in_progress');
    expect(taskStatus({ ...facts, units: units({ untranslated: 2, blocked: 1 }) })).toBe('blocked');
    expect(taskStatus({ ...facts, stored: 'in_progress', units: units({ untranslated: 2 }) })).toBe(
      'in_progress',
    );
  });

  it('lets people continue a failed task, and programs only when someone has opened it', () => {
    expect(nextStatuses('failed', false)).toEqual([
      'pending',
      'in_progress',
      'translated',
      'failed',
      'skipped',
    ]);
    expect(nextStatuses('failed', true)).toEqual(['pending', 'failed', 'skipped']);
    expect(['failed', 'skipped', 'published', 'superseded', 'blocked'].filter(isClosed)).toEqual([
      'skipped',
      'superseded',
    ]);
  });

  it('lets people correct a published task', () => {
    expect(nextStatuses('published', false)).toEqual(['pending', 'in_progress', 'translated']);
  });

  it('cannot be changed in a task that is superseded', () => {
    expect(nextStatuses('superseded', false)).toEqual([]);
    expect(nextStatuses('skipped', false)).not.toContain('translated');
    const all = TRANSLATION_STATUSES.flatMap((from) => nextStatuses(from, false));
    expect(
      all.filter((status) => ['blocked', 'proofread', 'published', 'superseded'].includes(status)),
    ).toEqual([]);
  });
});
