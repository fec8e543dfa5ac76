import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ConsoleAction } from '../../contract/console/console-contract.ts';
import type { ApiFailure } from '../api/api-client.ts';
import { FieldControl, FormField, helpOf, Problems, type Form } from '../components/field.tsx';
import { FailureText, Prose } from '../components/text.tsx';
import { chosenField, type ChoiceItem, type FormItem, type FormLayout } from '../forms/action-fields.ts';
import type { FieldProblem } from '../forms/form-model.ts';
import { useApp } from '../state/app.ts';
import { verdictState } from '../state/verdict.ts';

const FORM_ID = 'action';
/** A message that lists more fields than this would not help. */
const NAMED_FIELDS = 6;

interface ActionFormProps {
  readonly action: ConsoleAction;
  readonly name: string;
  readonly form: Omit<Form, 'id'>;
  readonly layout: FormLayout;
  /** What the act would do to others, above its button. */
  readonly impact: JSX.Element;
  readonly failure: ApiFailure | null;
  /** The whole body as text while it is shown as JSON; otherwise `null`. */
  readonly json: string | null;
  readonly submitLabel: string;
  readonly isBusy: boolean;
  readonly onJson: (text: string) => void;
  readonly onSwitch: () => void;
  readonly onSubmit: () => void;
}

/** The form of an action, with what was wrong with the last attempt. */
export function ActionForm(props: ActionFormProps): JSX.Element {
  const { action, name, failure, json, submitLabel, isBusy, onJson, onSwitch, onSubmit } = props;
  const { problems } = props.form;
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
      {failure === null && problems.every(({ path }) => path !== '') ? null : (
        <FailureAlert key={failure?.message} failure={failure} problems={problems} />
      )}
      {json === null ? (
        <Fields {...props} />
      ) : (
        <ActionJson name={name} text={json} problems={problems} onInput={onJson} />
      )}
      {props.impact}
      <div class="buttons">
        <button type="submit" class={action.destructive ? 'danger' : 'primary'} disabled={isBusy}>
          {isBusy ? 'Sending …' : submitLabel}
        </button>
        <button type="button" class="plain json-switch" aria-pressed={json !== null} onClick={onSwitch}>
          {'</> JSON'}
        </button>
      </div>
    </form>
  );
}

function Fields({ action: { choices }, form: parts, layout }: ActionFormProps) {
  const form: Form = { ...parts, id: FORM_ID };
  const all = [...layout.first, ...layout.more];
  const labels = new Map(
    all
      .flatMap((item) => (item.kind === 'field' ? [item.field] : item.fields))
      .map(({ name, label }) => [name, label]),
  );
  const needs = choices.filter(
    ({ rule, fields }) => rule === 'some' && fields.some((name) => labels.has(name)),
  );
  const isOpen = layout.more.some((item) => itemFields(item).some(({ path }) => isTouched(form, path)));
  return (
    <>
      {needs.map(({ fields }) => (
        <p class="help" key={fields.join()}>
          {fields.length > NAMED_FIELDS
            ? 'Change at least one of the fields.'
            : `Give at least one: ${fields.flatMap((name) => labels.get(name) ?? []).join(', ')}.`}
        </p>
      ))}
      {layout.first.map((item) => (
        <Item form={form} item={item} key={keyOf(item)} />
      ))}
      {layout.more.length === 0 ? null : (
        <details class="more" open={isOpen}>
          <summary>More options</summary>
          <div class="fields">
            {layout.more.map((item) => (
              <Item form={form} item={item} key={keyOf(item)} />
            ))}
          </div>
        </details>
      )}
    </>
  );
}

function isTouched({ problems }: Form, path: string): boolean {
  return problems.some((problem) => problem.path === path || problem.path.startsWith(`${path}.`));
}

function itemFields(item: FormItem): ChoiceItem['fields'] {
  return item.kind === 'field' ? [item.field] : item.fields;
}

function keyOf(item: FormItem): string {
  return item.kind === 'field' ? item.field.path : item.path;
}

function Item({ form, item }: { form: Form; item: FormItem }) {
  return item.kind === 'field' ? (
    <FormField form={form} field={item.field} />
  ) : (
    <Choice form={form} item={item} />
  );
}

function Choice({ form, item }: { form: Form; item: ChoiceItem }) {
  const chosen = chosenField(item, form.values);
  const rows: ReadonlyArray<readonly [name: string, label: string]> = [
    ...(item.otherwise === null ? [] : [['', item.otherwise] as const]),
    ...item.fields.map(({ name, label }) => [name, label] as const),
  ];
  return (
    <fieldset class="choice">
      <legend>{item.title}</legend>
      {rows.map(([name, label]) => (
        <div class="field switch" key={name}>
          <input
            type="radio"
            id={`${form.id}-${item.path}-${name}`}
            name={`${form.id}-${item.path}`}
            checked={(chosen?.name ?? '') === name}
            onChange={() => form.onChange(item.path, name)}
          />
          <label for={`${form.id}-${item.path}-${name}`}>{label}</label>
        </div>
      ))}
      {chosen === null || chosen.kind === 'switch' ? null : (
        <div class="field chosen" key={chosen.path}>
          <FieldControl form={form} field={chosen} label={chosen.label} />
          {helpOf(chosen) === '' ? null : (
            <p class="help" id={`${form.id}-${chosen.path}-help`}>
              <Prose text={helpOf(chosen)} />
            </p>
          )}
          <Problems form={form} path={chosen.path} />
        </div>
      )}
    </fieldset>
  );
}

function FailureAlert({
  failure,
  problems,
}: {
  readonly failure: ApiFailure | null;
  readonly problems: readonly FieldProblem[];
}) {
  const app = useApp();
  const [failedAt] = useState(() => app.localNow());
  const verdict = verdictState(app);
  const hasAnswered =
    verdict.failure === null &&
    (verdict.loadedAt ?? 0) > failedAt &&
    verdict.value?.health.daemon.answers === true;
  return (
    <div class="note bad" role="alert" tabIndex={-1}>
      {failure === null ? null : (
        <p>
          <FailureText failure={failure} />
        </p>
      )}
      {failure !== null && isLost(failure) ? (
        <p>
          {/* The service says itself whether the action may have started. */}
          {failure.isOffline && !failure.isSignedOut ? 'The action may have started. ' : null}
          {hasAnswered
            ? 'The service answers again. Send it now; it will run only once.'
            : 'You can send it again; it will run only once.'}
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

function isLost({ isOffline, problem }: ApiFailure): boolean {
  return isOffline || problem.code === 'daemon_unreachable';
}

function ActionJson({
  name,
  text,
  problems,
  onInput,
}: {
  readonly name: string;
  readonly text: string;
  readonly problems: readonly FieldProblem[];
  readonly onInput: (text: string) => void;
}) {
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
        <code>{`slipway ctl run ${name} --body '…'`}</code>
      </p>
      {named.map(({ path, message }) => (
        <p class="problem" key={`${path} ${message}`}>
          <code>{path}</code> {message}
        </p>
      ))}
    </div>
  );
}
