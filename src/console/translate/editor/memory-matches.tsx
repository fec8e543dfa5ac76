import type { JSX } from 'preact';
import { ChipText } from '../../components/chip-text.tsx';
import { DiffText } from '../../components/diff-text.tsx';
import { useApp } from '../../state/app.ts';
import type { Report } from '../../api/wire.ts';
import { AnswerNote } from './answer-note.tsx';
import { MATCH_WORDS } from '../match-words.ts';
import type { Answer } from './use-answer.ts';

/** Matches of the Translation Memory. */
export type MemoryAnswer = Report<'translation.memory.query'>;
/** One of them. */
export type MemoryMatch = MemoryAnswer['matches'][number];

/** Matches that have a key. */
export const MATCH_LIMIT = 9;

/** The matches of the Translation Memory for a source, the best first, each with the way to insert it. */
export function MemoryMatches({
  answer: { value, failure, isOld },
  source,
  canInsert,
  onInsert,
}: {
  readonly answer: Answer<MemoryAnswer>;
  readonly source: string;
  readonly canInsert: boolean;
  readonly onInsert: (text: string) => void;
}): JSX.Element {
  const { keyboard } = useApp();
  if (failure !== null || value === null || isOld) return <AnswerNote failure={failure} />;
  if (value.matches.length === 0) return <p class="muted">No similar text was translated before.</p>;
  return (
    <ol class="matches">
      {value.matches.slice(0, MATCH_LIMIT).map((match, at) => (
        <li key={match.record.record_id}>
          <Match match={match} source={source}>
            {canInsert ? (
              <button type="button" class="plain" onClick={() => onInsert(match.proposed_text)}>
                Insert <kbd>{keyboard.nameOf(`Alt+${at + 1}`)}</kbd>
                <span class="unseen"> match {at + 1}</span>
              </button>
            ) : null}
          </Match>
        </li>
      ))}
    </ol>
  );
}

function Match({
  match: { record, score, match_type: type, penalties, proposed_text: proposed },
  source,
  children,
}: {
  readonly match: MemoryMatch;
  readonly source: string;
  /** The button that inserts it. */
  readonly children: JSX.Element | null;
}): JSX.Element {
  const tone = score >= 100 ? 'ok' : score >= 85 ? 'info' : 'idle';
  const codes = penalties
    .filter(({ code }) => code !== 'candidate')
    .map(({ code }) => code.replaceAll('_', ' '));
  const judged = record.state === 'trusted' ? [] : ['nobody has accepted it'];
  const why = [...new Set([MATCH_WORDS[type], ...judged, ...codes])].join(', ');
  return (
    <>
      <p class="match-head">
        <span class={`badge ${tone}`}>{Math.min(100, score)} %</span> <span class="muted">{why}</span>
        {children}
      </p>
      <p class="match-target">
        <ChipText text={proposed} source={source} lang={record.target_language} />
      </p>
      {record.source_text === source ? null : (
        <p class="match-source muted">
          <DiffText before={record.source_text} after={source} lang={record.source_language} />
        </p>
      )}
    </>
  );
}
