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

/** The sub-state of a target of XLIFF 2 that is a copy of its source. */
export const COPIED = 'slipway:copied';

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

/** The states of XLIFF 1.2 that say that there is no translation yet. */
const OPEN_ONE_STATES: ReadonlySet<string> = new Set(['new', 'needs-translation']);

/** Whether a target that equals its source was only copied, for programs that show no unit without a target. */
export function isCopiedState(isTwo: boolean, state: string | null, qualifier: string | null): boolean {
  if (!isTwo) return state === XLIFF_ONE_STATES.untranslated.state;
  return state === 'initial' && (qualifier === COPIED || qualifier === XLIFF_TWO_STATES.stale.subState);
}

/** Whether a state says that there is no translation yet. */
export function isInitialState(state: string | null): boolean {
  return state === null || state === 'initial' || OPEN_ONE_STATES.has(state);
}
