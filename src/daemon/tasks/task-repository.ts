import type { Database } from '../database/sqlite-database.ts';
import { createTaskReads, type TaskReads } from './task-reads.ts';
import { createTaskWrites, type TaskWrites } from './task-writes.ts';

/** The task table. Times are Unix seconds unless named otherwise. */
export interface TaskRepository extends TaskReads, TaskWrites {}

/** Creates the repository. */
export function createTaskRepository(database: Database): TaskRepository {
  return { ...createTaskReads(database), ...createTaskWrites(database) };
}
