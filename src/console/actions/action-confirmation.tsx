import { useEffect, useState } from 'preact/hooks';
import type { JSX } from 'preact';
import type { ConsoleAction } from '../../contract/console/console-contract.ts';
import { Button } from '../components/controls.tsx';
import { JsonDetails, ResultFacts } from '../components/result-facts.tsx';
import { Facts, Prose } from '../components/text.tsx';
import { useApp } from '../state/app.ts';
import { readEffect, type Effect } from './effects.ts';

interface ConfirmationProps {
  readonly name: string;
  readonly action: ConsoleAction;
  /** The action with the name of its object. */
  readonly question: string;
  /** The name of its object, if the page knows it. */
  readonly about?: string | undefined;
  /** The request. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The result of the dry run; `null` for an action that has none. */
  readonly trial: object | null;
  readonly onBack: () => void;
  readonly onYes: () => void;
}

/** Asks before an action, with its effect. The safe button is the one that gets the focus. */
export function ActionConfirmation(props: ConfirmationProps): JSX.Element {
  const { action, question, body, trial, onBack, onYes } = props;
  return (
    <div class="confirmation">
      <div class={action.destructive ? 'note warn' : 'note info'}>
        <p>
          <strong>{`${question}?`}</strong>
        </p>
        <p>
          <Prose text={action.summary} />
        </p>
        {action.destructive ? (
          <p>
            <Prose text={action.reversal ?? 'This can’t be undone.'} />
          </p>
        ) : null}
      </div>
      {trial === null ? (
        <EffectText {...props} />
      ) : (
        <section aria-label="Dry run">
          <h3>It would do this</h3>
          <ResultFacts label="Result of the dry run" value={trial} />
        </section>
      )}
      <JsonDetails label="Request" value={body} />
      <div class="buttons">
        <button type="button" data-safe={true} onClick={onBack}>
          Back
        </button>
        <Button onClick={onYes} class={action.destructive ? 'danger' : 'primary'}>
          {`Yes, ${lowerFirst(question)}`}
        </Button>
      </div>
    </div>
  );
}

function EffectText({ name, body, about }: ConfirmationProps): JSX.Element | null {
  const app = useApp();
  const [effect, setEffect] = useState<Effect | string | null>('Reading what it changes …');
  useEffect(() => {
    let isCurrent = true;
    readEffect(app, name, body, about).then(
      (found) => {
        if (isCurrent) setEffect(found);
      },
      // The effect is only information; the action itself says what is wrong.
      (error: unknown) => {
        if (isCurrent)
          setEffect(`The effect could not be read. ${error instanceof Error ? error.message : ''}`);
      },
    );
    return () => {
      isCurrent = false;
    };
  }, []);
  if (effect === null) return null;
  if (typeof effect === 'string') return <p class="help">{effect}</p>;
  return (
    <section aria-label="Effect">
      <p>{effect.text}</p>
      <Facts rows={effect.facts} />
    </section>
  );
}

function lowerFirst(text: string): string {
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
}
