import type { JSX } from 'preact';
import type { FieldProblem } from '../forms/form-model.ts';

/** The body of an action as the service gets it, and the line of `ctl` that sends the same. */
export function ActionJson({
  name,
  text,
  problems,
  onInput,
}: {
  readonly name: string;
  readonly text: string;
  readonly problems: readonly FieldProblem[];
  readonly onInput: (text: string) => void;
}): JSX.Element {
  const named = problems.filter(({ path }) => path !== '');
  return (
    <div class="field">
      <label for="action-json">Body</label>
      <textarea
        id="action-json"
        class="code"
        rows={12}
        spellcheck={false}
        value={text}
        aria-invalid={named.length > 0}
        aria-describedby="action-json-help"
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <p class="help" id="action-json-help">
        {`The same with the command line: `}
        <code>{`slipway ctl run ${name} --json '…'`}</code>
      </p>
      {named.map(({ path, message }) => (
        <p class="problem" key={`${path} ${message}`}>
          <code>{path}</code> {message}
        </p>
      ))}
    </div>
  );
}
