import type { JSX } from 'preact';
import type { ConsoleAction } from '../../contract/console/console-contract.ts';
import type { ApiFailure } from '../api/api-client.ts';
import { FailureText } from '../components/failure-text.tsx';
import { FormField, type Form } from '../components/field.tsx';
import { Prose } from '../components/text.tsx';
import type { Field, FieldProblem, Values } from '../forms/form-model.ts';
import { useApp, type ActionRequest } from '../state/app.ts';
import { suggestionsFor } from './suggestions.ts';

const CHOICE_RULES = {
  one: 'Give exactly one of',
  some: 'Give at least one of',
  exclusive: 'Give at most one of',
};
const FORM_ID = 'action';
/** A message that lists more fields than this would not help. */
const NAMED_FIELDS = 6;

interface ActionFormProps {
  readonly request: ActionRequest;
  readonly action: ConsoleAction;
  readonly fields: readonly Field[];
  readonly values: Values;
  readonly problems: readonly FieldProblem[];
  readonly failure: ApiFailure | null;
  readonly isSending: boolean;
  readonly onChange: Form['onChange'];
  readonly onSubmit: () => void;
}

/** The form of an action, with what was wrong with the last attempt. */
export function ActionForm(props: ActionFormProps): JSX.Element {
  const { request, action, fields, values, problems, failure, isSending, onChange, onSubmit } = props;
  const app = useApp();
  const form: Form = {
    id: FORM_ID,
    values,
    problems,
    fixed: new Set(Object.keys(request.fixed ?? {})),
    onChange,
    suggest: (name) => suggestionsFor(app, request.action, name),
  };
  const submitLabel = action.destructive ? 'Continue …' : `Run ${request.action}`;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
      noValidate
    >
      <p>
        <Prose text={action.summary} />
      </p>
      <ul class="help">
        {action.choices.map(({ rule, fields: names }) => (
          <li key={names.join()}>
            <ChoiceText rule={rule} fields={names} />
          </li>
        ))}
      </ul>
      {failure === null ? null : <FailureAlert failure={failure} problems={problems} />}
      {fields.map((field) => (
        <FormField form={form} field={field} key={field.path} />
      ))}
      <div class="buttons">
        <button type="submit" class={action.destructive ? 'danger' : 'primary'} disabled={isSending}>
          {isSending ? 'Sending …' : submitLabel}
        </button>
      </div>
    </form>
  );
}

function FailureAlert({
  failure,
  problems,
}: {
  readonly failure: ApiFailure;
  readonly problems: readonly FieldProblem[];
}): JSX.Element {
  return (
    <div class="note bad" role="alert" tabIndex={-1}>
      <p>
        <FailureText failure={failure} />
      </p>
      {isLost(failure) ? (
        <p>
          {/* The service says itself whether the action may have started. */}
          {failure.isOffline ? 'The action may have started. ' : null}
          You can send it again; it will run only once.
        </p>
      ) : null}
      {problems
        .filter(({ path }) => path === '')
        .map(({ message }) => (
          <p key={message}>{message}</p>
        ))}
    </div>
  );
}

function ChoiceText({
  rule,
  fields,
}: {
  readonly rule: keyof typeof CHOICE_RULES;
  readonly fields: readonly string[];
}): JSX.Element {
  if (fields.length > NAMED_FIELDS) return <>{`${CHOICE_RULES[rule]} the fields that select what to do.`}</>;
  return (
    <>
      {`${CHOICE_RULES[rule]} `}
      {fields.map((name, index) => (
        <span key={name}>
          {index === 0 ? '' : ', '}
          <code>{name}</code>
        </span>
      ))}
      .
    </>
  );
}

/** Whether the result of the call is unknown. */
function isLost({ isOffline, problem }: ApiFailure): boolean {
  return isOffline || problem.code === 'daemon_unreachable';
}
