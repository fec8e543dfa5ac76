import type { JSX } from 'preact';
import type { Report } from '../../../api/wire.ts';
import { AnswerNote } from '../../../components/text.tsx';
import type { Answer } from '../../../state/use-answer.ts';
import { toneOf } from '../unit.ts';

export type GlossaryAnswer = Report<'translation.glossary.diagnose'>;

const IN_TARGET: ReadonlySet<string> = new Set(['forbidden_translation', 'untranslated_term_left']);

/** Whether a diagnosis is about the target, and not about the source. */
export function isAboutTarget({ code }: { code: string }): boolean {
  return IN_TARGET.has(code);
}

/** The terms of the Glossary in a source, and whether the target has them. */
export function GlossaryHits({
  answer: { value, failure },
  canInsert,
  onInsert,
}: {
  readonly answer: Answer<GlossaryAnswer>;
  readonly canInsert: boolean;
  readonly onInsert: (text: string) => void;
}): JSX.Element {
  if (failure !== null || value === null) return <AnswerNote failure={failure} />;
  const terms = [...new Map(value.constraints.map((each) => [each.term_id, each])).values()];
  if (terms.length === 0) return <p class="muted">No term of the Glossary is in this text.</p>;
  return (
    <ul class="terms">
      {terms.map((term) => {
        const problem = value.diagnostics.find(({ term_ids: ids }) => ids.includes(term.term_id));
        const also =
          term.allowed_translations.length === 0 ? '' : ` or ${term.allowed_translations.join(', ')}`;
        const isForbidden = term.requirement === 'forbidden';
        return (
          <li key={term.term_id}>
            <span class={problem === undefined ? 'ok' : toneOf(problem.severity)} aria-hidden="true">
              {problem === undefined ? '✓' : '!'}
            </span>
            <span class="term">
              <a href={`#/glossary/${encodeURIComponent(term.term_id)}`} lang="und">
                {term.matched_text}
              </a>
              {isForbidden ? ' not ' : ' → '}
              <bdi>{term.recommended_translation}</bdi>
              <span class="muted">
                {also} · {term.requirement}
              </span>
            </span>
            {canInsert && !isForbidden ? (
              <button type="button" class="plain" onClick={() => onInsert(term.recommended_translation)}>
                Insert<span class="unseen"> {term.recommended_translation}</span>
              </button>
            ) : null}
          </li>
        );
      })}
    </ul>
  );
}
