import { ServiceError } from '../../contract/problems/service-error.ts';
import type { TaskEngine, TaskSubmission } from '../tasks/task-engine.ts';
import type { TaskResult } from '../tasks/task.ts';
import type { ActionHandler, ActionOutcome } from './ports.ts';

/** What the daemon's own actions need. */
export interface DaemonActionDependencies {
  readonly engine: Pick<TaskEngine, 'cancel' | 'recordInline'>;
  /** Whether something starts the daemon again when it exits. */
  readonly supervised: () => boolean;
  /** Reads configuration and keys again; throws ServiceError `config_invalid`. */
  readonly reload: () => Promise<TaskResult>;
  /** Begins to end the process once the answer is out; without `drain` running tasks are not waited for. */
  readonly requestRestart: (drain: boolean) => void;
}

/** The actions `reload`, `task-cancel` and `restart`. */
export function createDaemonActions(deps: DaemonActionDependencies): ReadonlyMap<string, ActionHandler> {
  const { engine } = deps;

  /** Records an action that is done within its request; one that an idempotency key repeats is not done again. */
  const inline = async (
    submission: Omit<TaskSubmission, 'dedupe'>,
    run: () => Promise<TaskResult> | TaskResult,
  ): Promise<ActionOutcome> => {
    let ran = false;
    const task = await engine.recordInline(submission, () => {
      ran = true;
      return run();
    });
    return { task, deduplicated: !ran };
  };

  return new Map<string, ActionHandler>([
    [
      'reload',
      async (body, context) =>
        await inline({ kind: 'reload', args: {}, ...auditOf(body, context) }, deps.reload),
    ],
    [
      'task-cancel',
      async (body, context) => {
        const taskId = String(body['task_id']);
        const reason = typeof body['reason'] === 'string' ? body['reason'] : null;
        return await inline(
          { kind: 'task-cancel', args: { task_id: taskId }, ...auditOf(body, context) },
          () => ({
            task_id: taskId,
            status: engine.cancel(taskId, reason).status,
          }),
        );
      },
    ],
    [
      'restart',
      async (body, context) => {
        if (!deps.supervised()) {
          throw new ServiceError(
            'restart_unsupported',
            'nothing would start the daemon again: run it under a supervisor and set supervised to true',
          );
        }
        const drain = body['force'] !== true;
        const submission = { kind: 'restart', args: { force: !drain }, ...auditOf(body, context) };
        const outcome = await inline(submission, () => ({ drain }));
        if (!outcome.deduplicated) deps.requestRestart(drain);
        return outcome;
      },
    ],
  ]);
}

function auditOf(
  body: Parameters<ActionHandler>[0],
  context: Parameters<ActionHandler>[1],
): Pick<TaskSubmission, 'reviewer' | 'reason' | 'idempotencyKey' | 'correlationId'> {
  const { reviewer, reason } = body;
  return {
    correlationId: context.correlationId,
    ...(context.idempotencyKey === null ? {} : { idempotencyKey: context.idempotencyKey }),
    ...(typeof reviewer === 'string' ? { reviewer } : {}),
    ...(typeof reason === 'string' ? { reason } : {}),
  };
}
