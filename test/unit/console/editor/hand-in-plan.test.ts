import { describe, expect, it } from 'vitest';
import { handInOf, isHandInOffered } from '../../../../src/console/translate/editor/hand-in-plan.ts';

const task = (status: 'in_progress' | 'superseded' | 'skipped', counts: Record<string, number>) =>
  ({ status, unit_counts: counts }) as unknown as Parameters<typeof isHandInOffered>[0];

describe('a task that is handed in', () => {
  it('gives its drafts to the reviewer when each unit has a usable target', () => {
    expect(handInOf({ draft: 3, translated: 2, proofread: 1 })).toEqual({ drafts: 3, missing: [] });
  });

  it('names the units for which the daemon refuses it, by their state', () => {
    const { missing } = handInOf({ draft: 3, untranslated: 4, stale: 1, blocked: 2 });
    expect(missing.map(({ state, units }) => [state, units])).toEqual([
      ['untranslated', 4],
      ['stale', 1],
      ['blocked', 2],
    ]);
  });

  it.each([
    ['in_progress', { draft: 1 }, true],
    ['in_progress', { untranslated: 1 }, true],
    ['in_progress', { translated: 5, proofread: 1 }, false],
    ['skipped', { draft: 1 }, false],
    ['superseded', { draft: 1 }, false],
  ] as const)('is offered where something can be handed in (%s, %o)', (status, counts, isOffered) => {
    expect(isHandInOffered(task(status, counts))).toBe(isOffered);
  });
});
