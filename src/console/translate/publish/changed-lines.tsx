import type { JSX } from 'preact';
import { ChipText } from '../../components/chip-text.tsx';
import { DiffText } from '../../components/diff-text.tsx';
import { Badge } from '../../components/text.tsx';
import { counted } from '../../text/format.ts';
import type { ReadText, TextChange } from './publish-results.ts';

/** The first lines that readers will see change. @param props `total`: all of them; `null` when nobody knows */
export function ChangedLines({
  changes,
  total,
}: {
  readonly changes: readonly TextChange[];
  readonly total: number | null;
}): JSX.Element | null {
  if (changes.length === 0) return null;
  const more = (total ?? 0) - changes.length;
  return (
    <>
      <ol class="changed-lines" tabIndex={0} aria-label="Lines that readers will see change">
        {changes.map((change) => (
          <ChangedLine change={change} key={change.unit_id} />
        ))}
      </ol>
      {more > 0 ? <p class="muted">{`and ${counted(more, 'more line')}`}</p> : null}
    </>
  );
}

function ChangedLine({ change }: { change: TextChange }) {
  const { before, after } = change;
  return (
    <li>
      <p class="muted">
        <code>{change.destination}</code>
      </p>
      {change.source_text === null || before.official || after.official ? null : (
        <p class="source muted">
          <ChipText text={change.source_text} />
        </p>
      )}
      {before.text !== null && after.text !== null && !before.official && !after.official ? (
        <p>
          <DiffText before={before.text} after={after.text} />
        </p>
      ) : (
        <dl class="before-after">
          <dt>Now</dt>
          <dd>
            <Read text={before} />
          </dd>
          <dt>Then</dt>
          <dd>
            <Read text={after} />
          </dd>
        </dl>
      )}
    </li>
  );
}

function Read({ text: { official: isOfficial, text } }: { text: ReadText }) {
  return (
    <>
      {text === null ? (
        <span class="muted">{isOfficial ? 'the official text' : 'a text that is not stored any longer'}</span>
      ) : (
        <ChipText text={text} />
      )}{' '}
      <Badge tone={isOfficial ? 'idle' : 'info'}>{isOfficial ? 'Official' : 'Translation'}</Badge>
    </>
  );
}
