import type { JSX } from 'preact';
import type { ConsoleAction } from '../../contract/console/console-contract.ts';
import { Button } from '../components/controls.tsx';
import { Prose, RawText } from '../components/text.tsx';

/** Asks before an action that cannot be undone. The safe button is the one that gets the focus. */
export function ActionConfirmation({
  name,
  action,
  body,
  onBack,
  onYes,
}: {
  readonly name: string;
  readonly action: ConsoleAction;
  /** The request. */
  readonly body: string;
  readonly onBack: () => void;
  readonly onYes: () => void;
}): JSX.Element {
  return (
    <div>
      <div class="note warn">
        <p>
          <strong>{`Run ${name}? `}</strong>
          <Prose text={action.summary} />
        </p>
        <p>This can’t be undone.</p>
      </div>
      <p class="help">Request:</p>
      <RawText label="Request" text={body} />
      <div class="buttons">
        <button type="button" data-safe={true} onClick={onBack}>
          Back
        </button>
        <Button onClick={onYes} class="danger">{`Yes, run ${name}`}</Button>
      </div>
    </div>
  );
}
