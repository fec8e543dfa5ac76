import type { Database } from '../../database/sqlite-database.ts';

/** Goes over the translated tasks in turn, a part with each run. */
export interface CheckCursor {
  /** The last task of the runs until now; -1 before the first. */
  get(name: CheckName): number;
  set(name: CheckName, taskSeq: number): void;
}

/** The two ways to check tasks. Each goes over all tasks by itself. */
export type CheckName = 'checked' | 'evaluated';

/** Creates the cursors of one target language. */
export function createCheckCursor(database: Database, targetLanguage: string): CheckCursor {
  const read = database.prepare('SELECT task_seq FROM check_cursor WHERE name = ? AND target_language = ?');
  const write = database.prepare(
    'INSERT OR REPLACE INTO check_cursor (name, target_language, task_seq) VALUES (?, ?, ?)',
  );
  return {
    get: (name) => Number(read.get(name, targetLanguage)?.['task_seq'] ?? -1),
    set: (name, taskSeq) => {
      // A power failure may lose it: a task is checked once more then.
      database.transaction(() => write.run(name, targetLanguage, taskSeq), { durable: false });
    },
  };
}
