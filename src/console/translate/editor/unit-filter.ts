/** Which units of a task a person wants to see; pure. */

import type { Filter } from '../../components/filter-bar.tsx';
import { keyOf, lookOf, needsWork, stateOf, type Unit, type UnitState } from './unit.ts';

/** The choices of a person; an empty one selects all. */
export interface UnitFilter {
  /** A state of units, or one of the names of {@link GROUPS}. */
  readonly state: string;
  /** Text in the source, the target or the place of the unit. */
  readonly text: string;
}

const STATES = [
  'untranslated',
  'stale',
  'blocked',
  'draft',
  'translated',
  'proofread',
] as const satisfies readonly UnitState[];

/** Groups of units that a single state does not describe. */
const GROUPS: Readonly<Record<string, { readonly label: string; readonly has: (unit: Unit) => boolean }>> = {
  open: { label: 'Needs work', has: (unit) => needsWork(unit, undefined) },
  returned: { label: 'Returned', has: ({ translation }) => (translation?.returned ?? null) !== null },
  findings: { label: 'With findings', has: ({ translation }) => (translation?.findings ?? []).length > 0 },
  held: { label: 'On hold', has: ({ translation }) => (translation?.hold ?? null) !== null },
};

/** The filters over the list of units; their names are those in the address. */
export const UNIT_FILTERS: readonly Filter[] = [
  {
    kind: 'choice',
    name: 'state',
    label: 'State',
    options: [
      ...Object.entries(GROUPS).map(([name, { label }]) => [name, label] as const),
      ...STATES.map((state) => [state, capital(lookOf(state).word)] as const),
    ],
  },
  { kind: 'text', name: 'q', label: 'Text', hint: 'Text or key' },
];

/** Whether a filter leaves units out. */
export function isFiltering({ state, text }: UnitFilter): boolean {
  return state !== '' || foldedText(text) !== '';
}

/** The units that a filter selects. */
export function unitMatcher({ state, text }: UnitFilter): (unit: Unit) => boolean {
  const wanted = foldedText(text);
  const group = GROUPS[state];
  return (unit) => {
    if (group !== undefined && !group.has(unit)) return false;
    if (group === undefined && state !== '' && stateOf(unit, undefined) !== state) return false;
    if (wanted === '') return true;
    const { source_text: source, translation } = unit;
    return [source, translation?.target_text ?? '', keyOf(unit)].some((each) =>
      foldedText(each).includes(wanted),
    );
  };
}

/** Letters without their case and width: a person types what they see. */
function foldedText(text: string): string {
  return text.normalize('NFKC').toLowerCase().trim();
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}
