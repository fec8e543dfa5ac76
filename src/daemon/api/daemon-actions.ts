import { ServiceError } from '../../contract/problems/service-error.ts';
import type { TaskEngine } from '../tasks/task-engine.ts';
import type { TaskResult } from '../tasks/task.ts';
import { defineAction, type DefinedAction } from './define-action.ts';

export interface DaemonActionOptions {
  readonly engine: Pick<TaskEngine, 'cancel' | 'submit' | 'recordInline'>;
  /** Whether something starts the daemon again when it exits. */
  readonly supervised: () => boolean;
  /** Reads configuration and keys again; throws ServiceError `config_invalid`. */
  readonly reload: () => Promise<TaskResult>;
  /** Begins to end the process once the answer is out; without `drain` running tasks are not waited for. */
  readonly requestRestart: (drain: boolean) => void;
}

/** The actions `reload`, `task-cancel` and `restart`. */
export function createDaemonActions(options: DaemonActionOptions): readonly DefinedAction[] {
  const { engine } = options;
  return [
    defineAction(engine, 'reload', { run: options.reload }),
    defineAction(engine, 'task-cancel', {
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
      afterwards: ({ force = false }) => {
        options.requestRestart(!force);
      },
    }),
  ];
}
