import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiFailure, failureOf } from '../../api/api-client.ts';
import { scanUnits, type FoundUnit, type ReadUnits, type ScanProgress } from './scan-units.ts';
import type { Unit } from './unit.ts';

/** The search for one unit of a container. */
export type SeekState =
  | { readonly kind: 'none' }
  | { readonly kind: 'running'; readonly progress: ScanProgress; readonly stop: () => void }
  /** It has read what it may read by itself, and was not at the end. */
  | { readonly kind: 'paused'; readonly progress: ScanProgress; readonly goOn: () => void }
  | { readonly kind: 'absent' }
  | { readonly kind: 'failed'; readonly failure: ApiFailure; readonly again: () => void };

/** The unit that a search wants. */
export interface SeekGoal {
  readonly from: number;
  readonly isWanted: (unit: Unit) => boolean;
  readonly onFound: (found: FoundUnit) => void;
  /** Told when the container has no such unit behind the position. */
  readonly onAbsent?: () => void;
}

/** Searches one unit in a container, in parts of a bounded size; a new search ends the previous one. */
export function useSeek(read: ReadUnits): {
  readonly state: SeekState;
  readonly seek: (goal: SeekGoal) => void;
  readonly stop: () => void;
} {
  const [state, setState] = useState<SeekState>({ kind: 'none' });
  const running = useRef(new AbortController());
  const stop = (): void => {
    running.current.abort();
    setState((now) => (now.kind === 'none' ? now : { kind: 'none' }));
  };
  const seek = (goal: SeekGoal): void => {
    running.current.abort();
    const { signal } = (running.current = new AbortController());
    let first: FoundUnit | undefined;
    let reached: ScanProgress = { read: 0, total: 0, next: goal.from };
    const from = (next: number | null): SeekGoal => ({ ...goal, from: next ?? goal.from });
    setState({ kind: 'running', progress: reached, stop });
    const onPage = (found: readonly FoundUnit[], progress: ScanProgress): void => {
      reached = progress;
      first ??= found[0];
      setState({ kind: 'running', progress, stop });
    };
    const { isWanted } = goal;
    scanUnits({ read, from: goal.from, isWanted, enough: 1, onPage, signal })
      .then((progress) => {
        if (progress === null) return;
        if (first !== undefined) {
          setState({ kind: 'none' });
          goal.onFound(first);
        } else if (progress.next === null) {
          setState({ kind: 'absent' });
          goal.onAbsent?.();
        } else setState({ kind: 'paused', progress, goOn: () => seek(from(progress.next)) });
      })
      .catch((error: unknown) => {
        if (signal.aborted) return;
        setState({ kind: 'failed', failure: failureOf(error), again: () => seek(from(reached.next)) });
      });
  };
  useEffect(() => () => running.current.abort(), []);
  return { state, seek, stop };
}
