import type { JSX } from 'preact';
import type { Report } from '../api/wire.ts';
import { editorAddress } from '../text/addresses.ts';
import { readableText } from '../text/text-tokens.ts';

interface ListedUnit {
  readonly task_id: string;
  readonly unit_id: string;
  readonly destination: string;
  readonly source_text: string | null;
  readonly left_out?: Work['blocked'][number]['left_out'];
}

type Work = Report<'translation.handoff'>['releases'][number];

const LEFT_OUT = { excluded_file: 'In a file that is not published:', skipped_task: 'In a skipped task:' };

/** Leads to a unit, which its text and its file name; by its id where it has no target. */
export function UnitLink({
  unit: { task_id: task, unit_id: unit, destination, source_text: source, left_out: leftOut },
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
      {leftOut ? ` ${LEFT_OUT[leftOut]}` : null}
    </>
  );
}
