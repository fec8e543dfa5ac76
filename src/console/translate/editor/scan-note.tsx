import type { JSX } from 'preact';
import { FailureText } from '../../components/text.tsx';
import { counted, count } from '../../text/format.ts';
import type { UnitScan } from './use-unit-scan.ts';

/** How far a search in the units of a container is, with the buttons that stop and continue it. */
export function ScanNote({ scan }: { readonly scan: UnitScan }): JSX.Element {
  const { found, read, total, isRunning, failure, goOn, stop } = scan;
  const isAll = goOn === null && !isRunning;
  return (
    <p class={`scan-note ${failure === null ? 'muted' : 'bad'}`}>
      <span role={failure === null ? 'status' : 'alert'}>
        {failure === null ? null : (
          <>
            <FailureText failure={failure} />{' '}
          </>
        )}
        {isRunning ? 'Searching: ' : ''}
        {count(found.length)} found in {isAll ? 'all' : `the first ${count(read)} of`}{' '}
        {counted(total, 'unit')}.
      </span>{' '}
      {isRunning ? (
        <button type="button" class="plain" onClick={stop}>
          Stop
        </button>
      ) : null}
      {goOn === null ? null : (
        <button type="button" class="plain" onClick={goOn}>
          {failure === null ? 'Search more' : 'Try again'}
        </button>
      )}
    </p>
  );
}
