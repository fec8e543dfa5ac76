import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiFailure, failureOf } from '../../api/api-client.ts';
import { scanUnits, type FoundUnit, type ReadUnits, type ScanProgress } from './scan-units.ts';
import type { Unit } from './unit.ts';

/** Units of a container that match, gathered page by page in the browser. */
export interface UnitScan {
  readonly found: readonly FoundUnit[];
  /** Units of the container, and how many of them were read. */
  readonly total: number;
  readonly read: number;
  readonly isRunning: boolean;
  readonly failure: ApiFailure | null;
  /** Reads on; `null` while it reads, and at the end of the container. */
  readonly goOn: (() => void) | null;
  readonly stop: () => void;
  /** Leaves units out. */
  readonly drop: (unitIds: ReadonlySet<string>) => void;
  /** Begins again. */
  readonly reload: () => void;
}

interface Gathered {
  readonly found: readonly FoundUnit[];
  readonly total: number;
  readonly read: number;
  /** `null` at the end. */
  readonly next: number | null;
  readonly isRunning: boolean;
  readonly failure: ApiFailure | null;
}

const NOTHING: Gathered = { found: [], total: 0, read: 0, next: 0, isRunning: false, failure: null };

/**
 * Gathers the units of a container that match.
 *
 * @param options `question`: another one begins again, `null` reads nothing; `enough`: matches after which the person asks for more
 */
export function useUnitScan({
  question,
  read,
  isWanted,
  enough,
}: {
  readonly question: string | null;
  readonly read: ReadUnits;
  readonly isWanted: (unit: Unit) => boolean;
  readonly enough: number;
}): UnitScan {
  const [gathered, setGathered] = useState<Gathered>({ ...NOTHING, isRunning: question !== null });
  const [round, setRound] = useState(0);
  const running = useRef(new AbortController());

  const scan = async (from: number): Promise<void> => {
    running.current.abort();
    const { signal } = (running.current = new AbortController());
    setGathered((now) => ({ ...now, isRunning: true, failure: null }));
    let before = 0;
    const add = (found: readonly FoundUnit[], progress: ScanProgress): void => {
      const more = progress.read - before;
      before = progress.read;
      // Units that were decided meanwhile have left the list, so that it is changed and not replaced.
      setGathered((now) => ({
        ...now,
        found: [...now.found, ...found],
        total: progress.total,
        read: now.read + more,
        next: progress.next,
      }));
    };
    try {
      await scanUnits({ read, from, isWanted, enough, onPage: add, signal });
      if (!signal.aborted) setGathered((now) => ({ ...now, isRunning: false }));
    } catch (error) {
      if (!signal.aborted) setGathered((now) => ({ ...now, isRunning: false, failure: failureOf(error) }));
    }
  };

  useEffect(() => {
    setGathered(NOTHING);
    if (question !== null) void scan(0);
    return () => running.current.abort();
  }, [question, round]);

  const { next, isRunning } = gathered;
  return {
    ...gathered,
    goOn: next === null || isRunning || question === null ? null : () => void scan(next),
    stop: () => {
      running.current.abort();
      setGathered((now) => ({ ...now, isRunning: false }));
    },
    drop: (unitIds) =>
      setGathered((now) => ({
        ...now,
        found: now.found.filter(({ unit }) => !unitIds.has(unit.unit_id)),
      })),
    reload: () => setRound((now) => now + 1),
  };
}
