import type { FieldChoice } from '../../src/contract/actions/action-definition.ts';
import { actionDefinition, type ControlAction } from '../../src/contract/actions/actions.ts';
import type { JsonSchema } from '../../src/contract/json/json-schema.ts';
import { isControlSwitch, type ControlField } from '../../src/contract/actions/control-body.ts';

/**
 * The JSON Schema of the body of one action: the control body, with the fields that the action requires and those that
 * exclude each other.
 */
export function renderActionSchema(action: ControlAction, controlBody: string): JsonSchema {
  const { summary, required, choices } = actionDefinition(action);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: action,
    description: summary,
    allOf: [{ $ref: controlBody }, ...choices.flatMap(renderChoice)],
    ...(required.length > 0 ? { required } : {}),
  };
}

function renderChoice({ fields, rule }: FieldChoice): JsonSchema[] {
  const given = fields.map(isGiven);
  if (rule === 'one') return [{ oneOf: given }];
  if (rule === 'some') return [{ anyOf: given }];
  return given.flatMap((left, index) =>
    given.slice(index + 1).map((right) => ({ not: { allOf: [left, right] } })),
  );
}

function isGiven(field: ControlField): JsonSchema {
  if (!isControlSwitch(field)) return { required: [field] };
  return { required: [field], properties: { [field]: { const: true } } };
}
