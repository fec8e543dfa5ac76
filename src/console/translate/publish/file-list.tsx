import type { JSX } from 'preact';
import { Badge, Empty } from '../../components/text.tsx';
import { counted, count, textBytes } from '../../text/format.ts';
import type { ChangedFile } from './publish-results.ts';

const SHOWN_FILES = 50;

/** Files, folded. */
export function FileList({
  title,
  files,
  total = files.length,
}: {
  readonly title: string;
  readonly files: readonly ChangedFile[];
  readonly total?: number | undefined;
}): JSX.Element {
  if (files.length === 0) return <Empty>No file changes.</Empty>;
  return (
    <details class="file-list">
      <summary>
        {title} <Badge tone="idle">{count(total)}</Badge>
      </summary>
      <ul class="rows">
        {files.slice(0, SHOWN_FILES).map(({ destination, edited_units: edited, units = edited, size }) => (
          <li key={destination}>
            <code>{destination}</code>{' '}
            <span class="muted">
              {units === undefined ? '' : counted(units, 'unit')}
              {size === undefined ? '' : textBytes(size)}
            </span>
          </li>
        ))}
        {total > SHOWN_FILES ? <li class="muted">{`and ${count(total - SHOWN_FILES)} more`}</li> : null}
      </ul>
    </details>
  );
}
