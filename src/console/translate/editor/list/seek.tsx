import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiFailure, failureOf } from '../../../api/api-client.ts';
import { FailureText } from '../../../components/text.tsx';
import { count } from '../../../text/format.ts';
import type { Unit } from '../unit.ts';
import { scanUnits, type FoundUnit, type ReadUnits, type ScanProgress } from './unit-scan.tsx';

export type SeekState =
  | { readonly kind: 'none' }
  | { readonly kind: 'running'; readonly progress: ScanProgress; readonly stop: () => void }
  | { readonly kind: 'paused'; readonly progress: ScanProgress; readonly goOn: () => void }
  | { readonly kind: 'absent' }
  | { readonly kind: 'failed'; readonly failure: ApiFailure; readonly again: () => void };

interface SeekGoal {
  readonly from: number;
  readonly isWanted: (unit: Unit) => boolean;
  readonly onFound: (found: FoundUnit) => void;
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

/** How far the search for one unit is, with the buttons that stop and continue it. @param props `what`: names the unit */
export function SeekNote({
  state,
  what,
  absent,
}: {
  readonly state: SeekState;
  readonly what: string;
  readonly absent: string;
}): JSX.Element | null {
  switch (state.kind) {
    case 'running':
      return (
        <p class="note info" role="status">
          Searching for {what}: {count(state.progress.read)} of {count(state.progress.total)} units read …{' '}
          <button type="button" class="plain" onClick={state.stop}>
            Stop
          </button>
        </p>
      );
    case 'paused':
      return (
        <p class="note warn" role="status">
          Not among the {count(state.progress.read)} units that were read.{' '}
          <button type="button" class="plain" onClick={state.goOn}>
            Continue searching
          </button>
        </p>
      );
    case 'absent':
      return (
        <p class="note warn" role="status">
          {absent}
        </p>
      );
    case 'failed':
      return (
        <p class="note bad" role="alert">
          The search for {what} failed. <FailureText failure={state.failure} />{' '}
          <button type="button" class="plain" onClick={state.again}>
            Search again
          </button>
        </p>
      );
    default:
      return null;
  }
}
