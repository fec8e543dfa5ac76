/** Fields on the page. */

import type { ComponentChildren, JSX } from 'preact';
import type { Field, FieldProblem, Values } from '../forms/form-model.ts';
import { useApp } from '../state/app.ts';
import { words } from '../text/format.ts';
import { type ControlAttributes, Picker, type PickerSource } from './picker.tsx';
import { Prose } from './text.tsx';
import { DurationInput, InstantInput, IntervalInput } from './time-inputs.tsx';

export interface Form {
  readonly id: string;
  readonly values: Values;
  readonly problems: readonly FieldProblem[];
  /** Paths that are shown and that the reader cannot change. */
  readonly fixed: ReadonlySet<string>;
  readonly onChange: (path: string, value: string | boolean) => void;
  /** The values that exist for a field; `null` where any text is as good. */
  readonly sourceOf: (field: Field) => PickerSource | null;
  /** A value of a choice in words; `null` for the words of the value itself. */
  readonly optionText: (field: Field, option: string) => string | null;
}

interface FieldProps {
  readonly form: Form;
  readonly field: Field;
}

const HINTS: { readonly [K in Field['kind']]?: string } = {
  lines: 'One per line.',
  pairs: 'One `key=value` per line.',
};

/** A field with its label, its help and what is wrong with it; a group shows its members. */
export function FormField({ form, field }: FieldProps): JSX.Element {
  if (field.kind === 'arguments') return <Arguments form={form} field={field} />;
  if (field.kind === 'group') return <Group form={form} field={field} />;
  const id = `${form.id}-${field.path}`;
  const isSwitch = field.kind === 'switch';
  const help = helpOf(field);
  const control = <FieldControl form={form} field={field} />;
  return (
    <div class={isSwitch ? 'field switch' : 'field'}>
      {isSwitch ? control : null}
      <label for={id}>
        <Label form={form} field={field} />
      </label>
      {isSwitch ? null : control}
      {help === '' ? null : (
        <p class="help" id={`${id}-help`}>
          <Prose text={help} />
        </p>
      )}
      <Problems form={form} path={field.path} />
    </div>
  );
}

/** The control of a field alone, for a form that shows the label elsewhere. */
export function FieldControl({ form, field, label }: FieldProps & { readonly label?: string }): JSX.Element {
  const id = `${form.id}-${field.path}`;
  const isInvalid = messagesAt(form, field.path).length > 0;
  const described = [helpOf(field) === '' ? '' : `${id}-help`, isInvalid ? `${id}-problem` : '']
    .join(' ')
    .trim();
  const attributes: ControlAttributes = {
    id,
    'aria-required': field.required,
    'aria-invalid': isInvalid,
    ...(described === '' ? {} : { 'aria-describedby': described }),
    ...(label === undefined ? {} : { 'aria-label': label }),
  };
  return <Control form={form} field={field} attributes={attributes} />;
}

/** The help of a field. */
export function helpOf({ help, kind }: Field): string {
  return `${help} ${HINTS[kind] ?? ''}`.trim();
}

function Group({ form, field }: FieldProps) {
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

function Arguments({ form, field: { path, members } }: FieldProps) {
  return (
    <div class="fields">
      <Problems form={form} path={path} />
      {members.map((member) => (
        <FormField form={form} field={member} key={member.path} />
      ))}
    </div>
  );
}

function Label({ form: { fixed }, field: { label, path, required } }: FieldProps) {
  return (
    <>
      {label}
      {required && !fixed.has(path) ? <span class="needed"> required</span> : null}
    </>
  );
}

function messagesAt({ problems }: Form, path: string): readonly string[] {
  return problems.filter((problem) => problem.path === path).map(({ message }) => message);
}

/** What is wrong with the field at a path. */
export function Problems({ form, path }: { form: Form; path: string }): JSX.Element | null {
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
  const app = useApp();
  const { path, kind, label } = field;
  const value = String(form.values[path] ?? '');
  const disabled = form.fixed.has(path);
  const onChange = (next: string | boolean): void => form.onChange(path, next);
  const read = (event: { readonly currentTarget: { readonly value: string } }): void =>
    onChange(event.currentTarget.value);
  const shared = { attributes, value, label, disabled, onChange };
  switch (kind) {
    case 'switch':
      return (
        <input
          {...attributes}
          type="checkbox"
          disabled={disabled}
          checked={form.values[path] === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      );
    case 'boolean':
    case 'choice':
      return <Choice form={form} field={field} attributes={attributes} />;
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
          rows={kind === 'json' ? 6 : 2}
          spellcheck={kind === 'prose'}
        />
      );
    case 'duration':
      return <DurationInput {...shared} />;
    case 'interval':
      return <IntervalInput {...shared} />;
    case 'instant':
      return <InstantInput {...shared} now={app.now()} />;
    default: {
      const source = form.sourceOf(field);
      if (source !== null) return <Picker {...shared} source={source} />;
      return (
        <input
          {...attributes}
          type="text"
          autocomplete="off"
          spellcheck={false}
          value={value}
          disabled={disabled}
          onInput={read}
          {...(kind === 'integer' ? { inputMode: 'numeric' as const } : {})}
        />
      );
    }
  }
}

function Choice({ form, field, attributes }: FieldProps & { readonly attributes: ControlAttributes }) {
  const { path, kind, options, required } = field;
  const value = String(form.values[path] ?? '');
  const textOf = (option: string): string =>
    kind === 'boolean' ? (BOOLEANS[option] ?? option) : (form.optionText(field, option) ?? words(option));
  // A value that the list does not have is still the value.
  const listed = value === '' || options.includes(value) ? options : [...options, value];
  return (
    <select
      {...attributes}
      value={value}
      disabled={form.fixed.has(path)}
      onChange={(event) => form.onChange(path, event.currentTarget.value)}
    >
      <option value="">{required ? 'Choose …' : 'Not set'}</option>
      {listed.map((option) => (
        <option value={option} key={option}>
          {textOf(option)}
        </option>
      ))}
    </select>
  );
}

const BOOLEANS: Readonly<Record<string, string>> = { true: 'Yes', false: 'No' };
