import type { JSX } from 'preact';
import { FailureText } from '../../components/text.tsx';
import { count } from '../../text/format.ts';
import type { SeekState } from './use-seek.ts';

/** How far the search for one unit is, with the buttons that stop and continue it. @param props `what`: names the unit */
export function SeekNote({
  state,
  what,
  absent,
}: {
  readonly state: SeekState;
  readonly what: string;
  /** Said when there is none. */
  readonly absent: string;
}): JSX.Element | null {
  switch (state.kind) {
    case 'running':
      return (
        <p class="note info" role="status">
          Searching {what}: {count(state.progress.read)} of {count(state.progress.total)} units read …{' '}
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
            Search on
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
