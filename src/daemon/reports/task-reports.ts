import type { Task } from '../../engine/tasks/task.ts';
import { stringifyJsonExact } from '../../contract/json/json-exact.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import { unknownName } from '../../contract/problems/value-errors.ts';
import { defineReport, type DefinedReport } from '../../engine/define-report.ts';
import type { TaskEngine } from '../../engine/tasks/task-engine.ts';

/** Maximum number of tasks in the list. */
const LIST_MAX = 500;
/** Maximum length of a task's arguments or result in the list; task.status reports them in full. */
const MEMBER_MAX_LENGTH = 2000;
/** Maximum length of one member that stays when the others are too long. */
const SHORT_MAX_LENGTH = 200;
const OMITTED = { omitted: 'long members; see task.status, or `slipway ctl task show`' };

/** The reports `task.list`, `task.status` and `task.logs`. */
export function createTaskReports(engine: TaskEngine): readonly DefinedReport[] {
  return [
    defineReport('task.list', () => ({
      counts: engine.counts(),
      items: engine.list(LIST_MAX).map(shortened),
    })),
    defineReport('task.status', ({ task_id: taskId }) => ({
      task: engine.get(taskId) ?? unknownTask(taskId),
      course: engine.course(taskId),
    })),
    defineReport('task.logs', ({ task_id: taskId }) => logsReport(engine, taskId)),
  ];
}

function logsReport(engine: TaskEngine, taskId: string): ReportBodyOf<'task.logs'> {
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

function shortened(task: Task): Task {
  return { ...task, args: bounded(task.args), result: task.result === null ? null : bounded(task.result) };
}

/** The short members tell what a task did; lists of files and units are what makes it long. */
function bounded(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (isWithin(value, MEMBER_MAX_LENGTH)) return value;
  const short = Object.entries(value).filter(([, member]) => isWithin(member, SHORT_MAX_LENGTH));
  const rest = { ...Object.fromEntries(short), ...OMITTED };
  return isWithin(rest, MEMBER_MAX_LENGTH) ? rest : OMITTED;
}

function isWithin(value: unknown, length: number): boolean {
  return stringifyJsonExact(value).length <= length;
}

function unknownTask(taskId: string): never {
  throw new ServiceError(
    'unknown_task',
    unknownName('task', taskId, '`slipway ctl tasks` lists those that are kept'),
  );
}
