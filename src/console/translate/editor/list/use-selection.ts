import { useEffect, useRef, useState } from 'preact/hooks';
import { isNarrow } from '../../../components/narrow.ts';
import { useApp } from '../../../state/app.ts';
import { needsText, stateOf } from '../unit.ts';
import { useSeek, type SeekState } from './seek.tsx';
import type { ReadUnits, UnitSource } from './unit-scan.tsx';

/** How long a unit must be selected before the address names it, milliseconds. Browsers allow only a few changes in a second. */
const ADDRESS_REST_MS = 300;

export interface Selection {
  /** Its position in the task; `null` while none is selected. */
  readonly index: number | null;
  readonly isPlaced: boolean;
  readonly search: SeekState;
  readonly select: (index: number | null) => void;
}

/**
 * Keeps the selected unit in the address: its id, which stays the same across releases, and its position as a hint where it
 * is. On a wide page the first unit that needs a text is selected automatically.
 */
export function useSelection(source: UnitSource, read: ReadUnits): Selection {
  const app = useApp();
  const wanted = app.query('unit');
  const hint = positionOf(app.query('at'));
  const [index, setIndex] = useState<number | null>(hint);
  const { state: search, seek, stop } = useSeek(read);
  const written = useRef('');
  const list = source.state.value.value;
  const edition = list?.edition ?? 0;
  /** The edition of the list that the position belongs to: in another one it means another unit. */
  const placed = useRef(edition);
  const row = index === null ? undefined : source.row(index);
  const isKnown = wanted === written.current && placed.current === edition;
  const isPlaced = wanted === '' || isKnown || row?.unit_id === wanted;

  useEffect(() => {
    if (index !== null) source.show(index, index);
  }, [source, index]);

  // A link to another unit of the same task also says where it is.
  useEffect(() => {
    if (wanted !== '' && wanted !== written.current && hint !== null) setIndex(hint);
  }, [wanted]);

  // A link names a unit, and the row at its hint is another one, or there is no hint.
  const isLost = list !== null && !isPlaced && (hint === null || row !== undefined || hint >= list.total);
  useEffect(() => {
    if (!isLost) return undefined;
    const settle = (): void => {
      written.current = wanted;
      placed.current = edition;
    };
    seek({
      from: 0,
      isWanted: ({ unit_id: id }) => id === wanted,
      onFound: (found) => {
        settle();
        setIndex(found.index);
      },
      onAbsent: settle,
    });
    return stop;
  }, [isLost, wanted, edition]);

  useEffect(() => {
    if (list !== null && index !== null && list.total > 0 && index >= list.total && isPlaced)
      setIndex(list.total - 1);
  }, [list?.total, index, isPlaced]);

  useEffect(() => {
    if (list === null || list.total === 0 || index !== null || wanted !== '' || isNarrow()) return;
    setIndex(firstOpen(source, list.total));
  }, [list?.total, index, wanted]);

  const id = row?.unit_id;
  useEffect(() => {
    if (id === undefined || index === null || !isPlaced) return undefined;
    const timer = setTimeout(() => {
      written.current = id;
      placed.current = edition;
      app.setQuery({ unit: id, at: String(index) });
    }, ADDRESS_REST_MS);
    return () => clearTimeout(timer);
  }, [id, index, isPlaced]);

  return {
    index,
    isPlaced,
    search,
    select: (next) => {
      stop();
      written.current = wanted;
      placed.current = edition;
      setIndex(next);
      if (next === null) {
        written.current = '';
        app.setQuery({ unit: null, at: null });
      }
    },
  };
}

function firstOpen(source: UnitSource, total: number): number {
  for (let at = 0; at < total; at += 1) {
    const row = source.row(at);
    if (row === undefined) return 0;
    if (needsText(stateOf(row, undefined))) return at;
  }
  return 0;
}

function positionOf(text: string): number | null {
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}
