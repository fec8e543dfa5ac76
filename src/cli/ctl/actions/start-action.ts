import { randomUUID } from 'node:crypto';
import { actionDefinition, type ControlAction } from '../../../contract/actions/actions.ts';
import type { ControlBody } from '../../../contract/actions/control-body.ts';
import { triedBody } from '../../../domain/release/tried-body.ts';
import { parseJsonExact, stringifyJsonExact } from '../../../contract/json/json-exact.ts';
import { AcceptedAnswer } from '../../../contract/schemas/answers/admin.ts';
import type { CtlContext } from '../ctl-context.ts';
import { CTL_EXITS, CtlFailure, type CtlExit } from '../ctl-exits.ts';
import { textOption } from '../ctl-options.ts';
import { viewOf } from '../output/view.ts';
import { printAnswer, printValue } from '../output/print-answer.ts';
import { outcomeOf, renderAccepted, renderTask } from '../report-views.ts';
import { showTask, watchTask, type SeenTask } from '../task-watch.ts';
import { confirm } from './confirm.ts';
import { describeEffect } from './effects.ts';

const DRY_RUN = 'dry_run=true';

const JOINED =
  'An equal task was running already, and this is that task. It may have read its input before your last change: when it has ended, run the action again.';

/**
 * Starts an action. A destructive one shows what it would change and asks first; with `--dry-run` nothing is changed.
 *
 * @param body JSON text that is valid for the action; `null` for none
 * @returns the exit code
 * @throws CtlFailure
 */
export async function startAction(
  context: CtlContext,
  action: ControlAction,
  body: string | null,
): Promise<CtlExit> {
  const { destructive, hasDryRun } = actionDefinition(action);
  const fields = (body === null ? {} : parseJsonExact(body)) as ControlBody;
  if (context.args.values['dry-run'] === true) return await tryAction(context, action, fields);
  const isTrial = hasDryRun === true && fields.args?.includes(DRY_RUN) === true;
  const confirmed = destructive && !isTrial ? await confirmAction(context, action, fields) : fields;
  const key = textOption(context.args, 'idempotency-key') ?? randomUUID();
  const text = confirmed === fields ? body : stringifyJsonExact(confirmed);
  const accepted = await post(context, action, text, key);
  // A repeated call with the key of the first wants the task of the first.
  if (accepted.isJoined && textOption(context.args, 'idempotency-key') === undefined) {
    context.stderr.write(`${JOINED}\n`);
  }
  if (context.args.values.wait !== true || accepted.taskId === null) {
    await printAnswer(context, accepted.answer, AcceptedAnswer.schema, { render: renderAccepted });
    return CTL_EXITS.ok;
  }
  const seen = await watchTask(context, accepted.taskId);
  return action === 'schedule-run' ? await showStarted(context, seen) : await showTask(context, seen);
}

/** Waits for the tasks that a schedule has started: they do the work. @returns the exit code of the first that did not succeed */
async function showStarted(context: CtlContext, seen: SeenTask): Promise<CtlExit> {
  const started = (seen.task.result?.['task_ids'] ?? []) as readonly string[];
  if (started.length === 0) return await showTask(context, seen);
  const exits: CtlExit[] = [];
  for (const taskId of started) exits.push(await showTask(context, await watchTask(context, taskId)));
  return exits.find((exit) => exit !== CTL_EXITS.ok) ?? CTL_EXITS.ok;
}

async function confirmAction(
  context: CtlContext,
  action: ControlAction,
  fields: ControlBody,
): Promise<ControlBody> {
  const { args, stdin, stderr } = context;
  // Without a terminal there is no answer to wait for, so nothing is read either.
  const isAsked = args.values.yes !== true && stdin.isTTY === true;
  const effect = isAsked ? await effectOf(context, action, fields) : null;
  if (effect !== null) stderr.write(`${action} ${effect.text}`);
  await confirm(context, `${action} is destructive and needs confirmation`);
  return effect?.body ?? fields;
}

interface Effect {
  readonly text: string;
  readonly body: ControlBody;
}

async function effectOf(context: CtlContext, action: ControlAction, fields: ControlBody): Promise<Effect> {
  if (actionDefinition(action).hasDryRun !== true) {
    const text = (await describeEffect(context, action, fields)) ?? 'is destructive\n';
    return { text, body: fields };
  }
  const { taskId } = await post(context, action, withDryRun(fields), randomUUID());
  if (taskId === null) return { text: 'is destructive\n', body: fields };
  const { task } = await watchTask(context, taskId);
  if (task.status !== 'succeeded') {
    throw new CtlFailure(CTL_EXITS.failed, `${action}: ${outcomeOf(task)}; nothing was changed`);
  }
  const text = `would do this:\n${renderTask(task, viewOf(context))}`;
  return { text, body: triedBody(action, fields, task.result ?? {}) };
}

/** Runs `--dry-run`: the daemon tries the action, or the effect is shown and nothing is sent. */
async function tryAction(context: CtlContext, action: ControlAction, fields: ControlBody): Promise<CtlExit> {
  if (actionDefinition(action).hasDryRun === true) {
    const { answer, taskId } = await post(context, action, withDryRun(fields), randomUUID());
    if (taskId !== null) return await showTask(context, await watchTask(context, taskId));
    await printAnswer(context, answer, AcceptedAnswer.schema, { render: renderAccepted });
    return CTL_EXITS.ok;
  }
  const effect = await describeEffect(context, action, fields);
  await printValue(
    context,
    { dry_run: true, action, body: fields },
    () =>
      `${action} ${effect ?? 'is valid\n'}body: ${stringifyJsonExact(fields)}\nnothing was sent: --dry-run\n`,
  );
  return CTL_EXITS.ok;
}

function withDryRun(fields: ControlBody): string {
  const others = (fields.args ?? []).filter((pair) => !pair.startsWith('dry_run='));
  return stringifyJsonExact({ ...fields, args: [...others, DRY_RUN] });
}

type Accepted = {
  readonly answer: Awaited<ReturnType<CtlContext['api']['post']>>;
  readonly taskId: string | null;
  /** Whether the task is an equal one that was running before. */
  readonly isJoined: boolean;
};

async function post(
  { api }: CtlContext,
  action: ControlAction,
  body: string | null,
  key: string,
): Promise<Accepted> {
  const answer = await api.post(action, body, key).catch((error: unknown) => {
    if (!(error instanceof CtlFailure) || !isUnclear(error)) throw error;
    throw new CtlFailure(
      error.exit,
      `${error.message}\nTo repeat the action without starting it twice, add --idempotency-key ${key}`,
      { cause: error },
    );
  });
  const accepted = AcceptedAnswer.schema.safeParse(answer.value).data;
  return {
    answer,
    taskId: accepted?.task_id ?? null,
    isJoined: accepted?.deduplicated === true && accepted.status === 'running',
  };
}

function isUnclear({ exit }: CtlFailure): boolean {
  return exit === CTL_EXITS.unreachable || exit === CTL_EXITS.unavailable;
}
