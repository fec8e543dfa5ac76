import type { JSX } from 'preact';
import { ChipText } from '../../../components/chip-text.tsx';
import { Button } from '../../../components/controls.tsx';
import { FailureText } from '../../../components/text.tsx';
import { useApp } from '../../../state/app.ts';
import { sessionOf } from '../draft/editor-session.ts';
import { toneOf } from '../unit.ts';
import type { UnitWork } from './use-unit-work.ts';

/** What a provider suggests for a unit, and why. A person inserts it or leaves it. */
export function SuggestionHelp({ work }: { work: UnitWork }): JSX.Element {
  const app = useApp();
  const { suggestions } = sessionOf(app);
  const { unit, suggestion, mayEdit } = work;
  const state = suggestions.state.value;
  return (
    <>
      {suggestion === undefined ? null : (
        <div class="suggestion">
          <p class="muted">
            {['By', suggestion.provider ?? 'a provider', suggestion.model].filter(Boolean).join(' ')}. Nobody
            has read it.
          </p>
          <p>
            <ChipText text={suggestion.target_text} source={unit.source_text} />
          </p>
          <ul class="waiting-findings">
            {suggestion.findings.map(({ severity, message }, at) => (
              <li class={toneOf(severity)} key={at}>
                <span class="unseen">{severity}: </span>
                <bdi>{message}</bdi>
              </li>
            ))}
          </ul>
          <Reasons title="Terms" pairs={suggestion.terms} />
          <Reasons title="Like" pairs={suggestion.examples} />
        </div>
      )}
      {state === 'asking' ? <p role="status">Asking the provider …</p> : null}
      {typeof state === 'string' || state.unit !== unit.unit_id ? null : (
        <p class="bad" role="alert">
          <FailureText failure={state.failure} />
        </p>
      )}
      <p class="buttons">
        {suggestion === undefined || !mayEdit ? null : (
          <button type="button" onClick={work.insertSuggestion}>
            Insert the suggestion <kbd>{app.keyboard.nameOf('Alt+0')}</kbd>
          </button>
        )}
        {state === 'asking' ? null : (
          <Button class="plain" onClick={work.suggest}>
            {suggestion === undefined ? 'Suggest a translation' : 'Ask again'}
          </Button>
        )}
      </p>
    </>
  );
}

function Reasons({
  title,
  pairs,
}: {
  readonly title: string;
  readonly pairs: readonly { readonly source: string; readonly target: string }[];
}) {
  if (pairs.length === 0) return null;
  return (
    <p class="muted">
      {title}: <bdi>{pairs.map(({ source, target }) => `${source} → ${target}`).join('; ')}</bdi>
    </p>
  );
}
