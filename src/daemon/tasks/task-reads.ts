import { TASK_STATUSES } from '../../contract/schemas/vocabulary.ts';
import type { Database } from '../database/sqlite-database.ts';
import { taskOf, type StoredTask } from './stored-task.ts';
import type { Task } from './task-engine.ts';
import type { TaskRepository } from './task-repository.ts';
import type { TaskStatus } from './task.ts';

type TaskReads = Omit<
  TaskRepository,
  'insert' | 'begin' | 'requestCancel' | 'end' | 'requeue' | 'writeProgress'
>;

/** Creates the reads of the repository; every statement is compiled once. */
export function createTaskReads(database: Database): TaskReads {
  const get = database.prepare('SELECT * FROM task WHERE task_id = :task_id');
  const findLive = database.prepare(
    `SELECT * FROM task WHERE dedupe_key = :dedupe_key AND status IN ('queued', 'running') ORDER BY seq LIMIT 1`,
  );
  const list = database.prepare('SELECT * FROM task ORDER BY seq DESC LIMIT :limit');
  const counts = database.prepare('SELECT status, count(*) AS count FROM task GROUP BY status');
  const nextDue = database.prepare(
    `SELECT task_id, kind, seq FROM task WHERE lane = :lane AND status = 'queued' AND run_at_ms <= :now_ms
     ORDER BY seq LIMIT 1`,
  );
  const nextRunAt = database.prepare(
    `SELECT min(run_at_ms) AS run_at_ms FROM task WHERE status = 'queued' AND run_at_ms > :now_ms`,
  );
  const leftRunning = database.prepare(
    `SELECT * FROM task WHERE status IN ('running', 'cancelling') AND boot_id IS NOT :boot_id ORDER BY seq`,
  );
  const activeOfSchedule = database.prepare(
    `SELECT 1 FROM task WHERE schedule_id = :schedule_id AND status IN ('queued', 'running', 'cancelling') LIMIT 1`,
  );
  const waiting = database.prepare(`SELECT task_id, kind FROM task WHERE status = 'queued' ORDER BY seq`);
  return {
    get: (taskId) => taskOrNull(get.get({ task_id: taskId })),
    findLive: (dedupeKey) => taskOrNull(findLive.get({ dedupe_key: dedupeKey })),
    list: (limit) => (list.all({ limit }) as unknown as StoredTask[]).map(taskOf),
    counts: () => {
      const found = Object.fromEntries(TASK_STATUSES.map((status) => [status, 0])) as Record<
        TaskStatus,
        number
      >;
      for (const row of counts.all() as unknown as Array<{ status: TaskStatus; count: number }>) {
        found[row.status] = row.count;
      }
      return found;
    },
    nextDue: (lane, nowMs) => {
      const row = nextDue.get({ lane, now_ms: nowMs }) as
        | { task_id: string; kind: string; seq: number }
        | undefined;
      return row === undefined ? null : { taskId: row.task_id, kind: row.kind, seq: row.seq };
    },
    nextRunAtMs: (nowMs) => {
      const row = nextRunAt.get({ now_ms: nowMs }) as { run_at_ms: number | null } | undefined;
      return row?.run_at_ms ?? null;
    },
    leftRunning: (bootId) => leftRunning.all({ boot_id: bootId }) as unknown as StoredTask[],
    isScheduleActive: (scheduleId) => activeOfSchedule.get({ schedule_id: scheduleId }) !== undefined,
    waiting: () => waiting.all() as unknown as Array<{ task_id: string; kind: string }>,
  };
}

function taskOrNull(row: object | undefined): Task | null {
  return row === undefined ? null : taskOf(row as StoredTask);
}
