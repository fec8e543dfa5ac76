import { stringifyJsonExact } from '../../contract/json/json-exact.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import type { ReportBody, ReportHandler, ReportQuery } from '../api/ports.ts';
import type { TaskEngine, TaskRow } from '../tasks/task-engine.ts';

/** Most tasks of the list. */
const LIST_MAX = 500;
/** Longest arguments or result of one task in the list; task.status has them whole. */
const MEMBER_MAX_LENGTH = 2000;
const OMITTED = { omitted: 'too long for the list; see the status of the task' };

/** The reports `task.list`, `task.status` and `task.logs`. */
export function createTaskReports(
  engine: Pick<TaskEngine, 'get' | 'list' | 'counts' | 'logs'>,
): ReadonlyMap<string, ReportHandler> {
  return new Map<string, ReportHandler>([
    ['task.list', () => ({ counts: engine.counts(), items: engine.list(LIST_MAX).map(shortened) })],
    [
      'task.status',
      (query) => {
        const taskId = taskIdOf(query);
        return { task: engine.get(taskId) ?? unknownTask(taskId) };
      },
    ],
    ['task.logs', (query) => logsReport(engine, taskIdOf(query))],
  ]);
}

function logsReport(engine: Pick<TaskEngine, 'logs'>, taskId: string): ReportBody {
  const log = engine.logs(taskId) ?? unknownTask(taskId);
  return {
    task_id: taskId,
    lines: log.lines.map(({ message, fields, ...line }) => ({
      ...line,
      msg: message,
      ...(fields === null ? {} : { fields }),
    })),
    truncated: log.truncated,
  };
}

function shortened(task: TaskRow): TaskRow {
  return { ...task, args: bounded(task.args), result: task.result === null ? null : bounded(task.result) };
}

function bounded(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return stringifyJsonExact(value).length <= MEMBER_MAX_LENGTH ? value : OMITTED;
}

function taskIdOf(query: ReportQuery): string {
  const taskId = query['task_id'];
  return typeof taskId === 'string' ? taskId : '';
}

function unknownTask(taskId: string): never {
  throw new ServiceError('unknown_task', `no task has the id "${taskId}"; task.list has those that are kept`);
}
