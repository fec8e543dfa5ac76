import { useApp } from '../../state/app.ts';
import { sessionOf } from './draft/editor-session.ts';
import { useSeek, type SeekState } from './list/seek.tsx';
import type { ShownUnits } from './list/shown-units.ts';
import type { ReadUnits } from './list/unit-scan.tsx';
import type { Selection } from './list/use-selection.ts';
import type { EditorMode } from './task-head.tsx';
import { needsReview, needsWork, stateOf, type Unit } from './unit.ts';

interface Moves {
  readonly select: Selection['select'];
  readonly move: (step: 1 | -1 | 'open') => void;
  readonly search: SeekState;
}

export const NOTHING: Readonly<Record<EditorMode, string>> = {
  translate: 'No other unit here needs work.',
  review: 'No later unit needs work.',
};

/** The moves in a task. @param parts `goesOn`: set to whether the person was editing */
export function useMoves({
  selection,
  shown,
  read,
  mode,
  goesOn,
}: {
  readonly selection: Selection;
  readonly shown: ShownUnits;
  readonly read: ReadUnits;
  readonly mode: EditorMode;
  readonly goesOn: { current: boolean };
}): Moves {
  const app = useApp();
  const { state: search, seek, stop } = useSeek(read);
  const { index } = selection;
  const isOpen = (unit: Unit): boolean => {
    const draft = sessionOf(app).desk.drafts.peek().get(unit.unit_id);
    return mode === 'review' ? needsReview(stateOf(unit, draft)) : needsWork(unit, draft);
  };
  const select = (next: number | null): void => {
    // A search that ends later must not take the person away.
    stop();
    selection.select(next);
  };
  /** @param from the position that the person leaves; `isAgain`: the end is reached, and the search continues with the first unit */
  const moveToOpen = (from: number, isAgain = false): void => {
    const next = shown.nextOpen(isAgain ? -1 : from, isOpen);
    const onAbsent = (): void => {
      // A reviewer reads a file from its beginning to its end; a translator leaves gaps.
      if (!isAgain && mode === 'translate') moveToOpen(from, true);
      else app.toast(NOTHING[mode]);
    };
    if (next.kind === 'search') {
      seek({
        from: next.from,
        isWanted: isOpen,
        onFound: (found) => selection.select(found.index),
        onAbsent,
      });
    } else if (next.index === null && !isAgain) onAbsent();
    else if (next.index === null || next.index === from) app.toast(NOTHING[mode]);
    else {
      if (isAgain) app.toast('No later unit needs work; this is the first earlier one.');
      select(next.index);
    }
  };
  return {
    select,
    search,
    move: (step) => {
      if (index === null) return;
      goesOn.current = document.activeElement?.id === 'target';
      stop();
      if (step === 'open') {
        moveToOpen(index);
        return;
      }
      const next = shown.beside(index, step);
      if (next !== null) select(next);
    },
  };
}
