import { AUDIT_FIELDS, type ActionTable, type ControlAction } from '../contract/actions/actions.ts';
import type { BodyOf } from '../contract/actions/body-of.ts';
import type { ControlField } from '../contract/actions/control-body.ts';
import type { Caller, ControlScope } from '../contract/actions/control-scopes.ts';
import { parseActionBody, type AcceptedActionBody } from '../contract/actions/parse-control-body.ts';
import { ServiceError } from '../contract/problems/service-error.ts';
import type { JobCall } from './tasks/job.ts';
import type { TaskEngine } from './tasks/task-engine.ts';
import { checkScopes } from './caller.ts';
import type { TaskArguments, TaskResult, InlineSubmission, AcceptedTask } from './tasks/task.ts';

/** The parts of a control call besides its body. */
export interface ActionRequest {
  readonly idempotencyKey: string | null;
  readonly correlationId: string;
  readonly caller: Caller;
}

/** An accepted control call. */
export interface AcceptedAction extends AcceptedTask {
  /** Valid fields that the action does not use in this call. */
  readonly ignoredFields: readonly ControlField[];
}

/** A control action that this daemon implements. */
export interface DefinedAction {
  readonly name: ControlAction;
  /**
   * Runs the action, or queues its job.
   *
   * @param body the result of `parseJsonExact`, or `undefined` when there was no body
   * @param refuse throws when every new call must be refused; like `admit`, it is not called for a repeated request
   * @throws ServiceError `invalid_request`, `scope_missing`; ServiceError or TaskError of the handler
   */
  accept(body: unknown, request: ActionRequest, refuse?: () => void): Promise<AcceptedAction>;
}

/** The facts about a call that follow from its body alone. */
interface DescribedAction<A extends ControlAction> {
  /** For an action on schedules or tasks: what their jobs need. */
  readonly needs?: (body: BodyOf<A>) => readonly ControlScope[];
  /** Fields that the action uses, but not beside the others of this call. */
  readonly unused?: (body: BodyOf<A>) => readonly ControlField[];
}

/** An action that runs inside its request. */
interface InlineAction<A extends ControlAction> extends DescribedAction<A> {
  /** Throws when the action must be refused without recording a task; it is not called for a repeated request. */
  readonly admit?: (body: BodyOf<A>) => void;
  /** Arguments of the recorded task. Default: all fields except the audit fields. */
  readonly args?: (body: BodyOf<A>) => TaskArguments;
  readonly run: (body: BodyOf<A>, caller: Caller) => Promise<TaskResult> | TaskResult;
  /** Called after the task is recorded as succeeded, but not for a repeated request. */
  readonly afterwards?: (body: BodyOf<A>) => void;
}

/** An action that queues a job. */
interface QueuedAction<A extends ControlAction> extends DescribedAction<A> {
  /** Returns the job to queue, from the call alone. Throws ServiceError `invalid_request`. */
  readonly job: (body: BodyOf<A>, caller: Caller) => JobCall;
  /**
   * Checks the state that the action needs; it is not called for a repeated request, whose task has changed that state.
   * Throws ServiceError or TaskError when the action is refused.
   */
  readonly admit?: (body: BodyOf<A>) => void | Promise<void>;
}

/** An action whose body decides whether it runs inside its request. */
interface EitherAction<A extends ControlAction> {
  readonly isQueued: (body: BodyOf<A>) => boolean;
  readonly inline: InlineAction<A>;
  readonly queued: QueuedAction<A>;
}

type Mode<A extends ControlAction> = ActionTable[A]['mode'];
type HandlerOf<A extends ControlAction> =
  Mode<A> extends 'inline' ? InlineAction<A> : Mode<A> extends 'queued' ? QueuedAction<A> : EitherAction<A>;

/**
 * Defines a control action. The contract's table gives the types of its body and says whether it runs inside its
 * request or queues a job. The audit fields and the idempotency key are recorded on the task.
 */
export function defineAction<A extends ControlAction>(
  engine: TaskEngine,
  name: A,
  handler: HandlerOf<A>,
): DefinedAction {
  // TypeScript cannot narrow the conditional type while A is generic; all of its branches are members of this union.
  const open = handler as InlineAction<A> | QueuedAction<A> | EitherAction<A>;
  return {
    name,
    accept: async (value, request, refuse) => {
      const { body, audit, ignoredFields } = parseBody(name, value);
      const { caller } = request;
      const chosen = chosenFor(open, body);
      checkScopes(caller, name, body, chosen.needs?.(body) ?? []);
      const record = recordOf(audit, request);
      const admit = async (): Promise<void> => {
        refuse?.();
        await chosen.admit?.(body);
      };
      const accepted =
        'job' in chosen
          ? await doQueued(engine, chosen, { body, record, caller, admit })
          : await doInline(engine, name, chosen, { body, record, caller, admit });
      return { ...accepted, ignoredFields: [...ignoredFields, ...(chosen.unused?.(body) ?? [])] };
    },
  };
}

function chosenFor<A extends ControlAction>(
  handler: InlineAction<A> | QueuedAction<A> | EitherAction<A>,
  body: BodyOf<A>,
): InlineAction<A> | QueuedAction<A> {
  if (!('isQueued' in handler)) return handler;
  return handler.isQueued(body) ? handler.queued : handler.inline;
}

/** Parses the body of an action. Throws ServiceError `invalid_request`. */
export function parseBody<A extends ControlAction>(action: A, value: unknown): AcceptedActionBody<A> {
  const parsed = parseActionBody(action, value);
  if (parsed.ok) return parsed.value;
  throw new ServiceError('invalid_request', `the body of ${action} is not valid; "errors" names each field`, {
    errors: parsed.error,
  });
}

interface Call<A extends ControlAction> {
  readonly body: BodyOf<A>;
  readonly record: Omit<InlineSubmission, 'kind' | 'args'>;
  readonly caller: Caller;
  /** For a new call only: a repeated one got a task, which may have changed the state that a new call needs. */
  readonly admit: () => Promise<void>;
}

async function doQueued<A extends ControlAction>(
  engine: TaskEngine,
  { job }: QueuedAction<A>,
  { body, record, caller, admit }: Call<A>,
): Promise<AcceptedTask> {
  const submission = { ...record, ...job(body, caller), dedupe: true };
  if (engine.replayed(submission) === null) await admit();
  return engine.submit(submission);
}

async function doInline<A extends ControlAction>(
  engine: TaskEngine,
  name: A,
  { args = argumentsOf, run, afterwards }: InlineAction<A>,
  { body, record, caller, admit }: Call<A>,
): Promise<AcceptedTask> {
  const submission = { ...record, kind: name, args: args(body) };
  if (engine.replayed(submission) === null) await admit();
  const accepted = await engine.recordInline(submission, () => run(body, caller));
  if (!accepted.deduplicated) afterwards?.(body);
  return accepted;
}

function argumentsOf(body: object): TaskArguments {
  return Object.fromEntries(
    Object.entries(body).filter(([field]) => !AUDIT_FIELDS.some((audit) => audit === field)),
  );
}

function recordOf(
  { reviewer, reason }: AcceptedActionBody<ControlAction>['audit'],
  { idempotencyKey, correlationId }: ActionRequest,
): Omit<InlineSubmission, 'kind' | 'args'> {
  return {
    correlationId,
    ...(idempotencyKey === null ? {} : { idempotencyKey }),
    ...(reviewer === undefined ? {} : { reviewer }),
    ...(reason === undefined ? {} : { reason }),
  };
}
