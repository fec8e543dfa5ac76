import type { Filter } from '../../../components/filter-bar.tsx';
import { useApp } from '../../../state/app.ts';
import {
  type TranslationTask,
  type Unit,
  keyOf,
  lookOf,
  needsWork,
  stateOf,
  type UnitState,
} from '../unit.ts';
import { type FoundUnit, type ReadUnits, type UnitSource, useUnitScan, type UnitScan } from './unit-scan.tsx';

const ENOUGH = 500;

export interface ShownUnits {
  readonly count: number;
  /** The search behind the filters; `null` without filters. */
  readonly scan: UnitScan | null;
  /** The unit at a place; `undefined` until it has arrived. */
  readonly row: (place: number) => FoundUnit | undefined;
  /** The place of a position in the task; `null` when the filters leave it out. */
  readonly placeOf: (index: number) => number | null;
  readonly show: (first: number, last: number) => void;
  /** The position in the task of the unit before or behind another one; `null` at the ends. */
  readonly beside: (index: number, step: 1 | -1) => number | null;
  readonly nextOpen: (
    index: number,
    isOpen: (unit: Unit) => boolean,
  ) =>
    | { readonly kind: 'known'; readonly index: number | null }
    | { readonly kind: 'search'; readonly from: number };
}

/** The units of the list of a task. */
export function useShownUnits(source: UnitSource, read: ReadUnits, task: TranslationTask): ShownUnits {
  const app = useApp();
  const filter = { state: app.query('state'), text: app.query('q') };
  const list = source.state.value.value;
  const isOn = isFiltering(filter);
  const scan = useUnitScan({
    question: isOn ? JSON.stringify([task.task_id, filter, list?.edition ?? 0]) : null,
    read,
    isWanted: unitMatcher(filter),
    enough: ENOUGH,
  });
  return isOn ? filteredUnits(scan) : allUnits(source, list?.total ?? 0);
}

function allUnits(source: UnitSource, total: number): ShownUnits {
  return {
    count: total,
    scan: null,
    row: (place) => {
      const unit = source.row(place);
      return unit === undefined ? undefined : { index: place, unit };
    },
    placeOf: (index) => index,
    show: (first, last) => source.show(first, last),
    beside: (index, step) => (index + step >= 0 && index + step < total ? index + step : null),
    nextOpen: (index, isOpen) => {
      for (let at = index + 1; at < total; at += 1) {
        const row = source.row(at);
        if (row === undefined) return { kind: 'search', from: at };
        if (isOpen(row)) return { kind: 'known', index: at };
      }
      return { kind: 'known', index: null };
    },
  };
}

/** @param scan found units, in the order of the task */
function filteredUnits(scan: UnitScan): ShownUnits {
  const { found } = scan;
  const behind = (index: number): number => {
    const at = found.findIndex((each) => each.index > index);
    return at === -1 ? found.length : at;
  };
  return {
    count: found.length,
    scan,
    row: (place) => found[place],
    placeOf: (index) => {
      const at = behind(index) - 1;
      return found[at]?.index === index ? at : null;
    },
    show: () => undefined,
    beside: (index, step) => {
      const next = behind(index);
      const before = found[next - 1]?.index === index ? next - 2 : next - 1;
      return found[step === 1 ? next : before]?.index ?? null;
    },
    nextOpen: (index, isOpen) => ({
      kind: 'known',
      index: found.slice(behind(index)).find(({ unit }) => isOpen(unit))?.index ?? null,
    }),
  };
}

interface UnitFilter {
  readonly state: string;
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

const GROUPS: Readonly<Record<string, { readonly label: string; readonly has: (unit: Unit) => boolean }>> = {
  open: { label: 'Needs work', has: (unit) => needsWork(unit, undefined) },
  returned: { label: 'Returned', has: ({ translation }) => (translation?.returned ?? null) !== null },
  findings: { label: 'With findings', has: ({ translation }) => (translation?.findings ?? []).length > 0 },
  held: { label: 'On hold', has: ({ translation }) => (translation?.hold ?? null) !== null },
};

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

function foldedText(text: string): string {
  return text.normalize('NFKC').toLowerCase().trim();
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}
