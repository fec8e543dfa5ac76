import type { ActionDefinition } from '../../../contract/actions/action-definition.ts';
import { AUDIT_FIELDS } from '../../../contract/actions/actions.ts';
import { ControlBodySchema, type ControlField } from '../../../contract/actions/control-body.ts';
import { fieldsOfPairs } from '../../../contract/actions/field-schemas.ts';
import { isCommonOption } from '../ctl-options.ts';
import { renderJsonSchema, type JsonSchema } from '../../../contract/json/json-schema.ts';

interface FieldText {
  readonly name: string;
  /** The placeholder of its value, such as `N`; alternatives such as `true|false`. */
  readonly value: string;
  readonly meaning: string;
  readonly isRequired: boolean;
}

const PROPERTIES = propertiesOf(renderJsonSchema(ControlBodySchema));

/** The fields that an action uses, those first that it needs. A member of an object is a field of its own. */
export function fieldTexts({ required, used, fields = {} }: ActionDefinition): readonly FieldText[] {
  const names = [...new Set<ControlField>([...required, ...used, ...AUDIT_FIELDS])];
  return names.flatMap((name) => {
    const narrow = fields[name];
    const wide = PROPERTIES[name] ?? {};
    // A smaller choice of words and a meaning of its own say more than the control body.
    const { enum: choice, description } = narrow === undefined ? {} : renderJsonSchema(narrow);
    const schema: JsonSchema = {
      ...wide,
      ...(choice === undefined ? {} : { enum: choice }),
      ...(description === undefined ? {} : { description }),
    };
    const isRequired = required.includes(name);
    const pairs = narrow === undefined ? null : fieldsOfPairs(narrow);
    if (pairs !== null) return pairTexts(name, propertiesOf(renderJsonSchema(pairs)));
    const members = Object.entries(propertiesOf(schema));
    if (members.length === 0) return [textOf(name, schema, isRequired)];
    const needed = (schema['required'] ?? []) as readonly string[];
    return members.map(([member, each]) =>
      textOf(`${name}.${member}`, each, isRequired && needed.includes(member)),
    );
  });
}

/** The option of an entry of `args`, without dashes; `null` for another field, and where every command has such an option. */
export function argumentOption(field: string): string | null {
  if (!field.startsWith('args=')) return null;
  const option = field.slice('args='.length).replaceAll('_', '-');
  return isCommonOption(option) ? null : option;
}

/** The entries of `args` that are options of an action: the option of each, without dashes, and whether it has a value. */
export function argumentFlags(
  definition: ActionDefinition,
): ReadonlyMap<string, { readonly key: string; readonly isFlag: boolean }> {
  return new Map(
    fieldTexts(definition).flatMap(({ name, value }) => {
      const option = argumentOption(name);
      const key = name.slice('args='.length);
      return option === null ? [] : [[option, { key, isFlag: value === 'true|false' }] as const];
    }),
  );
}

function pairTexts(name: string, pairs: Readonly<Record<string, JsonSchema>>): readonly FieldText[] {
  return Object.entries(pairs).map(([key, schema]) => textOf(`${name}=${key}`, schema, false));
}

function textOf(name: string, schema: JsonSchema, isRequired: boolean): FieldText {
  const described = schema['description'];
  const facts = [
    typeof described === 'string' ? described.replaceAll('`', '') : '',
    isTextList(schema) ? 'May be repeated.' : '',
  ];
  return {
    name,
    value: placeholderOf(schema),
    meaning: facts.filter((fact) => fact !== '').join(' '),
    isRequired,
  };
}

const INTEGERS: Readonly<Record<string, string>> = {
  instant: 'UNIX_SECONDS',
  duration: 'SECONDS',
  interval: 'SECONDS',
};

function placeholderOf(schema: JsonSchema): string {
  const choice = schema['enum'];
  if (Array.isArray(choice)) return choice.join('|');
  switch (schema['type']) {
    case 'boolean':
      return 'true|false';
    case 'integer':
      return INTEGERS[String(schema['x-kind'])] ?? 'N';
    case 'array':
      return isTextList(schema) ? 'TEXT' : 'JSON';
    case 'object':
      return 'JSON';
    default:
      return 'TEXT';
  }
}

function isTextList(schema: JsonSchema): boolean {
  return (schema['items'] as JsonSchema | undefined)?.['type'] === 'string';
}

function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return (schema['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>;
}
