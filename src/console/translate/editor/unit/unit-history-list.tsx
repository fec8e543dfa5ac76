import type { JSX } from 'preact';
import { ChipText } from '../../../components/chip-text.tsx';
import { Time } from '../../../components/text.tsx';
import { lookOf, type UnitHistory } from '../unit.ts';

/** Entries that are drawn; a unit can have thousands. */
const SHOWN = 50;

/** Every target that a unit has had, the newest first. */
export function UnitHistoryList({
  history,
  canInsert,
  onInsert,
}: {
  readonly history: UnitHistory | null;
  readonly canInsert: boolean;
  readonly onInsert: (text: string) => void;
}): JSX.Element {
  if (history === null) return <p class="muted">The history of this unit is not available here.</p>;
  if (history.items.length === 0) return <p class="muted">Nobody has stored a target yet.</p>;
  const newest = history.items.slice(-SHOWN).toReversed();
  const isCut = history.is_cut || history.items.length > SHOWN;
  return (
    <>
      <ol class="history">
        {newest.map((entry) => (
          <li key={entry.revision}>
            <p class="history-head">
              <span class={lookOf(entry.state).tone}>{lookOf(entry.state).word}</span> by{' '}
              <bdi>{authorOf(entry)}</bdi>, <Time at={entry.at} />
            </p>
            <p>
              <ChipText text={entry.target_text} source={entry.source_text} />
            </p>
            {entry.reason === null ? null : (
              <p class="muted">
                Reason: <bdi>{entry.reason}</bdi>
              </p>
            )}
            {canInsert && entry.target_text !== '' ? (
              <button type="button" class="plain" onClick={() => onInsert(entry.target_text)}>
                Use<span class="unseen"> the target of revision {entry.revision}</span>
              </button>
            ) : null}
          </li>
        ))}
      </ol>
      {isCut ? <p class="muted">There are older ones.</p> : null}
    </>
  );
}

function authorOf({ author, reviewer, state }: UnitHistory['items'][number]): string {
  if (state === 'proofread' && reviewer !== null) return reviewer;
  return author.token_id ?? author.provider ?? reviewer ?? author.kind;
}
