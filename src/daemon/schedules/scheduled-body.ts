import { actionDefinition, AUDIT_FIELDS, type ControlAction } from '../../contract/actions/actions.ts';
import { parseControlBody } from '../../contract/actions/parse-control-body.ts';
import { parseJsonExact } from '../../contract/json/json-exact.ts';
import {
  CONTROL_FIELDS,
  ControlBodySchema,
  type ControlBody,
  type ControlField,
} from '../../contract/actions/control-body.ts';
import type { FieldError } from '../../contract/problems/service-error.ts';
import { failure, success, type Result } from '../../domain/result.ts';

/**
 * Parses the `key=value` pairs of a schedule into the body of the action that it runs, and checks it as a request for
 * that action would be. A key is a field that the action uses; for an action that itself takes `args`, any other key is
 * passed on there (`channel=official` of verify).
 *
 * @returns the body, or every pair that the action does not accept (pointers are into the schedule's body)
 */
export function parseScheduledBody(
  action: ControlAction,
  args: readonly string[],
): Result<ControlBody, FieldError[]> {
  const { required, used } = actionDefinition(action);
  const usable = new Set<string>([...required, ...used, ...AUDIT_FIELDS].filter((field) => field !== 'args'));
  const passesOn = used.includes('args');
  const errors: FieldError[] = [];
  const body: Record<string, unknown> = {};
  const passedOn: string[] = [];
  // Where a field of the target's body comes from, so that its errors name what the caller sent.
  const origins = new Map<string, string>();
  for (const [index, pair] of args.entries()) {
    const pointer = `/args/${index}`;
    const at = pair.indexOf('=');
    const key = pair.slice(0, Math.max(at, 0));
    const field = CONTROL_FIELDS.find((each) => each === key && usable.has(each));
    if (field !== undefined && Object.hasOwn(body, field)) {
      errors.push({ pointer, message: `${key} is given twice` });
    } else if (field !== undefined) {
      body[field] = valueOf(field, pair.slice(at + 1));
      origins.set(`/${field}`, pointer);
    } else if (passesOn) {
      origins.set(`/args/${passedOn.length}`, pointer);
      passedOn.push(pair);
    } else {
      errors.push({
        pointer,
        message: `must be one of ${[...usable].map((each) => `${each}=...`).join(', ')}`,
      });
    }
  }
  if (errors.length > 0) return failure(errors);
  const parsed = parseControlBody(action, passedOn.length > 0 ? { ...body, args: passedOn } : body);
  if (parsed.ok) return success(parsed.value.body);
  return failure(
    parsed.error.map((error) => ({
      pointer: origins.get(error.pointer) ?? '/args',
      message: origins.has(error.pointer) ? error.message : `${error.pointer} ${error.message}`.trim(),
    })),
  );
}

/** The text as the type that the field has; text that fits none stays text, which the contract then refuses. */
function valueOf(field: ControlField, text: string): unknown {
  const candidates: unknown[] = [text];
  if (text === 'true' || text === 'false') candidates.push(text === 'true');
  if (/^-?(?:0|[1-9]\d{0,18})$/.test(text)) candidates.push(parseJsonExact(text));
  const schema = ControlBodySchema.shape[field];
  return candidates.find((candidate) => schema.safeParse(candidate).success) ?? text;
}
