import type { JSX } from 'preact';
import type { Report } from '../../../api/wire.ts';
import { ChipText } from '../../../components/chip-text.tsx';
import { DiffText } from '../../../components/diff-text.tsx';
import { AnswerNote } from '../../../components/text.tsx';
import { useApp } from '../../../state/app.ts';
import type { Answer } from '../../../state/use-answer.ts';
import { MATCH_WORDS, madeBy } from '../../merge-matches.ts';
import { RecordActions } from '../../record-actions.tsx';

export type MemoryAnswer = Report<'translation.memory.query'>;
type MemoryMatch = MemoryAnswer['matches'][number];

export const MATCH_LIMIT = 9;

/** The matches of the Translation Memory for a source, the best first, each with a button that inserts it. */
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
  readonly children: JSX.Element | null;
}) {
  const tone = score >= 100 ? 'ok' : score >= 85 ? 'info' : 'idle';
  const codes = penalties
    .filter(({ code }) => code !== 'candidate')
    .map(({ code }) => code.replaceAll('_', ' '));
  const why = [...new Set([MATCH_WORDS[type], ...codes])].join(', ');
  return (
    <>
      <p class="match-head">
        <span class={`badge ${tone}`}>{Math.min(100, score)} %</span> <span class="muted">{why}</span>
        {children}
      </p>
      <p class="match-made muted">
        {madeBy(record)} <RecordActions record={record} />
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

type Match = Report<'translation.memory.query'>['matches'][number];

/**
 * The matches with different proposals: of those with the same one, the best is enough. A proposal that nobody has accepted is left out
 * if another one continues it: it is half a sentence.
 *
 * @param matches the best first
 */
export function distinctMatches<
  T extends { readonly proposed_text: string; readonly record: { readonly state: string } },
>(matches: readonly T[]): T[] {
  const seen = new Set<string>();
  return matches.filter(({ proposed_text: text, record }) => {
    const isHalf =
      record.state !== 'trusted' &&
      matches.some(({ proposed_text: other }) => other.length > text.length && other.startsWith(text));
    if (isHalf || seen.has(text)) return false;
    seen.add(text);
    return true;
  });
}
