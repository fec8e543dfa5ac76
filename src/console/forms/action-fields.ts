/** The form of an action: which fields it shows, in which order, and which of them exclude each other; pure. */

import type { ConsoleAction, ConsoleContract } from '../../contract/console/console-contract.ts';
import { firstFields } from './form-layout.ts';
import {
  argumentValues,
  asArguments,
  fieldsOf,
  valuesOf,
  type Field,
  type FieldProblem,
  type ReadBody,
  type Values,
} from './form-model.ts';

export interface ChoiceItem {
  readonly kind: 'choice';
  readonly path: string;
  readonly title: string;
  /** The label for none of them; `null` when one is needed. */
  readonly otherwise: string | null;
  readonly fields: readonly Field[];
}

export type FormItem = { readonly kind: 'field'; readonly field: Field } | ChoiceItem;

export interface FormLayout {
  readonly first: readonly FormItem[];
  readonly more: readonly FormItem[];
}

/** The argument that every dry run has. The dialog sends it; no form asks for it. */
const DRY_RUN = 'dry_run';

/**
 * The fields of an action. Those of its arguments depend on the job that is chosen.
 *
 * @param name of the action
 */
export function actionFields(contract: ConsoleContract, name: string, values: Values): readonly Field[] {
  const action = contract.actions[name] as ConsoleAction;
  const fields = fieldsOf(action.schema);
  const cleared = new Set(fields.map(({ clearedBy }) => clearedBy));
  return fields
    .filter((field) => !cleared.has(field.name))
    .map((field) =>
      field.name === 'args'
        ? argumentsOf(contract, action, field, values)
        : jobField(contract, name, field, values),
    )
    .filter(
      ({ kind, members, clearedBy }) => kind !== 'arguments' || members.length > 0 || clearedBy !== null,
    );
}

function argumentsOf(
  contract: ConsoleContract,
  { pairs, hasDryRun, schema }: ConsoleAction,
  field: Field,
  values: Values,
): Field {
  if (pairs !== null) {
    const asked = asArguments(field, pairs);
    return hasDryRun === true
      ? { ...asked, members: asked.members.filter(({ name }) => name !== DRY_RUN) }
      : asked;
  }
  if (!('action' in schema.properties)) return field;
  const action = String(values['action'] ?? '');
  const job = contract.jobs[action];
  // Before a job is chosen, nobody knows its arguments.
  if (action === '') return { ...field, kind: 'arguments', members: [] };
  return job === undefined ? field : asArguments(field, job.schema);
}

function jobField({ jobs }: ConsoleContract, action: string, field: Field, values: Values): Field {
  if (!action.startsWith('schedule-')) return field;
  if (field.name === 'group') {
    const groups = new Set(Object.values(jobs).flatMap((job) => job.groups));
    return { ...field, kind: 'choice', options: [...groups] };
  }
  if (field.name !== 'action') return field;
  const group = String(values['group'] ?? '');
  const options = Object.entries(jobs)
    .filter(([, job]) => group === '' || job.groups.includes(group))
    .map(([kind]) => kind);
  return { ...field, kind: 'choice', options };
}

/**
 * The parts of the form of an action.
 *
 * @param name of the action
 * @param fixed paths that the reader cannot change
 */
export function layoutOf(
  name: string,
  { choices, schema }: ConsoleAction,
  fields: readonly Field[],
  fixed: ReadonlySet<string>,
): FormLayout {
  const first = firstFields(name, schema.required);
  const grouped = choices
    .filter(({ rule }) => rule !== 'some')
    .map((choice) => ({ ...choice, members: fields.filter(({ name }) => named(choice.fields, name)) }))
    .filter(({ members }) => members.length > 1);
  const items: FormItem[] = [];
  // The token has a name already: see `withReviewer`.
  const shown = new Set(['reviewer']);
  const order = [...fields].sort((left, right) => rankOf(left, first) - rankOf(right, first));
  for (const field of order) {
    if (shown.has(field.name)) continue;
    const choice = grouped.find(({ members }) => members.includes(field));
    if (choice === undefined) {
      items.push({ kind: 'field', field });
      continue;
    }
    for (const { name } of choice.members) shown.add(name);
    const given = choice.members.find(({ path }) => fixed.has(path));
    // The page has settled it, so its alternatives would only be in the way.
    if (given !== undefined) items.push({ kind: 'field', field: given });
    else items.push(choiceItem(choice, choice.members));
  }
  const isFirst = (item: FormItem): boolean =>
    item.kind === 'field'
      ? named(first, item.field.name)
      : item.fields.some(({ name }) => named(first, name));
  return { first: items.filter(isFirst), more: items.filter((item) => !isFirst(item)) };
}

const DECIDED = new Set<unknown>(['approved', 'rejected']);

/** The body of an action, with the name of the token as the reviewer where a person decides something. */
export function withReviewer(
  name: string,
  { schema }: ConsoleAction,
  body: Readonly<Record<string, unknown>>,
  reviewer: string,
): Readonly<Record<string, unknown>> {
  const { reason, review_status: status } = body;
  const isDecision = name === 'translation-proofread' || reason !== undefined || DECIDED.has(status);
  return reviewer !== '' && (isDecision || schema.required.includes('reviewer'))
    ? { ...body, reviewer }
    : body;
}

function choiceItem(
  { rule, title, otherwise }: ConsoleAction['choices'][number],
  fields: readonly Field[],
): ChoiceItem {
  return {
    kind: 'choice',
    path: `?${fields.map(({ name }) => name).join('|')}`,
    title: title ?? fields.map(({ label }) => label).join(' or '),
    otherwise: rule === 'one' ? null : (otherwise ?? 'None of these'),
    fields,
  };
}

function rankOf({ name }: Field, first: readonly string[]): number {
  const at = first.indexOf(name);
  return at === -1 ? first.length : at;
}

function named(names: readonly string[], name: string): boolean {
  return names.includes(name);
}

/** The field that is chosen; `null` for none. */
export function chosenField({ path, fields, otherwise }: ChoiceItem, values: Values): Field | null {
  const name = values[path];
  if (name !== undefined) return fields.find((field) => field.name === name) ?? null;
  const given = fields.find(
    (field) => values[field.path] !== undefined && values[field.path] !== '' && values[field.path] !== false,
  );
  return given ?? (otherwise === null ? (fields[0] ?? null) : null);
}

/** The fields of a form without those that were not chosen, and the values that they have. */
export function chosenFields(
  layout: FormLayout,
  values: Values,
): { readonly fields: readonly Field[]; readonly values: Values } {
  const switched: Record<string, true> = {};
  const fields = [...layout.first, ...layout.more].flatMap((item) => {
    if (item.kind === 'field') return [item.field];
    const chosen = chosenField(item, values);
    // To choose a switch is to turn it on.
    if (chosen?.kind === 'switch') switched[chosen.path] = true;
    return chosen === null ? [] : [chosen];
  });
  return { fields, values: { ...values, ...switched } };
}

/** Puts a body into the form of an action. */
export function actionValues(
  contract: ConsoleContract,
  action: string,
  body: Readonly<Record<string, unknown>>,
): ReadBody {
  const known = { action: textOf(body['action']), group: textOf(body['group']) };
  return valuesOf(actionFields(contract, action, known), body);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Spreads `args`, which may be given as lines of `key=value`, over the fields of the arguments. */
export function spreadArguments(fields: readonly Field[], values: Values): Values {
  const { args, ...others } = values;
  const field = fields.find(({ path, kind }) => path === 'args' && kind === 'arguments');
  if (field === undefined || typeof args !== 'string' || args === '') return values;
  return { ...others, ...argumentValues(field, args.split('\n')).values };
}

/** Problems with the names of fields replaced by their labels. */
export function forPeople(
  problems: readonly FieldProblem[],
  fields: readonly Field[],
): readonly FieldProblem[] {
  return problems.map(({ path, message }) => ({
    path,
    message: fields.reduce((text, { name, label }) => replaceName(text, name, label), message),
  }));
}

function replaceName(text: string, name: string, label: string): string {
  return name.includes('_') ? text.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), `“${label}”`) : text;
}
