import type { JSX } from 'preact';
import { editorAddress } from '../text/addresses.ts';
import { readableText } from '../text/text-tokens.ts';

/** A unit in a list of a report. */
interface ListedUnit {
  readonly task_id: string;
  readonly unit_id: string;
  readonly destination: string;
  readonly source_text: string | null;
}

/** Leads to a unit, which its text and its file name; by its id where it has no target. */
export function UnitLink({
  unit: { task_id: task, unit_id: unit, destination, source_text: source },
  mode,
}: {
  readonly unit: ListedUnit;
  readonly mode?: 'review';
}): JSX.Element {
  return (
    <>
      <a href={editorAddress(task, mode === undefined ? { unit } : { unit, mode })}>
        {source === null ? <code>{unit.slice(0, 16)}</code> : <bdi>{readableText(source)}</bdi>}
      </a>{' '}
      <bdi class="muted unit-place">{destination}</bdi>
    </>
  );
}
