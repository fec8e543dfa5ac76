import { describe, expect, it } from 'vitest';
import { noUnits } from '../../../../src/domain/translation/unit-state.ts';
import { coverageOf } from '../../../../src/daemon/translation/release-coverage.ts';
import type { WorkStatus } from '../../../../src/daemon/translation/work/work-status.ts';

const STATUS: WorkStatus = {
  schemaVersion: 1,
  targetLanguage: 'zh-Hans',
  tasks: {},
  built: { releaseId: 'r1', generation: 3 },
  units: { untranslated: 6, draft: 5, translated: 4, proofread: 30, blocked: 2, stale: 1 },
  skippedUnits: { ...noUnits(), untranslated: 7, proofread: 1 },
  excludedUnits: { ...noUnits(), blocked: 3, translated: 1 },
  blockedUnits: { draft: 1, translated: 0, proofread: 1 },
  heldUnits: { ...noUnits(), untranslated: 1, proofread: 2 },
  leases: { open: 0, expired: 0 },
  failedChunks: 0,
};

const NONE_BLOCKED = { draft: 0, translated: 0, proofread: 0 };

describe('the coverage of the official release', () => {
  it('counts units, and what stands against a publication', () => {
    expect(coverageOf(STATUS, 'r1', 'proofread')).toEqual({
      coverage: {
        release_id: 'r1',
        target_language: 'zh-Hans',
        units: 60,
        accepted: 31,
        translated: 36,
        blocked: 5,
        blocked_left_out: 3,
        skipped: 8,
        excluded: 4,
        by_state: { untranslated: 13, draft: 5, translated: 5, proofread: 31, blocked: 5, stale: 1 },
        publishable: 28,
      },
      publish_blockers: [
        {
          code: 'qa_blocked',
          count: 1,
          message: 'units with blocking findings; slipway ctl translations handoff lists them',
          unit_state: 'blocked',
        },
        {
          code: 'on_hold',
          count: 3,
          message: 'units on hold until someone reviews them; slipway ctl translations handoff lists them',
        },
        {
          code: 'stale',
          count: 1,
          message: 'units whose source has changed since they were translated',
          unit_state: 'stale',
        },
        {
          code: 'untranslated',
          count: 5,
          message: 'units without a translation',
          unit_state: 'untranslated',
        },
        {
          code: 'below_min_state',
          count: 10,
          message: 'drafts and translated units; localized.minState demands proofread',
          unit_state: 'draft,translated,blocked',
        },
      ],
    });
  });

  it('has no blockers when every unit is accepted, those of skipped tasks aside', () => {
    const units = { ...noUnits(), proofread: 30 };
    expect(
      coverageOf({ ...STATUS, units, blockedUnits: NONE_BLOCKED, heldUnits: noUnits() }, 'r1', 'proofread')
        .publish_blockers,
    ).toEqual([]);
  });

  it.each([
    ['translated', 6, 'drafts; localized.minState demands translated', 'draft,blocked'],
    ['draft', 0, undefined, undefined],
  ] as const)('counts only units below the minimum state %s', (minState, count, message, states) => {
    const { publish_blockers: blockers } = coverageOf(STATUS, 'r1', minState);
    const below = blockers.find(({ code }) => code === 'below_min_state');
    expect([below?.count ?? 0, below?.message, below?.unit_state]).toEqual([count, message, states]);
  });

  it('names blocked units among those below the minimum state only where some count there', () => {
    const { publish_blockers: blockers } = coverageOf(
      { ...STATUS, blockedUnits: NONE_BLOCKED },
      'r1',
      'translated',
    );
    expect(blockers.find(({ code }) => code === 'below_min_state')?.unit_state).toBe('draft');
  });

  it('does not tell how many units are publishable while not all that are on hold are counted', () => {
    const heldUnits = { ...noUnits(), proofread: 10_000 };
    const units = { ...noUnits(), proofread: 60_000 };
    const { coverage } = coverageOf({ ...STATUS, units, heldUnits }, 'r1', 'proofread');
    expect(coverage.publishable).toBeNull();
  });

  it.each([
    [null, 'no_official_release'],
    ['r2', 'tasks_not_built'],
  ])('is 0 while there are no tasks for the official release %s', (releaseId, code) => {
    const { coverage, publish_blockers: blockers } = coverageOf(STATUS, releaseId, 'proofread');
    expect(coverage).toMatchObject({
      release_id: releaseId,
      units: 0,
      accepted: 0,
      skipped: 0,
      publishable: 0,
    });
    expect(blockers.map((blocker) => blocker.code)).toEqual([code]);
  });
});
