/** Fields on the page. */

import type { ComponentChildren, JSX } from 'preact';
import type { Field, FieldProblem, Values } from '../forms/form-model.ts';
import { absolute, duration, relative, words } from '../text/format.ts';
import { Prose } from './text.tsx';

/** The form that a field belongs to. */
export interface Form {
  readonly id: string;
  readonly values: Values;
  readonly problems: readonly FieldProblem[];
  /** Paths that are shown and that the reader cannot change. */
  readonly fixed: ReadonlySet<string>;
  readonly onChange: (path: string, value: string | boolean) => void;
  /** Possible values, by the name of a field. */
  readonly suggest: (name: string) => readonly string[];
}

interface FieldProps {
  readonly form: Form;
  readonly field: Field;
}

/** The attributes that every control of a field has. */
type ControlAttributes = Readonly<{
  id: string;
  'aria-required': boolean;
  'aria-invalid': boolean;
  'aria-describedby'?: string;
}>;

/** Hints that help to fill in a field and that no schema contains. */
const HINTS: Readonly<Record<string, string>> = {
  args: 'One key=value per line, such as channel=official.',
  scope: 'One key=value per line.',
  aliases: 'One per line.',
  allowed_translations: 'One per line.',
  expected_trusted_record_ids: 'One id per line.',
};

/** A field with its label, its help and what is wrong with it; a group shows its members. */
export function FormField({ form, field }: FieldProps): JSX.Element {
  if (field.kind === 'group') {
    return (
      <fieldset>
        <legend>
          <Label form={form} field={field} />
        </legend>
        {field.help === '' ? null : (
          <p class="help">
            <Prose text={field.help} />
          </p>
        )}
        <Problems form={form} path={field.path} />
        {field.members.map((member) => (
          <FormField form={form} field={member} key={member.path} />
        ))}
      </fieldset>
    );
  }
  const id = `${form.id}-${field.path}`;
  const isInvalid = messagesAt(form, field.path).length > 0;
  const help = [field.help, HINTS[field.name] ?? '', readout(form, field)].filter((text) => text !== '');
  const described = [help.length > 0 ? `${id}-help` : '', isInvalid ? `${id}-problem` : ''].join(' ').trim();
  const attributes: ControlAttributes = {
    id,
    'aria-required': field.required,
    'aria-invalid': isInvalid,
    ...(described === '' ? {} : { 'aria-describedby': described }),
  };
  const isSwitch = field.kind === 'switch';
  const control = <Control form={form} field={field} attributes={attributes} />;
  return (
    <div class={isSwitch ? 'field switch' : 'field'}>
      {isSwitch ? control : null}
      <label for={id}>
        <Label form={form} field={field} />
      </label>
      {isSwitch ? null : control}
      {help.length === 0 ? null : (
        <p class="help" id={`${id}-help`}>
          <Prose text={help.join(' ')} />
        </p>
      )}
      <Problems form={form} path={field.path} />
    </div>
  );
}

function Label({ form: { fixed }, field: { name, path, required } }: FieldProps): JSX.Element {
  return (
    <>
      {words(name)}
      <code class="faint">{name}</code>
      {required && !fixed.has(path) ? <span class="needed">needed</span> : null}
    </>
  );
}

function messagesAt({ problems }: Form, path: string): readonly string[] {
  return problems.filter((problem) => problem.path === path).map(({ message }) => message);
}

function Problems({ form, path }: { readonly form: Form; readonly path: string }): JSX.Element | null {
  const messages = messagesAt(form, path);
  if (messages.length === 0) return null;
  return (
    <p class="problem" id={`${form.id}-${path}-problem`}>
      {messages.join('; ')}
    </p>
  );
}

function Control({
  form,
  field,
  attributes,
}: FieldProps & { readonly attributes: ControlAttributes }): ComponentChildren {
  const { path, kind } = field;
  const value = String(form.values[path] ?? '');
  const disabled = form.fixed.has(path);
  const read = (event: { readonly currentTarget: { readonly value: string } }): void =>
    form.onChange(path, event.currentTarget.value);
  switch (kind) {
    case 'switch':
      return (
        <input
          {...attributes}
          type="checkbox"
          disabled={disabled}
          checked={form.values[path] === true}
          onChange={(event) => form.onChange(path, event.currentTarget.checked)}
        />
      );
    case 'boolean':
    case 'choice':
      return (
        <select {...attributes} value={value} disabled={disabled} onChange={read}>
          <option value="">not given</option>
          {field.options.map((option) => (
            <option value={option} key={option}>
              {option}
            </option>
          ))}
        </select>
      );
    case 'prose':
    case 'lines':
    case 'pairs':
    case 'json':
      return (
        <textarea
          {...attributes}
          value={value}
          disabled={disabled}
          onInput={read}
          rows={3}
          spellcheck={false}
        />
      );
    default:
      return <TextInput form={form} field={field} attributes={attributes} />;
  }
}

function TextInput({
  form,
  field: { name, path, kind },
  attributes,
}: FieldProps & { readonly attributes: ControlAttributes }): JSX.Element {
  const list = `${form.id}-${path}-suggestions`;
  const suggestions = form.suggest(name);
  const isPair = isInstant(name);
  const input = (
    <input
      {...attributes}
      type="text"
      autocomplete="off"
      spellcheck={false}
      value={String(form.values[path] ?? '')}
      disabled={form.fixed.has(path)}
      onInput={(event) => form.onChange(path, event.currentTarget.value)}
      {...(kind === 'integer' ? { inputMode: 'numeric' as const } : {})}
      {...(suggestions.length === 0 || isPair ? {} : { list })}
    />
  );
  if (isPair) {
    return (
      <div class="pair">
        {input}
        <InstantPicker form={form} path={path} name={name} />
      </div>
    );
  }
  if (suggestions.length === 0) return input;
  return (
    <>
      {input}
      <datalist id={list}>
        {suggestions.map((each) => (
          <option value={each} key={each} />
        ))}
      </datalist>
    </>
  );
}

/** Nobody types Unix seconds by hand. */
function InstantPicker({
  form,
  path,
  name,
}: {
  readonly form: Form;
  readonly path: string;
  readonly name: string;
}): JSX.Element {
  return (
    <input
      type="datetime-local"
      step={1}
      aria-label={`${words(name)}, as date`}
      onChange={(event) => {
        const at = new Date(event.currentTarget.value).getTime();
        if (!Number.isNaN(at)) form.onChange(path, String(Math.floor(at / 1000)));
      }}
    />
  );
}

/** The meaning of a number of seconds. */
function readout(form: Form, { name, path, kind }: Field): string {
  const typed = String(form.values[path] ?? '').trim();
  if (kind !== 'integer' || !/^\d{1,11}$/.test(typed)) return '';
  const now = Date.now() / 1000;
  if (isInstant(name)) return `= ${absolute(Number(typed), now)}, ${relative(Number(typed), now)}`;
  return name.endsWith('_seconds') ? `= ${duration(Number(typed))}` : '';
}

function isInstant(name: string): boolean {
  return name.endsWith('unix_seconds');
}
