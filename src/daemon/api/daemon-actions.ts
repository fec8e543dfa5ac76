import { ServiceError } from '../../contract/problems/service-error.ts';
import type { TaskEngine } from '../../engine/tasks/task-engine.ts';
import type { TaskResult } from '../../engine/tasks/task.ts';
import { scopesOfKind } from '../../engine/caller.ts';
import { defineAction, type DefinedAction } from '../../engine/define-action.ts';

/** The actions `reload`, `task-cancel` and `restart`. */
export function createDaemonActions(options: {
  readonly engine: TaskEngine;
  /** Whether a supervisor restarts the daemon when it exits. */
  readonly supervised: () => boolean;
  /** Reads the configuration and the keys again. Throws ServiceError `config_invalid`. */
  readonly reload: () => Promise<TaskResult>;
  /** Starts the shutdown after the answer is sent. Without `drain` the daemon does not wait for running tasks. */
  readonly requestRestart: (drain: boolean) => void;
}): readonly DefinedAction[] {
  const { engine } = options;
  return [
    defineAction(engine, 'reload', { run: options.reload }),
    defineAction(engine, 'task-cancel', {
      needs: ({ task_id }) => {
        const task = engine.get(task_id);
        return task === null ? [] : scopesOfKind(task.kind, engine.jobs);
      },
      run: ({ task_id, reason = null }) => ({ task_id, status: engine.cancel(task_id, reason).status }),
    }),
    defineAction(engine, 'restart', {
      admit: () => {
        if (options.supervised()) return;
        throw new ServiceError(
          'restart_unsupported',
          'nothing would restart the daemon: run it under a supervisor and set supervised to true',
        );
      },
      args: ({ force = false }) => ({ force }),
      run: ({ force = false }) => ({ drain: !force }),
      afterwards: ({ force = false }) => options.requestRestart(!force),
    }),
  ];
}
