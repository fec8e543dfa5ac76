import { failure, success, type Result } from '../../domain/result.ts';
import type { FieldChoice } from './action-definition.ts';
import { CONTROL_SWITCHES } from './action-schema.ts';
import { actionDefinition, AUDIT_FIELDS, type ControlAction } from './actions.ts';
import { checkPaths, CONTROL_RULES, needs } from './control-rules.ts';
import { fieldErrorsOf } from '../problems/field-errors.ts';
import { ControlBodySchema, type ControlBody, type ControlField } from './control-body.ts';
import type { FieldError } from '../problems/service-error.ts';

/** A body that is good for its action as far as can be told without state. */
export interface AcceptedControlBody {
  readonly body: ControlBody;
  /** Valid fields that the action does not use; the 202 body lists them. */
  readonly ignoredFields: readonly ControlField[];
}

/**
 * Parses the body of a control action: shape, bounds, required fields, fields that exclude each other, and the rules
 * that need no state. The service and the daemon both use it.
 *
 * @param action the action
 * @param value what `parseJsonExact` gave, or `undefined` when there was no body
 * @returns the typed body and the names of the fields that the action does not use; or every rejected field
 */
export function parseControlBody(
  action: ControlAction,
  value: unknown,
): Result<AcceptedControlBody, FieldError[]> {
  const parsed = ControlBodySchema.safeParse(value === undefined ? {} : value, {
    error: (issue) =>
      issue.code === 'invalid_type' && (issue.path ?? []).length === 0 ? 'must be an object' : undefined,
  });
  if (!parsed.success) return failure(fieldErrorsOf(parsed.error, 'field'));
  const body = parsed.data;
  const definition = actionDefinition(action);
  const errors = [
    ...needs(body, definition.required, `by ${action}`),
    ...definition.choices.flatMap((choice) => checkChoice(body, choice)),
    ...checkPaths(body),
    ...(CONTROL_RULES[action]?.(body) ?? []),
  ];
  if (errors.length > 0) return failure(errors);
  const known = new Set<ControlField>([...definition.required, ...definition.used, ...AUDIT_FIELDS]);
  const present = Object.keys(body) as ControlField[];
  return success({ body, ignoredFields: present.filter((field) => !known.has(field)) });
}

function checkChoice(body: ControlBody, { fields, rule }: FieldChoice): FieldError[] {
  const present = fields.filter((field) => isGiven(body, field));
  const names = fields.join(', ');
  if (rule !== 'exclusive' && present.length === 0) {
    return [{ pointer: '', message: `needs ${rule === 'one' ? 'exactly' : 'at least'} one of ${names}` }];
  }
  if (rule !== 'some' && present.length > 1) {
    const message = `excludes the others of ${names}; send one of them`;
    return present.map((field) => ({ pointer: `/${field}`, message }));
  }
  return [];
}

function isGiven(body: ControlBody, field: ControlField): boolean {
  const value = body[field];
  return CONTROL_SWITCHES.has(field) ? value === true : value !== undefined;
}
