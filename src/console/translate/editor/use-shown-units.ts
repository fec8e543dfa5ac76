import { useApp } from '../../state/app.ts';
import type { FoundUnit, ReadUnits } from './scan-units.ts';
import type { TranslationTask } from './translation-task.ts';
import { isFiltering, unitMatcher } from './unit-filter.ts';
import type { UnitSource } from './unit-source.ts';
import type { Unit } from './unit.ts';
import { useUnitScan, type UnitScan } from './use-unit-scan.ts';

/** Matches that are gathered before the person asks for more. */
const ENOUGH = 500;

/** The units in the list: all of the task, or those that the filters of the address select. A place is a row of the list. */
export interface ShownUnits {
  readonly count: number;
  /** The search behind the filters; `null` without filters. */
  readonly scan: UnitScan | null;
  /** The unit at a place; `undefined` until it has arrived. */
  readonly row: (place: number) => FoundUnit | undefined;
  /** The place of a position in the task; `null` when the filters leave it out. */
  readonly placeOf: (index: number) => number | null;
  /** Loads the rows of these places. */
  readonly show: (first: number, last: number) => void;
  /** The position in the task of the unit before or behind another one; `null` at the ends. */
  readonly beside: (index: number, step: 1 | -1) => number | null;
  /** The next unit behind another one that is open, or the position from which nobody knows. */
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
