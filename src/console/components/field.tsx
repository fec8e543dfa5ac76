/** Fields on the page. */

import { prose } from './elements.js';
import { absolute, duration, relative, words } from './format.js';
import { h } from './preact.js';

/** @import { ComponentChildren } from './preact.js' */
/** @import { Field, FieldProblem, Values } from './form-model.js' */

/**
 * @typedef {object} Form
 * @property {string} id
 * @property {Values} values
 * @property {readonly FieldProblem[]} problems
 * @property {ReadonlySet<string>} fixed paths that are shown and that the reader cannot change
 * @property {(path: string, value: string | boolean) => void} onChange
 * @property {(name: string) => readonly string[]} suggest possible values, by the name of a field
 */

/** Hints that help to fill in a field and that no schema contains. */
const HINTS = /** @type {Readonly<Record<string, string>>} */ ({
  args: 'One key=value per line, such as channel=official.',
  scope: 'One key=value per line.',
  aliases: 'One per line.',
  allowed_translations: 'One per line.',
  expected_trusted_record_ids: 'One id per line.',
});

/**
 * @param {Form} form
 * @param {Field} field
 * @returns {ComponentChildren}
 */
export function fieldView(form, field) {
  if (field.kind === 'group') {
    return h(
      'fieldset',
      { key: field.path },
      h('legend', null, label(form, field)),
      field.help === '' ? null : h('p', { class: 'help' }, prose(field.help)),
      problemsOf(form, field.path),
      field.members.map((member) => fieldView(form, member)),
    );
  }
  const id = `${form.id}-${field.path}`;
  const problem = problemsOf(form, field.path);
  const help = [field.help, HINTS[field.name] ?? '', readout(form, field)].filter((text) => text !== '');
  const described = [help.length > 0 ? `${id}-help` : '', problem === null ? '' : `${id}-problem`]
    .join(' ')
    .trim();
  const attributes = {
    id,
    'aria-required': field.required,
    'aria-invalid': problem !== null,
    ...(described === '' ? {} : { 'aria-describedby': described }),
  };
  const isSwitch = field.kind === 'switch';
  const caption = h('label', { for: id }, label(form, field));
  const input = control(form, field, attributes);
  return h(
    'div',
    { class: isSwitch ? 'field switch' : 'field', key: field.path },
    isSwitch ? [input, caption] : [caption, input],
    help.length === 0 ? null : h('p', { class: 'help', id: `${id}-help` }, prose(help.join(' '))),
    problem,
  );
}

/**
 * @param {Form} form
 * @param {Field} field
 */
function label({ fixed }, { name, path, required }) {
  return [
    words(name),
    h('code', { class: 'faint' }, name),
    required && !fixed.has(path) ? h('span', { class: 'needed' }, 'needed') : null,
  ];
}

/**
 * @param {Form} form
 * @param {string} path
 */
function problemsOf({ id, problems }, path) {
  const messages = problems.filter((problem) => problem.path === path).map(({ message }) => message);
  if (messages.length === 0) return null;
  return h('p', { class: 'problem', id: `${id}-${path}-problem` }, messages.join('; '));
}

/**
 * @param {Form} form
 * @param {Field} field
 * @param {object} attributes
 */
function control(form, field, attributes) {
  const { path, kind } = field;
  const value = String(form.values[path] ?? '');
  const disabled = form.fixed.has(path);
  const onInput = (/** @type {Event} */ event) =>
    form.onChange(path, /** @type {HTMLInputElement} */ (event.currentTarget).value);
  switch (kind) {
    case 'switch':
      return h('input', {
        ...attributes,
        type: 'checkbox',
        disabled,
        checked: form.values[path] === true,
        onChange: (/** @type {Event} */ event) =>
          form.onChange(path, /** @type {HTMLInputElement} */ (event.currentTarget).checked),
      });
    case 'boolean':
    case 'choice':
      return h(
        'select',
        { ...attributes, value, disabled, onChange: onInput },
        h('option', { value: '' }, 'not given'),
        field.options.map((option) => h('option', { value: option, key: option }, option)),
      );
    case 'prose':
    case 'lines':
    case 'pairs':
    case 'json':
      return h('textarea', { ...attributes, value, disabled, onInput, rows: 3, spellcheck: false });
    default:
      return textInput(form, field, { ...attributes, value, disabled, onInput });
  }
}

/**
 * @param {Form} form
 * @param {Field} field
 * @param {object} attributes
 */
function textInput(form, { name, path, kind }, attributes) {
  const list = `${form.id}-${path}-suggestions`;
  const suggestions = form.suggest(name);
  const input = h('input', {
    ...attributes,
    type: 'text',
    autocomplete: 'off',
    spellcheck: false,
    ...(kind === 'integer' ? { inputMode: 'numeric' } : {}),
    ...(suggestions.length === 0 ? {} : { list }),
  });
  if (isInstant(name)) return h('div', { class: 'pair' }, input, instantPicker(form, path, name));
  if (suggestions.length === 0) return input;
  return [
    input,
    h(
      'datalist',
      { id: list },
      suggestions.map((each) => h('option', { value: each, key: each })),
    ),
  ];
}

/**
 * Nobody types Unix seconds by hand.
 *
 * @param {Form} form
 * @param {string} path
 * @param {string} name
 */
function instantPicker(form, path, name) {
  return h('input', {
    type: 'datetime-local',
    step: 1,
    'aria-label': `${words(name)}, as date`,
    onChange: (/** @type {Event} */ event) => {
      const { value } = /** @type {HTMLInputElement} */ (event.currentTarget);
      const at = new Date(value).getTime();
      if (!Number.isNaN(at)) form.onChange(path, String(Math.floor(at / 1000)));
    },
  });
}

/**
 * The meaning of a number of seconds.
 *
 * @param {Form} form
 * @param {Field} field
 */
function readout(form, { name, path, kind }) {
  const typed = String(form.values[path] ?? '').trim();
  if (kind !== 'integer' || !/^\d{1,11}$/.test(typed)) return '';
  const now = Date.now() / 1000;
  if (isInstant(name)) return `= ${absolute(Number(typed), now)}, ${relative(Number(typed), now)}`;
  return name.endsWith('_seconds') ? `= ${duration(Number(typed))}` : '';
}

/** @param {string} name */
function isInstant(name) {
  return name.endsWith('unix_seconds');
}
