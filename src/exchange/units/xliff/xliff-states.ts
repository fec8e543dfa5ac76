import type { UnitState } from '../unit-record.ts';

interface XliffTwoState {
  readonly state: 'initial' | 'translated' | 'reviewed' | 'final';
  readonly subState: string | null;
}

interface XliffOneState {
  readonly state: string;
  readonly qualifier: string | null;
  readonly approved: boolean;
}

/** States in XLIFF 2.1, section 4.3.1.29. */
export const XLIFF_TWO_STATES: Readonly<Record<UnitState, XliffTwoState>> = {
  untranslated: { state: 'initial', subState: null },
  draft: { state: 'translated', subState: 'slipway:draft' },
  translated: { state: 'translated', subState: null },
  proofread: { state: 'reviewed', subState: null },
  published: { state: 'final', subState: null },
  blocked: { state: 'translated', subState: 'slipway:blocked' },
  stale: { state: 'initial', subState: 'slipway:stale' },
};

/** States in XLIFF 1.2, section 2.3. */
export const XLIFF_ONE_STATES: Readonly<Record<UnitState, XliffOneState>> = {
  untranslated: { state: 'needs-translation', qualifier: null, approved: false },
  draft: { state: 'needs-review-translation', qualifier: 'x-draft', approved: false },
  translated: { state: 'translated', qualifier: null, approved: false },
  proofread: { state: 'signed-off', qualifier: null, approved: true },
  published: { state: 'final', qualifier: null, approved: true },
  blocked: { state: 'needs-review-translation', qualifier: 'x-blocked', approved: false },
  stale: { state: 'needs-translation', qualifier: 'x-stale', approved: false },
};

/** The states of XLIFF 1.2 that have no exact counterpart. */
const OTHER_ONE_STATES: Readonly<Record<string, UnitState>> = {
  new: 'untranslated',
  'needs-adaptation': 'translated',
  'needs-l10n': 'translated',
  'needs-review-adaptation': 'translated',
  'needs-review-l10n': 'translated',
  'needs-review-translation': 'translated',
};

/**
 * The state of a segment of XLIFF 2. A target that still has the state `initial` was written by a tool that leaves states
 * alone.
 *
 * @returns `null` for a state that the standard does not know
 */
export function fromXliffTwo(state: string, subState: string | null, hasTarget: boolean): UnitState | null {
  // Other tools have values of their own.
  const own = subState?.startsWith('slipway:') === true ? subState : null;
  const exact = Object.entries(XLIFF_TWO_STATES).find(
    ([, each]) => each.state === state && each.subState === own,
  )?.[0];
  return found(exact, hasTarget);
}

/** The state of a target of XLIFF 1.2; see {@link fromXliffTwo}. */
export function fromXliffOne(state: string, qualifier: string | null, hasTarget: boolean): UnitState | null {
  // A user may define states of their own, which say nothing to us.
  if (state.startsWith('x-')) return found('untranslated', hasTarget);
  const own = ['x-draft', 'x-blocked', 'x-stale'].includes(qualifier ?? '') ? qualifier : null;
  const exact = Object.entries(XLIFF_ONE_STATES).find(
    ([, each]) => each.state === state && each.qualifier === own,
  )?.[0];
  return found(exact ?? OTHER_ONE_STATES[state], hasTarget);
}

function found(state: string | undefined, hasTarget: boolean): UnitState | null {
  if (state === undefined) return null;
  return state === 'untranslated' && hasTarget ? 'translated' : (state as UnitState);
}
