import { failure, success, type Result } from '../../domain/result.ts';
import type { FieldChoice } from './action-definition.ts';
import { actionDefinition, AUDIT_FIELDS, type ControlAction } from './actions.ts';
import type { BodyOf } from './body-of.ts';
import { checkPaths, CONTROL_RULES, needs } from './control-rules.ts';
import { fieldErrorsOf } from '../problems/field-errors.ts';
import {
  ControlBodySchema,
  isControlSwitch,
  TranslationResultSchema,
  type ControlBody,
  type ControlField,
} from './control-body.ts';
import type { FieldError } from '../problems/service-error.ts';

/** A body that is valid for its action, as far as this can be checked without state. */
interface AcceptedControlBody {
  readonly body: ControlBody;
  /** Valid fields that the action does not use; the 202 body lists them. */
  readonly ignoredFields: readonly ControlField[];
}

/** The same with the fields that the action uses alone, each with the type that the action gives it. */
export interface AcceptedActionBody<A extends ControlAction> {
  readonly body: BodyOf<A>;
  readonly audit: { readonly reviewer: ControlBody['reviewer']; readonly reason: ControlBody['reason'] };
  readonly ignoredFields: readonly ControlField[];
}

/**
 * Parses the body of a control action: shape, bounds, required fields, fields that exclude each other, and the rules
 * that need no state. The service and the daemon both use it.
 *
 * @returns the body as it was sent and the names of the fields that the action does not use; or every rejected field
 */
export function parseControlBody(
  action: ControlAction,
  value: unknown,
): Result<AcceptedControlBody, FieldError[]> {
  const checked = check(action, value);
  if (!checked.ok) return checked;
  const { body, ignoredFields } = checked.value;
  return success({ body, ignoredFields });
}

/** Parses the body of a control action as {@link parseControlBody} does, and gives the typed fields that it uses. */
export function parseActionBody<A extends ControlAction>(
  action: A,
  value: unknown,
): Result<AcceptedActionBody<A>, FieldError[]> {
  const checked = check(action, value);
  if (!checked.ok) return checked;
  const { body, typed, ignoredFields } = checked.value;
  const { reviewer, reason } = body;
  // Every member was parsed with the schema that the type is derived from.
  return success({ body: typed as BodyOf<A>, audit: { reviewer, reason }, ignoredFields });
}

function check(
  action: ControlAction,
  value: unknown,
): Result<AcceptedControlBody & { readonly typed: object }, FieldError[]> {
  const parsed = ControlBodySchema.safeParse(value === undefined ? {} : cutResults(value), {
    error: (issue) =>
      issue.code === 'invalid_type' && (issue.path ?? []).length === 0 ? 'must be an object' : undefined,
  });
  if (!parsed.success) return failure(fieldErrorsOf(parsed.error, 'field'));
  const body = parsed.data;
  const { required, used, choices, fields = {} } = actionDefinition(action);
  const usable = new Set<ControlField>([...required, ...used, ...AUDIT_FIELDS]);
  const present = (Object.keys(body) as ControlField[]).filter((field) => body[field] !== undefined);
  const errors = [
    ...needs(body, required, `by ${action}`),
    ...choices.flatMap((choice) => checkChoice(body, choice)),
    ...checkPaths(body),
  ];
  const typed: Record<string, unknown> = {};
  for (const field of present.filter((each) => usable.has(each) && isGiven(body, each))) {
    const narrowed = fields[field]?.safeParse(body[field]);
    if (narrowed === undefined) typed[field] = body[field];
    else if (narrowed.success) typed[field] = narrowed.data;
    else errors.push(...fieldErrorsOf(narrowed.error, 'field', [field]));
  }
  errors.push(...(CONTROL_RULES[action]?.(body) ?? []));
  if (errors.length > 0) return failure(errors);
  return success({ body, typed, ignoredFields: present.filter((field) => !usable.has(field)) });
}

/**
 * Cuts the list of translation results after its first wrong item. Each of up to 10,000 items can have several errors, zod
 * takes microseconds for each, and only the first of a kind is listed.
 */
function cutResults(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('translation_results' in value)) return value;
  const results: unknown = value.translation_results;
  if (!Array.isArray(results)) return value;
  const wrong = results.findIndex((result) => !TranslationResultSchema.safeParse(result).success);
  return wrong === -1 ? value : { ...value, translation_results: results.slice(0, wrong + 1) as unknown[] };
}

function checkChoice(body: ControlBody, { fields, rule }: FieldChoice): FieldError[] {
  const present = fields.filter((field) => isGiven(body, field));
  const names = fields.join(', ');
  if (rule !== 'exclusive' && present.length === 0) {
    return [{ pointer: '', message: `needs ${rule === 'one' ? 'exactly' : 'at least'} one of ${names}` }];
  }
  if (rule !== 'some' && present.length > 1) {
    const message = `cannot be combined with others of ${names}; send only one`;
    return present.map((field) => ({ pointer: `/${field}`, message }));
  }
  return [];
}

function isGiven(body: ControlBody, field: ControlField): boolean {
  const value = body[field];
  return isControlSwitch(field) ? value === true : value !== undefined;
}
