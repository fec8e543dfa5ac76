import type { JSX } from 'preact';
import type { ReleaseRow } from '../api/wire.ts';
import { Button } from '../components/controls.tsx';
import type { ReleaseStatus } from './release-facts.ts';
import { compareHref, ReleaseButtons } from './release-parts.tsx';

/** The actions of the selected releases. It keeps its height, so that the table does not move. */
export function ReleaseSelection({
  rows,
  all,
  status,
  onClear,
}: {
  readonly rows: readonly ReleaseRow[];
  readonly all: readonly ReleaseRow[];
  readonly status: ReleaseStatus | null;
  readonly onClear: () => void;
}): JSX.Element {
  const [first, second] = rows.toSorted((left, right) => left.created_at - right.created_at);
  return (
    <div class="selection" role="group" aria-label="Selected releases">
      {first === undefined ? (
        <span class="muted">Select a release for its actions, or two to compare them.</span>
      ) : null}
      {first !== undefined && rows.length === 1 ? (
        <>
          <strong>{first.release_id}</strong>
          <ReleaseButtons release={first} rows={all} status={status} />
        </>
      ) : null}
      {first !== undefined && second !== undefined && rows.length === 2 ? (
        <a class="button primary" href={compareHref(first.release_id, second.release_id)}>
          {`Compare ${first.release_id} with ${second.release_id}`}
        </a>
      ) : null}
      {rows.length > 2 ? <span>{`${rows.length} are selected. Two releases can be compared.`}</span> : null}
      {rows.length === 0 ? null : (
        <Button class="plain" onClick={onClear}>
          Clear
        </Button>
      )}
    </div>
  );
}
